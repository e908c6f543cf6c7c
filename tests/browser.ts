/** Members of a workspace, each with a browser of their own, at the calls of the dashboard. */
import { randomUUID } from 'node:crypto'
import { type Answer, assertStatus, dataOf } from './assertions.ts'
import type { Json } from './owner.ts'

export const publicUrl = 'http://parley.test'

/** Compressing every answer takes time that no test needs. `http.test.ts` has the encodings. */
export const uncompressed = { 'accept-encoding': 'identity' }

type Person = { email: string; password: string }

/** A member's browser: keeps its cookies, says where it comes from. */
export type Browser = {
  url: string
  origin: string
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Returns the body of an answer that must have this status. */
  ask(method: string, path: string, body?: unknown, status?: number): Promise<Json>
  /** The cookies, for calls that `call` cannot make. */
  cookie(): string
  signIn(who: Person): Promise<Answer>
}

export type Member = Browser & Person & { id: string }

/** `origin`: where its pages come from. */
export function createBrowser(url: string, origin = publicUrl): Browser {
  const cookies = new Map<string, string>()
  const cookie = () => [...cookies.values()].join('; ')
  const call: Browser['call'] = async (method, path, body, headers = {}) => {
    const response = await fetch(`${url}/app/api${path}`, {
      method,
      headers: {
        origin,
        cookie: cookie(),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...uncompressed,
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    for (const text of response.headers.getSetCookie()) {
      const [cookie = ''] = text.split(';')
      const [name = '', value] = cookie.split('=')
      if (value) cookies.set(name, cookie)
      else cookies.delete(name)
    }
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json')
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
  }
  const ask: Browser['ask'] = async (method, path, body, status = 200) => {
    const answer = await call(method, path, body)
    assertStatus(answer, status)
    return answer.body
  }
  const signIn: Browser['signIn'] = ({ email, password }) => call('POST', '/session', { email, password })
  return { url, origin, call, ask, cookie, signIn }
}

/** Signs in: the owner, or another person. */
export async function signIn(world: { url: string; owner: Person }, who = world.owner): Promise<Member> {
  const browser = createBrowser(world.url)
  const { member } = dataOf(await browser.signIn(who))
  return { ...browser, id: member.id, email: who.email, password: who.password }
}

/** Creates a member, who is signed in: `inviter` invites, and the member joins. */
export async function createMember(
  inviter: Browser,
  role: 'owner' | 'admin' | 'agent' | 'viewer',
  { name = 'Robin Agent', email = `${role}@${randomUUID()}.test`, password = 'correct horse' } = {},
): Promise<Member> {
  const { data } = await inviter.ask('POST', '/members', { email, role }, 201)
  const browser = createBrowser(inviter.url, inviter.origin)
  const joined = await browser.ask('POST', `/invitations/${data.invitation_token}`, { name, password }, 201)
  return { ...browser, id: joined.data.member.id, email, password }
}
