/**
 * Index of the accepted messages: each one's position in the journal.
 *
 * The index holds about 20 bytes per message and no body, so a million
 * messages cost 20 MB. A message's index in this list is its `seq`.
 */
import { hash } from '../wire/ids.ts'
import type { Journal, JournalPosition } from './journal.ts'

export type SentMessages = ReturnType<typeof createSentMessages>

type Filter = { keys: readonly string[] | undefined; workspaceId: string | undefined }

const batchBytes = 1024 * 1024

export function createSentMessages() {
  let size = 0
  let offsets = new Float64Array(1024)
  let lengths = new Uint32Array(1024)
  let keyHashes = new Uint32Array(1024)
  let workspaces = new Uint16Array(1024)
  const workspaceNumbers = new Map<string, number>()

  function grow() {
    const capacity = size * 2
    const copy = <Kind extends { set(from: Kind): void }>(into: Kind, from: Kind) => {
      into.set(from)
      return into
    }
    offsets = copy(new Float64Array(capacity), offsets)
    lengths = copy(new Uint32Array(capacity), lengths)
    keyHashes = copy(new Uint32Array(capacity), keyHashes)
    workspaces = copy(new Uint16Array(capacity), workspaces)
  }

  return {
    get size() {
      return size
    },
    /** `key` is the recipient as `keyOf` and `waIdOf` return it. Returns the `seq`. */
    add(workspaceId: string, key: string, offset: number, length: number): number {
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
    positionOf: (seq: number): JournalPosition => ({ offset: offsets[seq] ?? 0, length: lengths[seq] ?? 0 }),
    /**
     * Reads the journal lines of matching messages in order, about 1 MiB at a time. Keys are compared by hash, so the
     * caller must check the recipient in the line.
     */
    *lines(journal: Journal, { keys, workspaceId }: Filter): Iterable<string[]> {
      const workspace = workspaceId === undefined ? undefined : workspaceNumbers.get(workspaceId)
      if (workspaceId !== undefined && workspace === undefined) return
      const wantedHashes = keys?.map((key) => hash(key))
      let batch: string[] = []
      let bytes = 0
      const upTo = size
      for (let seq = 0; seq < upTo; seq++) {
        if (workspace !== undefined && workspaces[seq] !== workspace) continue
        if (wantedHashes && !wantedHashes.includes(keyHashes[seq] ?? 0)) continue
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
