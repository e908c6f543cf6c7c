/** The body of a request that is a file: checked by its headers and streamed as it arrives. */
import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import { badRequest } from '../errors.ts'
import type { App } from './server.ts'

/** 16 MiB at 0.25 Mbit/s. */
export const uploadTimeoutMs = 10 * 60_000

/** Accepts any content type in this plugin and leaves the body unread. */
export function leaveBodyUnread(app: App): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
}

/** Passes the file to `store`. 400 when the file is declared too large or is compressed. */
export async function takeFile<Result>(
  raw: IncomingMessage,
  maxBytes: number,
  store: (bytes: Readable) => Promise<Result>,
): Promise<Result> {
  const { headers } = raw
  if (Number(headers['content-length'] ?? 0) > maxBytes) {
    throw badRequest(`body: a file may have at most ${maxBytes / 1024 / 1024} MiB`)
  }
  // The body is stored as it arrives.
  if (!/^(identity)?$/i.test(headers['content-encoding'] ?? '')) {
    throw badRequest('content-encoding: the body must not be compressed')
  }
  const bytes = toStream(raw)
  try {
    return await store(bytes)
  } finally {
    bytes.destroy()
  }
}

/** The body as a separate stream. Destroying it early discards the rest of the body and keeps the connection usable. */
function toStream(raw: IncomingMessage): Readable {
  const bytes = new PassThrough()
  const onLost = () => {
    if (!raw.complete) bytes.destroy(new Error('the connection was lost'))
  }
  bytes.on('error', () => {})
  bytes.once('close', () => {
    raw.unpipe(bytes)
    raw.resume()
  })
  raw.once('error', onLost)
  raw.once('close', onLost)
  raw.pipe(bytes)
  return bytes
}
