/**
 * A client of an OpenID Connect provider: the authorization code flow with PKCE, state and nonce.
 *
 * A failure of the provider is a value. Discovery is loaded at the first sign-in, so a provider that is down does not delay the start
 * of the service; a failed one is repeated at most every few seconds. Requests have limits on time and size and follow no redirects.
 * The issuer is a setting of the operator, so it may be on a private network. The signature of every ID token is checked.
 */
import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  calculatePKCECodeChallenge,
  clockSkew,
  clockTolerance,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  ResponseBodyError,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client'
import { clockOffsetSeconds } from './clock.ts'
import { createTtlCache } from './ttl-cache.ts'

export type OidcSettings = {
  issuer: string
  clientId: string
  clientSecret: string
  /** The claim to return in `values`. */
  claim: string | undefined
}

/** The values of one sign-in that the browser keeps until its callback. */
export type OidcChecks = { state: string; nonce: string; verifier: string }

export type OidcPerson = {
  issuer: string
  subject: string
  /** Only if the provider states that it is verified. */
  email: string | undefined
  name: string | undefined
  /** The values of the claim of the settings. */
  values: string[]
}

/** `denied`: the person or the provider refused. `reason` is for the log and contains no secrets; undefined: it was reported just now. */
export type OidcFailure = { ok: false; failure: 'unavailable' | 'denied' | 'failed'; reason: string | undefined }

export type OidcClient = {
  begin(redirectUri: string): Promise<{ ok: true; url: string; checks: OidcChecks } | OidcFailure>
  /** `callback`: the redirect URI with the parameters of the provider. */
  complete(callback: URL, checks: OidcChecks): Promise<{ ok: true; person: OidcPerson } | OidcFailure>
}

/** Of each request: discovery, keys, tokens, user information. */
const timeoutSeconds = 5
const maxResponseBytes = 1024 * 1024
const discoveryTtlMs = 3_600_000
/** After a failed discovery the provider is not asked again for this long. */
const retryAfterMs = 3_000
/** The difference between the clocks of the provider and of the database. */
const toleranceSeconds = 60
/** The limit of the specification. */
const maxSubject = 255
const maxValues = 1_000
const maxReason = 300

export function createOidcClient({ issuer, clientId, clientSecret, claim }: OidcSettings): OidcClient {
  const isInsecure = issuer.startsWith('http:')
  let failedAt = Number.NEGATIVE_INFINITY

  const load = async (): Promise<Configuration> => {
    try {
      const metadata = { [clockTolerance]: toleranceSeconds, [clockSkew]: clockOffsetSeconds() }
      const provider = await discovery(
        new URL(issuer),
        clientId,
        metadata,
        (server, ...rest) => authenticationFor(server.token_endpoint_auth_methods_supported)(server, ...rest),
        {
          timeout: timeoutSeconds,
          [customFetch]: fetchLimited,
          execute: [enableNonRepudiationChecks, ...(isInsecure ? [allowInsecureRequests] : [])],
        },
      )
      // For some hosts the library accepts an issuer that admits the accounts of every tenant.
      if (new URL(provider.serverMetadata().issuer).href !== new URL(issuer).href) {
        throw new Error(`the provider states another issuer: ${provider.serverMetadata().issuer}`)
      }
      return provider
    } catch (error) {
      failedAt = performance.now()
      throw error
    }
  }
  /** The default of the specification is basic; a provider that only has the other states so. */
  const authenticationFor = (supported: readonly string[] = ['client_secret_basic']) =>
    supported.includes('client_secret_post') && !supported.includes('client_secret_basic')
      ? ClientSecretPost(clientSecret)
      : ClientSecretBasic(clientSecret)

  const cached = createTtlCache(load, discoveryTtlMs)
  /** Undefined: discovery failed just now. */
  const discover = async (): Promise<Configuration | undefined> =>
    performance.now() - failedAt < retryAfterMs ? undefined : cached(issuer)

  return {
    async begin(redirectUri) {
      try {
        const provider = await discover()
        if (!provider) return unavailable(undefined)
        const checks = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() }
        const url = buildAuthorizationUrl(provider, {
          redirect_uri: redirectUri,
          scope: scopeFor(provider, claim),
          state: checks.state,
          nonce: checks.nonce,
          code_challenge: await calculatePKCECodeChallenge(checks.verifier),
          code_challenge_method: 'S256',
        })
        return { ok: true, url: url.href, checks }
      } catch (error) {
        return unavailable(describe(error))
      }
    },
    async complete(callback, { state, nonce, verifier }) {
      try {
        const provider = await discover()
        if (!provider) return unavailable(undefined)
        const tokens = await authorizationCodeGrant(provider, callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        })
        const claims = tokens.claims()
        if (!claims || claims.sub.length > maxSubject) return fail('the ID token has no usable subject')
        // Many providers put only the subject into the ID token.
        const isComplete = verifiedEmailOf(claims) !== undefined && (!claim || readClaim(claims, claim) !== undefined)
        const details: Claims =
          isComplete || !provider.serverMetadata().userinfo_endpoint
            ? {}
            : await fetchUserInfo(provider, tokens.access_token, claims.sub)
        const [name] = [claims.name, details.name].filter((value) => typeof value === 'string')
        return {
          ok: true,
          person: {
            issuer: provider.serverMetadata().issuer,
            subject: claims.sub,
            email: verifiedEmailOf(claims) ?? verifiedEmailOf(details),
            name,
            values: claim ? toValues(readClaim(claims, claim) ?? readClaim(details, claim)) : [],
          },
        }
      } catch (error) {
        if (error instanceof AuthorizationResponseError && error.error === 'access_denied') {
          return { ok: false, failure: 'denied', reason: describe(error) }
        }
        return isOutage(error) ? unavailable(describe(error)) : fail(describe(error))
      }
    },
  }
}

