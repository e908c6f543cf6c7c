/**
 * An object store in a bucket that speaks S3: Amazon's, MinIO, R2 and others.
 *
 * Requests address the bucket by path (`endpoint/bucket/key`), which all of them support. S3 needs the length before the first
 * byte, and sources do not know theirs, so a source is first spooled to a temporary file. The file is unlinked as soon as it
 * is open, so a crash leaves nothing behind.
 */
import { randomUUID } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { AwsV4Signer } from 'aws4fetch'
import { Agent, type Dispatcher, request } from 'undici'
import { type Store, StoreUnavailableError } from './store.ts'
import { consumeSource, spool } from './store-spool.ts'

export type S3Bucket = {
  /** `https://s3.eu-central-1.amazonaws.com`, optionally with a path. */
  endpoint: string
  region: string
  bucket: string
  access_key_id: string
  secret_access_key: string
}

type S3RequestOptions = {
  headers?: Record<string, string>
  body?: Readable
  signal?: AbortSignal | undefined
}

export function createS3Store({ endpoint, region, bucket, access_key_id, secret_access_key }: S3Bucket): Store {
  const dispatcher = new Agent({ connect: { timeout: 5_000 }, headersTimeout: 30_000, bodyTimeout: 30_000 })
  const base = `${endpoint.replace(/\/+$/, '')}/${bucket}`

  async function send(
    method: 'GET' | 'PUT' | 'DELETE',
    key: string,
    { headers = {}, body, signal }: S3RequestOptions = {},
  ) {
    const signed = await new AwsV4Signer({
      method,
      url: `${base}/${encodeURIComponent(key)}`,
      headers,
      service: 's3',
      region,
      accessKeyId: access_key_id,
      secretAccessKey: secret_access_key,
    }).sign()
    const sent = request(signed.url, {
      method,
      headers: Object.fromEntries(signed.headers),
      dispatcher,
      ...(body ? { body } : {}),
      ...(signal ? { signal } : {}),
    })
    return sent.catch((cause: NodeJS.ErrnoException) => {
      if (signal?.aborted) throw cause
      throw new StoreUnavailableError(`the bucket does not answer: ${cause.message || cause.code}`, { cause })
    })
  }

  return {
    put: (key, source, options) =>
      consumeSource(source, async () => {
        const name = join(tmpdir(), `parley-${randomUUID()}`)
        const file = await open(name, 'wx+', 0o600)
        try {
          await rm(name)
          const size = await spool(file, source, options)
          const response = await send('PUT', key, {
            headers: { 'content-type': options.mime_type, 'content-length': String(size) },
            signal: options.signal,
            ...(size > 0 ? { body: file.createReadStream({ start: 0, autoClose: false }) } : {}),
          })
          if (response.statusCode !== 200) await requireFound(response, 'PUT')
          else await response.body.dump()
          return { size_bytes: size }
        } finally {
          await file.close()
        }
      }),

    async get(key, range) {
      const response = await send('GET', key, { headers: range ? { range: `bytes=${range.start}-${range.end}` } : {} })
      if (response.statusCode !== (range ? 206 : 200)) return requireFound(response, 'GET')
      const total = range ? String(response.headers['content-range']).split('/')[1] : response.headers['content-length']
      return { bytes: response.body, size_bytes: Number(total) }
    },

    async delete(key) {
      const response = await send('DELETE', key)
      if (response.statusCode !== 204) await requireFound(response, 'DELETE')
      else await response.body.dump()
    },
  }
}

/** Returns undefined for a missing object. Any other failure throws with the error code of S3. */
async function requireFound({ statusCode, body }: Dispatcher.ResponseData, method: string): Promise<undefined> {
  const [, code = ''] = /<Code>(\w+)<\/Code>/.exec(await body.text()) ?? []
  if (statusCode === 404 && method !== 'PUT' && code !== 'NoSuchBucket') return undefined
  const message = `S3 answered ${method} with ${statusCode} ${code}`.trim()
  // A 5xx passes. Anything else is for the operator to fix.
  throw statusCode >= 500 ? new StoreUnavailableError(message) : new Error(message)
}
