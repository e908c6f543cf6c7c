/**
 * Downloads of files that a control call names by URL.
 *
 * The caller can read the downloaded file, so a download of a private address
 * would expose services of this machine and its network. Only public addresses
 * and allowed origins are reached. Redirects are not followed. Time, size and
 * the number of concurrent downloads are bounded.
 */
import { isIP } from 'node:net'
import { Agent } from 'undici'
import { createPublicLookup, isPublicAddress, notPublic } from '../../common/address.ts'
import type { Quotas } from './quotas.ts'

type Download =
  | { ok: true; bytes: Buffer; mime_type: string }
  /** `isRefused`: no request was made. */
  | { ok: false; isRefused: boolean; reason: string }

export type Downloads = ReturnType<typeof createDownloads>

type DownloadOptions = {
  /** Whether a private origin may be reached, such as the service's own. */
  isAllowedOrigin: (origin: string) => boolean
  quotas: Pick<Quotas, 'downloadBytes' | 'downloadMs' | 'downloadsAtOnce'>
}

const refused = (reason: string): Download => ({ ok: false, isRefused: true, reason })
const failed = (reason: string): Download => ({ ok: false, isRefused: false, reason })

export function createDownloads({ isAllowedOrigin, quotas }: DownloadOptions) {
  const { downloadBytes, downloadMs, downloadsAtOnce } = quotas
  const guarded = new Agent({ connect: { timeout: 3_000, lookup: createPublicLookup() } })
  // The service may have a self-signed certificate.
  const own = new Agent({ connect: { timeout: 3_000, rejectUnauthorized: false } })
  let running = 0

  async function read(target: URL): Promise<Download> {
    const abort = new AbortController()
    const timer = setTimeout(() => abort.abort(), downloadMs)
    try {
      const { statusCode, headers, body } = await (isAllowedOrigin(target.origin) ? own : guarded).request({
        origin: target.origin,
        path: target.pathname + target.search,
        method: 'GET',
        headers: { 'user-agent': 'facebookexternalua' },
        signal: abort.signal,
      })
      const parts: Buffer[] = []
      let size = 0
      const isTooLarge = Number(headers['content-length'] ?? 0) > downloadBytes
      if (statusCode === 200 && !isTooLarge) {
        for await (const part of body) {
          size += part.length
          if (size > downloadBytes) break
          parts.push(part)
        }
      }
      // Destroying a body that is not read to its end emits an error.
      body.on('error', () => {}).destroy()
      if (statusCode !== 200) return failed(`answered ${statusCode}`)
      if (isTooLarge || size > downloadBytes) return failed(`larger than ${downloadBytes} bytes`)
      return { ok: true, bytes: Buffer.concat(parts), mime_type: String(headers['content-type'] ?? '') }
    } catch (error) {
      if (abort.signal.aborted) return failed(`not complete within ${downloadMs / 1000} s`)
      const { message } = error as Error
      return message.endsWith(notPublic('')) ? refused(message) : failed(message)
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    async get(url: string): Promise<Download> {
      const target = URL.parse(url)
      if (!target || !/^https?:$/.test(target.protocol)) return refused('not an http address')
      if (target.username || target.password) return refused('must not sendBatch credentials')
      // An IP address needs no DNS lookup, so the lookup does not check it.
      const host = target.hostname.replace(/^\[|\]$/g, '')
      if (isIP(host) && !isPublicAddress(host) && !isAllowedOrigin(target.origin)) return refused(notPublic(host))
      if (running >= downloadsAtOnce) return refused(`at most ${downloadsAtOnce} downloads at once`)
      running++
      return read(target).finally(() => running--)
    },
    async stop() {
      await Promise.all([guarded.destroy(), own.destroy()])
    },
  }
}
