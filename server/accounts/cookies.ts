/**
 * The session cookie.
 *
 * Where `PUBLIC_URL` is https its name starts with `__Host-`: a browser accepts such a cookie only from this host and only
 * over https, so no sibling domain and no one on the network can plant one. The prefix is part of the token, and so of the
 * hash that is stored. A token issued with the prefix is therefore worthless in a cookie without it. Cookies from before
 * the prefix work until their sessions expire.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { randomToken } from '../lib/crypto.ts'

const name = 'parley_session'
const hostPrefix = '__Host-'

const isHttps = (publicUrl: string): boolean => publicUrl.startsWith('https:')

/** A token for a new session. */
export const newSessionToken = (publicUrl: string): string => `${isHttps(publicUrl) ? hostPrefix : ''}${randomToken()}`

export function setSessionCookie(reply: FastifyReply, token: string, maxAgeSeconds: number): void {
  const prefix = token.startsWith(hostPrefix) ? hostPrefix : ''
  appendCookie(reply, prefix, token.slice(prefix.length), maxAgeSeconds)
}

/** Both names: the session may be from before the prefix. */
export function clearSessionCookie(reply: FastifyReply, publicUrl: string): void {
  for (const prefix of isHttps(publicUrl) ? [hostPrefix, ''] : ['']) appendCookie(reply, prefix, '', 0)
}

/** The token of the request's session cookie. Empty when there is none, which is no session's token. */
export function readSessionToken({ headers }: FastifyRequest): string {
  const cookies = new Map<string, string>()
  for (const cookie of (headers.cookie ?? '').split(';')) {
    const [cookieName = '', value = ''] = cookie.split('=', 2)
    cookies.set(cookieName.trim(), value.trim())
  }
  const prefixed = cookies.get(`${hostPrefix}${name}`)
  return prefixed === undefined ? plainToken(cookies.get(name) ?? '') : `${hostPrefix}${prefixed}`
}

/** A plain cookie cannot claim the prefix by its value. */
const plainToken = (value: string): string => (value.startsWith(hostPrefix) ? '' : value)

function appendCookie(reply: FastifyReply, prefix: string, value: string, maxAgeSeconds: number): void {
  const secure = prefix ? '; Secure' : ''
  reply.header(
    'set-cookie',
    `${prefix}${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${secure}`,
  )
}
