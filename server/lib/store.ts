/**
 * The contract of an object store: a folder (`store-folder.ts`) or a bucket that speaks S3 (`store-s3.ts`).
 *
 * Writes are atomic: a put that fails at any point leaves the previous object in place. A second put under a key replaces the
 * first.
 */
import type { Readable } from 'node:stream'
import type { SpoolOptions } from './store-spool.ts'

export type Store = {
  /**
   * Stores a stream. Throws a `TooLargeError` above `maxBytes`, a `BrokenSourceError` when the stream fails, and any other
   * error when the store fails or `signal` is aborted. Every call throws a `StoreUnavailableError` during an outage of the store. The stream is always read to its end or destroyed.
   */
  put(key: string, source: Readable, options: SpoolOptions & { mime_type: string }): Promise<{ size_bytes: number }>
  /**
   * The bytes of an object, or of a range within it; `size_bytes` is the size of the whole object. The caller reads the
   * stream to its end or destroys it. Undefined: there is no such object.
   */
  get(key: string, range?: ByteRange): Promise<{ bytes: Readable; size_bytes: number } | undefined>
  /** Deletes an object. A missing object is not an error. */
  delete(key: string): Promise<void>
}

/** Both ends are included. */
export type ByteRange = { start: number; end: number }

/** The store does not answer, or says that it cannot serve requests now. `cause` is the error of the connection. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError'
}
