/**
 * Which messages were accepted, and where in the journal they are.
 *
 * Some twenty bytes a message are held in memory, its body is not: a million
 * messages cost 20 MB. The place in this list is the message's `seq`.
 */
import { hash } from '../wire/ids.ts'
import type { Journal, Place } from './journal.ts'

export type Sent = {
  readonly size: number
  /** `key`: the recipient as `keyOf` and `waIdOf` give it. Returns the `seq`. */
  add(workspaceId: string, key: string, offset: number, length: number): number
  placeOf(seq: number): Place
  /** The journal's lines of those that match, in order, a few hundred at a time. */
  lines(
    journal: Journal,
    filter: { keys: readonly string[] | undefined; workspaceId: string | undefined },
  ): Iterable<string[]>
}

const batchBytes = 1024 * 1024

export function createSent(): Sent {
  let size = 0
  let offsets = new Float64Array(1024)
  let lengths = new Uint32Array(1024)
  let keyHashes = new Uint32Array(1024)
  let workspaces = new Uint16Array(1024)
  const workspaceNumbers = new Map<string, number>()

  function grow() {
    const wider = size * 2
    const copy = <Kind extends { set(from: Kind): void }>(into: Kind, from: Kind) => {
      into.set(from)
      return into
    }
    offsets = copy(new Float64Array(wider), offsets)
    lengths = copy(new Uint32Array(wider), lengths)
    keyHashes = copy(new Uint32Array(wider), keyHashes)
    workspaces = copy(new Uint16Array(wider), workspaces)
  }

  return {
    get size() {
      return size
    },
    add(workspaceId, key, offset, length) {
      if (size === offsets.length) grow()
      let workspace = workspaceNumbers.get(workspaceId)
      if (workspace === undefined) {
        workspace = workspaceNumbers.size
        workspaceNumbers.set(workspaceId, workspace)
      }
      offsets[size] = offset
      lengths[size] = length
      keyHashes[size] = hash(key)
      workspaces[size] = workspace
      return size++
    },
    placeOf: (seq) => ({ offset: offsets[seq] ?? 0, length: lengths[seq] ?? 0 }),
    *lines(journal, { keys, workspaceId }) {
      const workspace = workspaceId === undefined ? undefined : workspaceNumbers.get(workspaceId)
      if (workspaceId !== undefined && workspace === undefined) return
      const wanted = keys?.map((key) => hash(key))
      let batch: string[] = []
      let bytes = 0
      const upTo = size
      for (let seq = 0; seq < upTo; seq++) {
        if (workspace !== undefined && workspaces[seq] !== workspace) continue
        if (wanted && !wanted.includes(keyHashes[seq] ?? 0)) continue
        const length = lengths[seq] ?? 0
        batch.push(journal.read({ offset: offsets[seq] ?? 0, length }))
        bytes += length
        if (bytes < batchBytes) continue
        yield batch
        batch = []
        bytes = 0
      }
      yield batch
    },
  }
}
