/**
 * A stream of unknown length into an open file, within a limit.
 *
 * Whose fault a failure is decides what happens next, so it is told apart: the
 * source is too large, the source broke, or, as any other error, our own side
 * could not keep it.
 */
import type { FileHandle } from 'node:fs/promises'
import { addAbortSignal, type Readable } from 'node:stream'

export class TooLargeError extends Error {
  constructor(maxBytes: number) {
    super(`over ${maxBytes} bytes`)
    this.name = 'TooLargeError'
  }
}

/** The source ended before its end; `cause` says why. */
export class BrokenSourceError extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : 'the source broke', { cause })
    this.name = 'BrokenSourceError'
  }
}

export type Spooling = { maxBytes: number; signal?: AbortSignal | undefined }

/** Write all of it, and answer how much it was. Aborting breaks the source. */
export async function spool(file: FileHandle, source: Readable, { maxBytes, signal }: Spooling): Promise<number> {
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

/** From here to the end the source is ours: it never outlives `take`, and an early error of it waits for its reader. */
export async function owning<Value>(source: Readable, take: () => Promise<Value>): Promise<Value> {
  source.on('error', () => {})
  try {
    return await take()
  } finally {
    source.destroy()
  }
}
