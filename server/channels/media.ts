/**
 * Media that customers sent, fetched from where the provider keeps it.
 *
 * An id leads to an address that lives for minutes; where there is no id the
 * address is all there is. Addresses come from outside, so the access token
 * goes only to the provider itself, and a private address is called only when
 * it is the operator's own.
 */
import type { Readable } from 'node:stream'
import type { Http } from '../lib/http.ts'
import type { Connection, FetchedMedia, MediaReference } from './channel.ts'
import { ask, errorOf } from './graph.ts'
import { recordOf, textOf } from './reading.ts'

/** Where the provider keeps media: `lookaside.fbsbx.com` and its content networks. */
const mediaHosts = /\.(?:fbsbx\.com|fbcdn\.net|whatsapp\.net|cdninstagram\.com)$/

type Failed = Extract<FetchedMedia, { ok: false }>
type Resolved = { ok: true; url: string; mime_type: string | null }

/** The body is handed on as it comes: a length that was not announced is for the reader to count. */
export async function fetchMedia(
  http: Http,
  connection: Connection,
  media: MediaReference,
  maxBytes: number,
): Promise<FetchedMedia> {
  const { id } = media
  if (id === null) {
    if (media.url === null) return gone('neither an id nor an address')
    const got = await get(http, connection, media.url, maxBytes)
    if (!got.ok) return got.notFound ? gone(got.message) : got
    return { ok: true, bytes: got.bytes, mime_type: mimeTypeOf(media.mime_type, got.mime_type) }
  }
  for (let attempt = 1; ; attempt++) {
    const resolved = await resolve(http, connection, id)
    if (!resolved.ok) return resolved
    const got = await get(http, connection, resolved.url, maxBytes)
    if (got.ok) {
      return { ok: true, bytes: got.bytes, mime_type: mimeTypeOf(media.mime_type, resolved.mime_type, got.mime_type) }
    }
    // The address may have ended its minutes between the two calls; a new one is as good.
    if (!got.notFound || attempt === 2) return { ok: false, again: got.again, message: got.message }
  }
}

async function resolve(http: Http, connection: Connection, id: string): Promise<Resolved | Failed> {
  if (/^\.+$/.test(id)) return gone('not an id')
  const answer = await ask(http, connection, { method: 'GET', path: [id], timeoutMs: 15_000 })
  if (!answer.ok) return { ok: false, again: true, message: answer.message }
  const error = errorOf(answer)
  if (error?.code === 100 && error.subcode === 33) return gone(error.message)
  if (error) return { ok: false, again: true, message: error.message }
  const { url, mime_type } = recordOf(answer.value) ?? {}
  if (typeof url !== 'string') return { ok: false, again: true, message: 'the provider gave no address' }
  return { ok: true, url, mime_type: textOf(mime_type) }
}

type Got = { ok: true; bytes: Readable; mime_type: string | null } | (Failed & { notFound?: true })

async function get(http: Http, connection: Connection, url: string, maxBytes: number): Promise<Got> {
  const target = URL.parse(url)
  if (!target) return gone('not an address')
  const isOwn = target.origin === URL.parse(connection.base_url)?.origin
  const isProviders = target.protocol === 'https:' && mediaHosts.test(target.hostname)
  const answer = await http.stream({
    method: 'GET',
    url: target.href,
    headers: isOwn || isProviders ? { authorization: `Bearer ${connection.access_token}` } : {},
    timeoutMs: 30_000,
    isPrivate: isOwn && connection.is_private,
  })
  if (!answer.ok) return { ok: false, again: true, message: answer.message }
  const { status, headers, body } = answer
  if (status !== 200) {
    drop(body)
    const message = `HTTP ${status}`
    if (status === 404) return { ok: false, again: true, message, notFound: true }
    return { ok: false, again: status >= 500 || [401, 403, 408, 425, 429].includes(status), message }
  }
  if (Number(headers['content-length']) > maxBytes) {
    drop(body)
    return gone(`over ${maxBytes} bytes`)
  }
  return { ok: true, bytes: body, mime_type: textOf(headers['content-type']) }
}

const gone = (message: string): Failed => ({ ok: false, again: false, message })

/** A body that nobody reads would hold its connection; a listener, as its end is an error that nobody waits for. */
function drop(body: Readable): void {
  body.on('error', () => {})
  body.destroy()
}

function mimeTypeOf(...said: (string | null)[]): string {
  const usable = said.find((type) => type !== null && type.length <= 127 && /^[\w.+-]+\/[\w.+-]+(;|$)/.test(type))
  return usable ?? 'application/octet-stream'
}
