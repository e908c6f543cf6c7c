/** Who calls: an API key or a member with a session. */
import type { Member, Sees } from './members.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined before the caller was checked, and on public routes. */
    caller: KeyCaller | Session | undefined
  }
}

export type KeyCaller = {
  workspaceId: string
  workspaceName: string
  defaultCountry: string
  keyId: string
  scopes: string[]
}

export type Session = {
  id: string
  workspaceId: string
  workspaceName: string
  defaultCountry: string
  member: Member
  /** Which conversations the member sees (`teams/visibility.ts`). */
  sees: Sees
  /** False: the member signs in with OpenID Connect only. */
  hasPassword: boolean
  /** The session was used in this minute already. */
  isFresh: boolean
  /** The workspace requires a second factor that the member has not set up: the session may do nothing else. */
  secondFactorDue: boolean
}

/** What a key and a member have in common. `member` or `keyId` says who calls. */
export type AnyCaller = Pick<Session, 'workspaceId' | 'workspaceName' | 'defaultCountry'> &
  Partial<Pick<Session, 'member' | 'sees'> & Pick<KeyCaller, 'keyId'>>
