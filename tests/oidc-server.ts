/** An OpenID Connect provider for tests: `oidc-provider` on a port of this machine, with a sign-in page and people. */
import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import Provider from 'oidc-provider'
import MemoryAdapter from 'oidc-provider/lib/adapters/memory_adapter.js'
import { freePort } from '../scripts/free-port.ts'
import type { OidcConfig } from '../server/config/config.ts'
import type { Owner } from './owner.ts'

/** The claims of a person. */
type Person = { email?: string; email_verified?: boolean | string; name?: string; groups?: unknown }

export type OidcServer = {
  settings: OidcConfig
  /** People by subject. A test adds and changes them. */
  people: Map<string, Person>
  /** Changes the bodies of answers of the token endpoint. */
  tamper(change: ((body: string) => string) | undefined): void
  /** Paths that were requested, without queries. */
  requests: string[]
  /** While it is down it closes every connection, or never answers. */
  setDown(isDown: boolean | 'silent'): void
}

const scopes = 'openid email profile groups'

/** `callback`: the allowed redirect URI. `isComplete`: the ID token has all claims, not only the subject. */
export async function startOidcServer(
  owner: Owner,
  { isComplete = false, callback = 'http://parley.test/app/api/oidc/callback' } = {},
): Promise<OidcServer> {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const client = { client_id: 'parley', client_secret: 'a secret: with/special%characters' }
  const people = new Map<string, Person>()
  const requests: string[] = []
  let change: ((body: string) => string) | undefined
  let isDown: boolean | 'silent' = false
  const provider = new Provider(issuer, {
    clients: [{ ...client, redirect_uris: [callback] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
    scopes: scopes.split(' '),
    conformIdTokenClaims: !isComplete,
    features: { devInteractions: { enabled: false } },
    cookies: { keys: ['a key of tests'] },
    findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id, ...people.get(id) }) }),
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    loadExistingGrant: async ({ oidc }: { oidc: { session: { accountId: string } } }) => {
      const grant = new provider.Grant({ clientId: client.client_id, accountId: oidc.session.accountId })
      grant.addOIDCScope(scopes)
      await grant.save()
      return grant
    },
    pkce: { required: () => true },
    // The defaults of these work and print warnings.
    adapter: class extends MemoryAdapter {},
    jwks: { keys: [signingKey()] },
    ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600, AuthorizationCode: 60 },
  })
  // A page in a browser has a port that is not known before.
  provider.Client.prototype.redirectUriAllowed = (uri) => new URL(uri).pathname === new URL(callback).pathname
  const serve = provider.callback()
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0] ?? ''
    requests.push(path)
    if (isDown === 'silent') return
    if (isDown) request.socket.destroy()
    else if (path.startsWith('/interaction/')) void interact(provider, request, response)
    else {
      if (path === '/token' && change) tamperWith(response, change)
      serve(request, response)
    }
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  owner.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    settings: {
      issuer,
      clientId: client.client_id,
      clientSecret: client.client_secret,
      claim: undefined,
      name: 'Acme ID',
      domains: ['acme.test'],
      roles: undefined,
      workspaceId: undefined,
    },
    people,
    tamper: (wanted) => (change = wanted),
    requests,
    setDown: (wanted) => (isDown = wanted),
  }
}

const signingKey = () => ({
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
  kid: 'tests',
  use: 'sig',
})

/** The sign-in page of the provider: a person enters the subject, or cancels. */
async function interact(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') {
    const form = '<form method="post"><label>User <input name="login"></label><button>Log in</button></form>'
    response.setHeader('content-type', 'text/html')
    response.end(`<!doctype html><html lang="en"><title>Acme ID</title><main><h1>Acme ID</h1>${form}</main>`)
    return
  }
  const login = new URLSearchParams(await text(request)).get('login')
  const result = login
    ? { login: { accountId: login } }
    : { error: 'access_denied', error_description: 'the person canceled' }
  await provider.interactionFinished(request, response, result)
}

function tamperWith(response: ServerResponse, change: (body: string) => string): void {
  const end = response.end.bind(response) as (body: string) => ServerResponse
  response.end = ((body: string | Buffer) => {
    const changed = change(String(body))
    response.setHeader('content-length', Buffer.byteLength(changed))
    return end(changed)
  }) as ServerResponse['end']
}
