/**
 * The dashboard's cookies: the session, the device, and those of a sign-in with OpenID Connect that is not complete.
 *
 * Where `PUBLIC_URL` is https their names start with `__Host-`: a browser accepts such a cookie only from this host and only
 * over https, so no sibling domain and no one on the network can plant one. The prefix is part of a session's token, and so
 * of the hash that is stored. A token issued with the prefix is therefore worthless in a cookie without it. Session cookies
 * from before the prefix work until their sessions expire.
 *
 * The device cookie says that a member signed in with this browser before. It opens nothing: it only keeps the member's
 * failed sign-ins apart from everyone else's (`throttle.ts`). It stays after signing out, and is bound to the e-mail (`devices.ts`).
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { nowMs } from '../../lib/clock.ts'
import { randomToken, type SealContext, SealError, type Sealer } from '../../lib/crypto.ts'

const sessionName = 'parley_session'
const deviceName = 'parley_device'
const hostPrefix = '__Host-'
const deviceDays = 365
const daySeconds = 86_400
const oidcSeconds = 600

const prefixFor = (publicUrl: string): string => (publicUrl.startsWith('https:') ? hostPrefix : '')

/** A token for a new session. */
export const newSessionToken = (publicUrl: string): string => `${prefixFor(publicUrl)}${randomToken()}`

export function setSessionCookie(reply: FastifyReply, token: string, days: number): void {
  const prefix = token.startsWith(hostPrefix) ? hostPrefix : ''
  appendCookie(reply, `${prefix}${sessionName}`, token.slice(prefix.length), days * daySeconds)
}

/** Clears both names: the session may be from before the prefix. */
export function clearSessionCookie(reply: FastifyReply, publicUrl: string): void {
  for (const prefix of new Set([prefixFor(publicUrl), ''])) appendCookie(reply, `${prefix}${sessionName}`, '', 0)
}

/** The token of the request's session cookie. Empty when there is none, which is no session's token. */
export function readSessionToken({ headers }: FastifyRequest): string {
  const prefixed = readCookie(headers.cookie, `${hostPrefix}${sessionName}`)
  if (prefixed !== undefined) return `${hostPrefix}${prefixed}`
  const plain = readCookie(headers.cookie, sessionName) ?? ''
  return plain.startsWith(hostPrefix) ? '' : plain
}

/** A browser in which a member signed in. `binding`: what must not have changed since. */
export type Device = { id: string; memberId: string; binding: string }

const deviceContext = (emailKey: string): SealContext => ['device', emailKey]

type KnownDevice = { sealer: Sealer; emailKey: string; publicUrl: string }

export function setDeviceCookie(
  reply: FastifyReply,
  device: Device,
  { sealer, emailKey, publicUrl }: KnownDevice,
): void {
  const value = sealer.seal(JSON.stringify([device.id, device.memberId, device.binding]), deviceContext(emailKey))
  appendCookie(reply, `${prefixFor(publicUrl)}${deviceName}`, value, deviceDays * daySeconds)
}

/** The device of the request, if the member with this e-mail signed in with it. Its binding may be outdated. */
export function readDevice(request: FastifyRequest, { sealer, emailKey, publicUrl }: KnownDevice): Device | undefined {
  const value = readCookie(request.headers.cookie, `${prefixFor(publicUrl)}${deviceName}`)
  if (value === undefined) return undefined
  const [id, memberId, binding]: string[] = JSON.parse(openOr('[]', () => sealer.open(value, deviceContext(emailKey))))
  return id && memberId && binding ? { id, memberId, binding } : undefined
}

/** What the browser keeps for the next step of a sign-in with OpenID Connect, sealed, for ten minutes. */
export function createOidcCookie<Step extends object>(
  purpose: string,
  name: string,
  { sealer, publicUrl }: { sealer: Sealer; publicUrl: string },
) {
  const context: SealContext = [purpose]
  const fullName = `${prefixFor(publicUrl)}${name}`
  return {
    set(reply: FastifyReply, step: Step): void {
      const value = sealer.seal(JSON.stringify({ step, expiresAt: nowMs() + oidcSeconds * 1_000 }), context)
      appendCookie(reply, fullName, value, oidcSeconds)
    },
    /** Undefined if there is none, or if it has expired. */
    read(request: FastifyRequest): Step | undefined {
      const value = readCookie(request.headers.cookie, fullName)
      const text = value && openOr(undefined, () => sealer.open(value, context))
      if (!text) return undefined
      const { step, expiresAt }: { step: Step; expiresAt: number } = JSON.parse(text)
      return expiresAt > nowMs() ? step : undefined
    },
    clear: (reply: FastifyReply): void => appendCookie(reply, fullName, '', 0),
  }
}

/** Runs `open`. Returns `otherwise` for a text that was changed, or was sealed with another key. */
function openOr<Value>(otherwise: Value, open: () => Value): Value {
  try {
    return open()
  } catch (error) {
    if (error instanceof SealError) return otherwise
    throw error
  }
}

function readCookie(header: string | undefined, name: string): string | undefined {
  for (const cookie of (header ?? '').split(';')) {
    const [key, value = ''] = cookie.split('=', 2)
    if (key?.trim() === name) return value.trim()
  }
  return undefined
}

function appendCookie(reply: FastifyReply, name: string, value: string, seconds: number): void {
  const secure = name.startsWith(hostPrefix) ? '; Secure' : ''
  reply.header('set-cookie', `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`)
}
