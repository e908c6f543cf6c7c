/**
 * `/oidc/…`: sign-in with OpenID Connect.
 *
 * `start` and `callback` are opened by the browser and answer with a redirect: to the provider, then to the requested page or, with the
 * code of an error, to the sign-in page. A sealed cookie connects the two, so a callback works only in the browser that started it. A
 * person who may enter several workspaces chooses one on the sign-in page: `workspaces` lists them, `session` enters one. Until then
 * another sealed cookie keeps who the person is.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { isSameToken, type Sealer } from '../../lib/crypto.ts'
import { ApiError, notFound } from '../../lib/errors.ts'
import type { OidcChecks, OidcFailure } from '../../lib/oidc.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { type Static, Type, Uuid } from '../../lib/schema.ts'
import type { Signals } from '../../signals/signals.ts'
import type { UnassignMember } from '../members.ts'
import { type Row, row } from '../table.ts'
import { createOidcCookie } from './cookies.ts'
import {
  identify,
  listWorkspacesOf,
  type Oidc,
  type OidcIdentity,
  type OidcRefusal,
  type OidcWorkspace,
  signInWithOidc,
} from './oidc.ts'
import { enterSession, originOf } from './sessions.ts'
import { countCallback } from './throttle.ts'

/** The sign-in page has a sentence for each. `expired`: the callback belongs to no attempt of this browser. */
type OidcError = OidcRefusal | OidcFailure['failure'] | 'expired' | 'too_many'

const StartQuery = Type.Object({ to: Type.Optional(Type.String()) })
const Choices = Type.Array(Type.Object({ id: Uuid, name: Type.String() }))
const Choice = Type.Object({ workspace_id: Uuid })
const Entered = Type.Object({ to: Type.String({ description: 'The page that was requested.' }) })

const callbackPath = '/app/api/oidc/callback'
const firstPage = '/inbox'
/** The path is in a cookie, and browsers keep up to 4 KB. */
const maxPath = 1_000

type Dashboard = {
  db: Db
  sealer: Sealer
  publicUrl: string
  signals: Signals
  unassign: UnassignMember
  oidc: Oidc | undefined
}

export function oidcTable({ db, sealer, publicUrl, signals, unassign, oidc }: Dashboard): readonly Row[] {
  const redirectUri = `${publicUrl}${callbackPath}`
  const sealing = { sealer, publicUrl }
  const attemptCookie = createOidcCookie<OidcChecks & { to: string }>('oidc sign-in', 'parley_oidc', sealing)
  const choiceCookie = createOidcCookie<{ identity: OidcIdentity; to: string }>(
    'oidc workspace',
    'parley_oidc_workspace',
    sealing,
  )
  const requireOidc = (): Oidc => {
    if (!oidc) throw notFound('single sign-on')
    return oidc
  }
  const reject = (request: FastifyRequest, reply: FastifyReply, { error, to, reason }: Rejection): FastifyReply => {
    if (reason) request.log.warn({ error, reason }, 'a sign-in with OpenID Connect failed')
    return reply.redirect(signInPage({ error }, to), 303)
  }
  /** Starts a session in the workspace and sets its cookies. */
  const enter = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { identity, workspace }: { identity: OidcIdentity; workspace: OidcWorkspace },
  ): Promise<OidcRefusal | undefined> => {
    const origin = originOf(request, publicUrl)
    const signedIn = await signInWithOidc(db, requireOidc(), { identity, workspace, origin, unassign })
    if (!signedIn.ok) return signedIn.refusal
    await enterSession(db, sealer, { request, reply, token: signedIn.token, publicUrl })
    signals.changed(workspace.id)
    return undefined
  }
  /** The workspaces among which the person of the request chooses. */
  const requireChoice = async (request: FastifyRequest) => {
    const policy = requireOidc()
    const choice = choiceCookie.read(request)
    if (!choice) throw notFound('sign-in')
    return { ...choice, workspaces: await listWorkspacesOf(db, policy, choice.identity) }
  }
  return [
    row({
      call: 'GET /oidc/start',
      members: 'public',
      query: StartQuery,
      run: async (request, reply) => {
        const { client } = requireOidc()
        const to = readPagePath((request.query as Static<typeof StartQuery>).to)
        const begun = await client.begin(redirectUri)
        if (!begun.ok) return reject(request, reply, { error: begun.failure, to, reason: begun.reason })
        attemptCookie.set(reply, { ...begun.checks, to })
        return reply.redirect(begun.url, 303)
      },
    }),
    row({
      call: 'GET /oidc/callback',
      members: 'public',
      run: async (request, reply) => {
        const { client, ...policy } = requireOidc()
        const callback = new URL(`${redirectUri}?${request.url.split('?').slice(1).join('?')}`)
        const attempt = attemptCookie.read(request)
        if (!attempt || !isSameToken(callback.searchParams.get('state') ?? '', attempt.state)) {
          return reject(request, reply, { error: 'expired', to: attempt?.to ?? firstPage })
        }
        const { to, ...checks } = attempt
        attemptCookie.clear(reply)
        const revert = await countCallback(db, request.clientAddress)
        if (!revert) return reject(request, reply, { error: 'too_many', to })
        const completed = await client.complete(callback, checks)
        if (!completed.ok) return reject(request, reply, { error: completed.failure, to, reason: completed.reason })
        const reason = 'refused by the settings or the members'
        const identified = await identify(db, policy, completed.person)
        if (!identified.ok) return reject(request, reply, { error: identified.refusal, to, reason })
        const { identity, workspaces } = identified
        const [workspace, another] = workspaces
        if (another) {
          await revert()
          // Only new members need the name, which may be longer than a cookie.
          choiceCookie.set(reply, { identity: { ...identity, name: undefined }, to })
          return reply.redirect(signInPage({ choose: 'workspace' }, to), 303)
        }
        const refusal = workspace && (await enter(request, reply, { identity, workspace }))
        if (refusal) return reject(request, reply, { error: refusal, to, reason })
        await revert()
        return reply.redirect(to, 303)
      },
    }),
    row({
      call: 'GET /oidc/workspaces',
      members: 'public',
      data: Choices,
      run: async (request) => (await requireChoice(request)).workspaces,
    }),
    row({
      call: 'POST /oidc/session',
      members: 'public',
      audit: false,
      body: Choice,
      data: Entered,
      run: async (request, reply) => {
        const { identity, to, workspaces } = await requireChoice(request)
        const workspace = workspaces.find(({ id }) => id === request.body.workspace_id)
        if (!workspace) throw notFound('workspace')
        const refusal = await enter(request, reply, { identity, workspace })
        if (refusal) throw new ApiError('forbidden', 'the sign-in was refused', {}, { refusal })
        choiceCookie.clear(reply)
        return { to }
      },
    }),
  ]
}

const signInPage = (parameters: Record<string, string>, to: string): string =>
  `/sign-in?${new URLSearchParams({ ...parameters, ...(to === firstPage ? {} : { to }) })}`

/** `reason`: for the log. Strangers can cause the errors without one. */
type Rejection = { error: OidcError; to: string; reason?: string | undefined }

/** A path of the dashboard, as the page requested it. Never another origin, and never a call. */
function readPagePath(input = ''): string {
  const origin = 'http://parley.invalid'
  const url = input.startsWith('/') && input.length <= maxPath ? URL.parse(input, origin) : null
  // The path is checked after it is resolved: `/a/..//host` becomes `//host`, which is another origin.
  if (url?.origin !== origin || !/^\/(?!app\/)[a-z]/.test(url.pathname)) return firstPage
  return `${url.pathname}${url.search}${url.hash}`
}
