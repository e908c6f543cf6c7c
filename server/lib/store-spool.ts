/**
 * Spooling: writes a stream of unknown length to an open file, up to a limit.
 *
 * The caller reacts differently to each kind of failure, so each has its own error: the source is too large
 * (`TooLargeError`), the source failed (`BrokenSourceError`), or writing failed (any other error).
 */
import type { FileHandle } from 'node:fs/promises'
import { addAbortSignal, type Readable } from 'node:stream'

export class TooLargeError extends Error {
  constructor(maxBytes: number) {
    super(`over ${maxBytes} bytes`)
    this.name = 'TooLargeError'
  }
}

/** The source failed before its end; `cause` is its error. */
export class BrokenSourceError extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : 'the source failed', { cause })
    this.name = 'BrokenSourceError'
  }
}

export type SpoolOptions = { maxBytes: number; signal?: AbortSignal | undefined }

/** Writes the source to the file and returns its size in bytes. Aborting destroys the source. */
export async function spool(file: FileHandle, source: Readable, { maxBytes, signal }: SpoolOptions): Promise<number> {
  if (signal) addAbortSignal(signal, source)
  let size = 0
  async function* bounded(): AsyncGenerator<Buffer> {
    const chunks: AsyncIterator<Buffer> = source[Symbol.asyncIterator]()
    try {
      for (;;) {
        const next = await chunks.next().catch((error: unknown) => {
          throw new BrokenSourceError(error)
        })
        if (next.done) return
        size += next.value.length
        if (size > maxBytes) throw new TooLargeError(maxBytes)
        yield next.value
      }
    } finally {
      source.destroy()
    }
  }
  await file.writeFile(bounded())
  return size
}

/** Destroys the source when `run` ends. An error that the source emits before it is read does not crash the process. */
export async function consumeSource<Value>(source: Readable, run: () => Promise<Value>): Promise<Value> {
  source.on('error', () => {})
  try {
    return await run()
  } finally {
    source.destroy()
  }
}
