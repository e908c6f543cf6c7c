/**
 * A bucket of whatever speaks S3: Amazon's, MinIO, R2, and the rest.
 *
 * Addressed by path (`endpoint/bucket/key`), which all of them understand. S3
 * wants to know a length before the first byte, and the streams we are given
 * do not tell, so a stream goes to a temporary file first; by then it is known
 * to be whole and within its limit, and S3 shows no object before it has all.
 * The file loses its name as soon as it is open: no crash leaves it behind.
 */
import { randomUUID } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { AwsV4Signer } from 'aws4fetch'
import { Agent, type Dispatcher, request } from 'undici'
import type { Store } from './store.ts'
import { owning, spool } from './store-spool.ts'

export type S3Place = {
  /** `https://s3.eu-central-1.amazonaws.com`; a path behind the host is kept. */
  endpoint: string
  region: string
  bucket: string
  access_key_id: string
  secret_access_key: string
}

type Asking = {
  headers?: Record<string, string>
  body?: Readable
  signal?: AbortSignal | undefined
}

export function createS3Store({ endpoint, region, bucket, access_key_id, secret_access_key }: S3Place): Store {
  const dispatcher = new Agent({ connect: { timeout: 5_000 }, headersTimeout: 30_000, bodyTimeout: 30_000 })
  const base = `${endpoint.replace(/\/+$/, '')}/${bucket}`

  async function ask(method: 'GET' | 'PUT' | 'DELETE', key: string, { headers = {}, body, signal }: Asking = {}) {
    const signed = await new AwsV4Signer({
      method,
      url: `${base}/${encodeURIComponent(key)}`,
      headers,
      service: 's3',
      region,
      accessKeyId: access_key_id,
      secretAccessKey: secret_access_key,
    }).sign()
    return request(signed.url, {
      method,
      headers: Object.fromEntries(signed.headers),
      dispatcher,
      ...(body ? { body } : {}),
      ...(signal ? { signal } : {}),
    })
  }

  return {
    put: (key, source, options) =>
      owning(source, async () => {
        const name = join(tmpdir(), `parley-${randomUUID()}`)
        const file = await open(name, 'wx+', 0o600)
        try {
          await rm(name)
          const size = await spool(file, source, options)
          const answer = await ask('PUT', key, {
            headers: { 'content-type': options.mime_type, 'content-length': String(size) },
            signal: options.signal,
            ...(size > 0 ? { body: file.createReadStream({ start: 0, autoClose: false }) } : {}),
          })
          if (answer.statusCode !== 200) await acceptMissing(answer, 'PUT')
          else await answer.body.dump()
          return { size_bytes: size }
        } finally {
          await file.close()
        }
      }),

    async get(key, range) {
      const answer = await ask('GET', key, { headers: range ? { range: `bytes=${range.start}-${range.end}` } : {} })
      if (answer.statusCode !== (range ? 206 : 200)) return acceptMissing(answer, 'GET')
      const total = range ? String(answer.headers['content-range']).split('/')[1] : answer.headers['content-length']
      return { bytes: answer.body, size_bytes: Number(total) }
    },

    async delete(key) {
      const answer = await ask('DELETE', key)
      if (answer.statusCode !== 204) await acceptMissing(answer, 'DELETE')
      else await answer.body.dump()
    },
  }
}

/** That the object is not there is an answer; anything else is the operator's to mend, in the words of S3. */
async function acceptMissing({ statusCode, body }: Dispatcher.ResponseData, method: string): Promise<undefined> {
  const [, code = ''] = /<Code>(\w+)<\/Code>/.exec(await body.text()) ?? []
  if (statusCode === 404 && method !== 'PUT' && code !== 'NoSuchBucket') return undefined
  throw new Error(`S3 answered ${method} with ${statusCode} ${code}`.trim())
}
