/**
 * The journal: an append-only file of JSON lines.
 *
 * `append` calls back when the file contains the line. A caller that answers
 * after that loses nothing when the process is killed. Lines that arrive
 * during a write are joined into the next one.
 *
 * The field `k` is the kind of a line:
 *
 *   m  a message that the simulator accepted
 *   s  status reports that the service accepted, as `seq * 8 + step`
 *   i  a callback to post until the service accepts it, with the bubble of a customer's message
 *   x  callbacks that the service accepted
 *   t  a template that was created or deleted
 *   o  an object that was set or deleted
 *   u  a file that was stored or deleted
 *   c  a connection that takes over the lines of its workspace and channel without one
 *
 * `n` is the connection and `a` the provider account that a line belongs to.
 * Lines of earlier versions, and of accounts that were registered without a
 * connection, have neither.
 *
 * A last line without a newline was interrupted by a crash. Its caller got no
 * answer, so the next start cuts it off.
 */
import { closeSync, fsyncSync, ftruncateSync, openSync, readSync, write } from 'node:fs'
import type { Log } from './log.ts'

export type JournalPosition = { offset: number; length: number }

type OnWritten = (offset: number, length: number) => void

/** Handles the line at `from` to `to` of `bytes`; `offset` is its position in the file. */
export type ReplayLine = (bytes: Buffer, from: number, to: number, offset: number) => void

export type Journal = {
  /** `line` has no newline. `onWritten` is not called when the write fails or the journal is closed. */
  append(line: string, onWritten?: OnWritten): void
  /** Resolves when the file contains the line. */
  record(line: string): Promise<void>
  /** Whether a new message may be accepted. Lines about accepted messages are written in any case. */
  hasCapacity(): boolean
  read(position: JournalPosition): string
  stop(): Promise<void>
}

export const journalFullMessage = (maxBytes: number) => `the simulator's journal is full (${maxBytes} bytes)`

const chunkBytes = 4 * 1024 * 1024

/** Opens the file, passes its lines to `replay` in order, and appends after the last complete one. */
export function openJournal(path: string, maxBytes: number, log: Log, replay: ReplayLine): Journal {
  const fd = openSync(path, 'a+', 0o600)
  let end = replayAll(fd, replay)
  ftruncateSync(fd, end)

  let lines: string[] = []
  let waiting: { onWritten: OnWritten; offset: number; length: number }[] = []
  let isScheduled = false
  let isWriting = false
  let onDrained: (() => void) | undefined
  /** Closed, or a write failed: no line is written and no waiting caller is answered. */
  let isClosed = false
  let isFullLogged = false

  function flush() {
    isScheduled = false
    if (isWriting || lines.length === 0) return
    isWriting = true
    const bytes = Buffer.from(lines.join(''))
    const batch = waiting
    lines = []
    waiting = []
    writeAll(fd, bytes, 0, (error) => {
      isWriting = false
      if (error) {
        isClosed = true
        lines = []
        log.error({ err: error, path }, 'the simulator cannot write its journal and accepts no more messages')
      } else for (const { onWritten, offset, length } of batch) onWritten(offset, length)
      if (lines.length > 0) flush()
      else onDrained?.()
    })
  }

  function append(line: string, onWritten?: OnWritten) {
    if (isClosed) return
    const length = Buffer.byteLength(line)
    if (onWritten) waiting.push({ onWritten, offset: end, length })
    lines.push(line, '\n')
    end += length + 1
    if (isScheduled || isWriting) return
    isScheduled = true
    setImmediate(flush)
  }

  return {
    append,
    record: (line) => new Promise((resolve) => append(line, () => resolve())),
    hasCapacity() {
      const hasCapacity = end < maxBytes
      if (!hasCapacity && !isFullLogged) {
        isFullLogged = true
        log.warn({ path, bytes: end }, `${journalFullMessage(maxBytes)}; stop the simulator and delete the file`)
      }
      return hasCapacity
    },
    read({ offset, length }) {
      const bytes = Buffer.allocUnsafe(length)
      readSync(fd, bytes, 0, length, offset)
      return bytes.toString('utf8')
    },
    async stop() {
      if (isWriting || lines.length > 0) {
        await new Promise<void>((resolve) => {
          onDrained = resolve
          flush()
        })
      }
      isClosed = true
      fsyncSync(fd)
      closeSync(fd)
    },
  }
}

function writeAll(fd: number, bytes: Buffer, from: number, done: (error: Error | null) => void): void {
  write(fd, bytes, from, bytes.length - from, null, (error, count) => {
    if (error) done(error)
    else if (from + count < bytes.length) writeAll(fd, bytes, from + count, done)
    else done(null)
  })
}

/** Returns the offset after the last complete line. */
function replayAll(fd: number, replay: ReplayLine): number {
  let rest = Buffer.alloc(0)
  let restOffset = 0
  for (;;) {
    const chunk = Buffer.allocUnsafe(chunkBytes)
    const count = readSync(fd, chunk, 0, chunkBytes, restOffset + rest.length)
    if (count === 0) return restOffset
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk.subarray(0, count)]) : chunk.subarray(0, count)
    let from = 0
    for (let newline = bytes.indexOf(10); newline >= 0; newline = bytes.indexOf(10, from)) {
      replay(bytes, from, newline, restOffset + from)
      from = newline + 1
    }
    rest = bytes.subarray(from)
    restOffset += from
  }
}
