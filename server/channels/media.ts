/**
 * Fetches media that customers sent from the provider.
 *
 * A media id resolves to a URL that is valid for minutes. Without an id there is only a URL. URLs come from outside, so the
 * access token is sent only to the provider's hosts. A private address is called only for a file of the operator's simulator.
 */
import type { Readable } from 'node:stream'
import type { Http } from '../lib/http/client.ts'
import type { Connection, FetchedMedia, MediaReference } from './channel.ts'
import { callProvider, errorOf } from './graph.ts'
import { recordOf, textOf } from './reading.ts'

/** The provider's media hosts: `lookaside.fbsbx.com` and its content networks. */
const mediaHosts = /\.(?:fbsbx\.com|fbcdn\.net|whatsapp\.net|cdninstagram\.com)$/

type FailedFetch = Extract<FetchedMedia, { ok: false }>
type ResolvedMedia = { ok: true; url: string; mime_type: string | null }

/** Returns the body as a stream. The caller limits a body without a `content-length`. */
export async function fetchMedia(
  http: Http,
  connection: Connection,
  media: MediaReference,
  maxBytes: number,
): Promise<FetchedMedia> {
  const { id } = media
  if (id === null) {
    if (media.url === null) return gone('neither an id nor a URL')
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
    // The URL may have expired between the two calls: resolve it again once.
    if (!got.notFound || attempt === 2) return { ok: false, again: got.again, message: got.message }
  }
}

async function resolve(http: Http, connection: Connection, id: string): Promise<ResolvedMedia | FailedFetch> {
  if (/^\.+$/.test(id)) return gone('not an id')
  const answer = await callProvider(http, connection, { method: 'GET', path: [id], timeoutMs: 15_000 })
  if (!answer.ok) return { ok: false, again: true, message: answer.message }
  const error = errorOf(answer)
  if (error?.code === 100 && error.subcode === 33) return gone(error.message)
  if (error) return { ok: false, again: true, message: error.message }
  const { url, mime_type } = recordOf(answer.value) ?? {}
  if (typeof url !== 'string') return { ok: false, again: true, message: 'the provider returned no URL' }
  return { ok: true, url, mime_type: textOf(mime_type) }
}

type FetchResponse = { ok: true; bytes: Readable; mime_type: string | null } | (FailedFetch & { notFound?: true })

async function get(http: Http, connection: Connection, url: string, maxBytes: number): Promise<FetchResponse> {
  const target = URL.parse(url)
  if (!target) return gone('not a URL')
  const isOwn = target.origin === URL.parse(connection.base_url)?.origin
  const isProviders = target.protocol === 'https:' && mediaHosts.test(target.hostname)
  const answer = await http.stream({
    method: 'GET',
    url: target.href,
    headers: isOwn || isProviders ? { authorization: `Bearer ${connection.access_token}` } : {},
    timeoutMs: 30_000,
    isPrivate: isOwn && connection.is_private && isSimulatorFile(target, connection),
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

/**
 * Whether the URL is one of the two kinds of links to files that the simulator of a connection has. Its private host may have other
 * paths, such as the metrics of this service, and a callback may name any of them.
 */
function isSimulatorFile({ pathname }: URL, { base_url }: Connection): boolean {
  const simulator = URL.parse(base_url)?.pathname.replace(/\/(graph)?$/, '')
  return pathname.startsWith(`${simulator}/media/`) || pathname === `${simulator}/lookaside`
}

const gone = (message: string): FailedFetch => ({ ok: false, again: false, message })

/** Releases the connection of an unread body. `destroy` emits an error, which needs a listener. */
function drop(body: Readable): void {
  body.on('error', () => {})
  body.destroy()
}

function mimeTypeOf(...candidates: (string | null)[]): string {
  const usable = candidates.find((type) => type !== null && type.length <= 127 && /^[\w.+-]+\/[\w.+-]+(;|$)/.test(type))
  return usable ?? 'application/octet-stream'
}