const fail = (reason: string): OidcFailure => ({ ok: false, failure: 'failed', reason })
const unavailable = (reason: string | undefined): OidcFailure => ({ ok: false, failure: 'unavailable', reason })

/** Providers such as Dex and Okta state the claim `groups` only for the scope `groups`. */
function scopeFor(provider: Configuration, claim: string | undefined): string {
  const { scopes_supported: supported = [] } = provider.serverMetadata()
  return ['openid', 'email', 'profile', ...supported.filter((scope) => scope === claim)].join(' ')
}

type Claims = Readonly<Record<string, unknown>>

/** Both claims must be in one set: the one says whether the other is verified. */
const verifiedEmailOf = ({ email, email_verified: isVerified }: Claims): string | undefined =>
  typeof email === 'string' && isVerified === true ? email : undefined

/** A claim by its name, or by a path such as `realm_access.roles`. */
function readClaim(claims: Claims, name: string): unknown {
  if (claims[name] !== undefined) return claims[name]
  let value: unknown = claims
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = Reflect.get(value, part)
  }
  return value
}

const toValues = (value: unknown): string[] =>
  [value]
    .flat()
    .filter((item) => typeof item === 'string')
    .slice(0, maxValues)

/** Whether the provider did not answer, or with a status that says nothing about the sign-in. */
function isOutage(error: unknown): boolean {
  const { code, cause } = error as { code?: string; cause?: unknown }
  return (
    (error instanceof TypeError && code === undefined) ||
    code === 'OAUTH_TIMEOUT' ||
    (cause instanceof Response && cause.status >= 500)
  )
}

/** One line without tokens: what the provider answered, or what the library found. */
function describe(error: unknown): string {
  const parts: unknown[] =
    error instanceof ResponseBodyError || error instanceof AuthorizationResponseError
      ? [error.error, error.error_description]
      : [error, (error as Error).cause].map((each) => (each instanceof Error ? each.message : undefined))
  return parts.filter(Boolean).join(': ').replace(/\s+/g, ' ').slice(0, maxReason) || 'unknown error'
}

async function fetchLimited(url: string, options: object): Promise<Response> {
  const response = await fetch(url, options)
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of response.body ?? []) {
    size += part.length
    if (size > maxResponseBytes) throw new TypeError(`the answer of the provider is over ${maxResponseBytes} bytes`)
    parts.push(part)
  }
  const { status, headers } = response
  return new Response(parts.length > 0 ? Buffer.concat(parts) : null, { status, headers })
}
