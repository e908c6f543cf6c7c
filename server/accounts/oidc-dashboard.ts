/**
 * `/oidc/start`, `/oidc/callback`: sign-in with OpenID Connect.
 *
 * Both are opened by the browser and answer with a redirect: to the provider, then to the requested page or, with the code of an error,
 * to the sign-in page. A sealed cookie connects the two, so a callback works only in the browser that started it.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isSameToken, type Sealer } from '../lib/crypto.ts'
import type { Db } from '../lib/db.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import type { OidcFailure } from '../lib/oidc.ts'
import { type Static, Type } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { clearOidcCookie, readOidcCookie, setOidcCookie } from './cookies.ts'
import type { UnassignMember } from './members.ts'
import { type Oidc, type OidcRefusal, signInWithOidc } from './oidc.ts'
import { enterSession, originOf } from './sessions.ts'
import type { Signals } from './signals.ts'
import { countCallback } from './throttle.ts'

/** The sign-in page has a sentence for each. `expired`: the callback belongs to no attempt of this browser. */
type OidcError = OidcRefusal | OidcFailure['failure'] | 'expired' | 'too_many'

const StartQuery = Type.Object({ to: Type.Optional(Type.String()) })

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

export const oidcDashboard =
  ({ db, sealer, publicUrl, signals, unassign, oidc }: Dashboard) =>
  async (app: App) => {
    const redirectUri = `${publicUrl}${callbackPath}`
    const requireOidc = (): Oidc => {
      if (!oidc) throw notFound('single sign-on')
      return oidc
    }
    const reject = (request: FastifyRequest, reply: FastifyReply, { error, to, reason }: Rejection): FastifyReply => {
      if (reason) request.log.warn({ error, reason }, 'a sign-in with OpenID Connect failed')
      return reply.redirect(`/sign-in?${new URLSearchParams({ error, ...(to === firstPage ? {} : { to }) })}`, 303)
    }

    app.get(
      '/oidc/start',
      { config: { members: 'public' }, schema: { querystring: StartQuery } },
      async (request, reply) => {
        const { client } = requireOidc()
        const to = readPagePath((request.query as Static<typeof StartQuery>).to)
        const begun = await client.begin(redirectUri)
        if (!begun.ok) return reject(request, reply, { error: begun.failure, to, reason: begun.reason })
        setOidcCookie(reply, { ...begun.checks, to }, { sealer, publicUrl })
        return reply.redirect(begun.url, 303)
      },
    )
    app.get('/oidc/callback', { config: { members: 'public' } }, async (request, reply) => {
      const { client, ...policy } = requireOidc()
      const callback = new URL(`${redirectUri}?${request.url.split('?').slice(1).join('?')}`)
      const attempt = readOidcCookie(request, { sealer, publicUrl })
      if (!attempt || !isSameToken(callback.searchParams.get('state') ?? '', attempt.state)) {
        return reject(request, reply, { error: 'expired', to: attempt?.to ?? firstPage })
      }
      const { to, ...checks } = attempt
      clearOidcCookie(reply, publicUrl)
      const revert = await countCallback(db, request.clientAddress).catch(asRefusal)
      if (!revert) return reject(request, reply, { error: 'too_many', to })
      const completed = await client.complete(callback, checks)
      if (!completed.ok) return reject(request, reply, { error: completed.failure, to, reason: completed.reason })
      const { person } = completed
      const signedIn = await signInWithOidc(db, policy, { person, origin: originOf(request, publicUrl), unassign })
      if (!signedIn.ok)
        return reject(request, reply, { error: signedIn.refusal, to, reason: 'refused by the settings or the members' })
      await revert()
      await enterSession(db, sealer, { request, reply, token: signedIn.token, publicUrl })
      signals.changed(signedIn.workspaceId)
      return reply.redirect(to, 303)
    })
  }

/** `reason`: for the log. Strangers can cause the errors without one. */
type Rejection = { error: OidcError; to: string; reason?: string | undefined }

/** Undefined if the limit is reached. */
function asRefusal(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 'rate_limited') return undefined
  throw error
}

/** A path of the dashboard, as the page requested it. Never another origin, and never a call. */
function readPagePath(input = ''): string {
  const origin = 'http://parley.invalid'
  const url = input.startsWith('/') && input.length <= maxPath ? URL.parse(input, origin) : null
  // The path is checked after it is resolved: `/a/..//host` becomes `//host`, which is another origin.
  if (url?.origin !== origin || !/^\/(?!app\/)[a-z]/.test(url.pathname)) return firstPage
  return `${url.pathname}${url.search}${url.hash}`
}
