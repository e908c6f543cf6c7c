/**
 * The journal: one file of JSON lines, appended to and never rewritten.
 *
 * `append` calls back when the line is in the file, so that whoever answers
 * afterwards can be killed at any time. Lines that wait go in one write: while
 * one is under way the next gathers.
 *
 * Kinds of lines (`k`): `m` a message that was accepted, `s` status reports
 * that were taken (`seq * 8 + step`), `i` a callback to be posted until it is
 * taken (a customer's message has its bubble with it), `x` callbacks that were
 * taken, `t` a template made or deleted, `o` an object set or deleted, `u` a file. A line that was torn by
 * the end of the process was never answered for, and is cut off at the next
 * start.
 */
import { closeSync, fsyncSync, ftruncateSync, openSync, readSync, write } from 'node:fs'
import type { Log } from '../simulator.ts'

export type Place = { offset: number; length: number }

type Written = (offset: number, length: number) => void

/** A line as it lies in `bytes`, and its offset in the file. */
export type Replay = (bytes: Buffer, from: number, to: number, offset: number) => void

export type Journal = {
  /** `line` without its newline; it must not hold one. */
  append(line: string, written?: Written): void
  /** Whether a new message may be accepted. What follows from accepted ones is written in any case. */
  hasRoom(): boolean
  read(place: Place): string
  stop(): Promise<void>
}

export const journalFull = (maxBytes: number) => `the simulator's journal is full (${maxBytes} bytes)`

const chunkBytes = 4 * 1024 * 1024

/** Open the file, give every line of it to `replay`, in order, and go on after the last. */
export function openJournal(path: string, maxBytes: number, log: Log, replay: Replay): Journal {
  const fd = openSync(path, 'a+', 0o600)
  let end = replayAll(fd, replay)
  ftruncateSync(fd, end)

  let lines: string[] = []
  let waiting: { written: Written; offset: number; length: number }[] = []
  let scheduled = false
  let writing = false
  let stopped: (() => void) | undefined
  /** Nothing can be written any more: closed, or the disk is full. Who waits is never answered. */
  let ended = false
  let isFullLogged = false

  function flush() {
    scheduled = false
    if (writing || lines.length === 0) return
    writing = true
    const bytes = Buffer.from(lines.join(''))
    const told = waiting
    lines = []
    waiting = []
    writeAll(fd, bytes, 0, (error) => {
      writing = false
      if (error) {
        ended = true
        lines = []
        log.error({ err: error, path }, 'the simulator cannot write its journal; it accepts nothing any more')
      } else for (const { written, offset, length } of told) written(offset, length)
      if (lines.length > 0) flush()
      else stopped?.()
    })
  }

  return {
    append(line, written) {
      if (ended) return
      const length = Buffer.byteLength(line)
      if (written) waiting.push({ written, offset: end, length })
      lines.push(line, '\n')
      end += length + 1
      if (scheduled || writing) return
      scheduled = true
      setImmediate(flush)
    },
    hasRoom() {
      const hasRoom = end < maxBytes
      if (!hasRoom && !isFullLogged) {
        isFullLogged = true
        log.warn({ path, bytes: end }, `${journalFull(maxBytes)}: stop it and delete the file to go on`)
      }
      return hasRoom
    },
    read({ offset, length }) {
      const bytes = Buffer.allocUnsafe(length)
      readSync(fd, bytes, 0, length, offset)
      return bytes.toString('utf8')
    },
    async stop() {
      if (writing || lines.length > 0) {
        await new Promise<void>((resolve) => {
          stopped = resolve
          flush()
        })
      }
      ended = true
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

/** Returns the offset after the last whole line. */
function replayAll(fd: number, replay: Replay): number {
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
