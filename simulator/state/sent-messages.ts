/**
 * Index of the accepted messages: each one's position in the journal.
 *
 * The index holds about 20 bytes per message and no body, so a million
 * messages cost 20 MB. A message's index in this list is its `seq`.
 */
import { hash } from '../wire/ids.ts'
import type { AccountState } from './accounts.ts'
import type { Journal, JournalPosition } from './journal.ts'

export type SentMessages = ReturnType<typeof createSentMessages>

type Filter = { keys: readonly string[] | undefined; isWanted: (sender: AccountState) => boolean }

/** A line of the journal, and the number that sent the message. */
type SentLine = { line: string; sender: AccountState }

const batchBytes = 1024 * 1024

export function createSentMessages() {
  let size = 0
  let offsets = new Float64Array(1024)
  let lengths = new Uint32Array(1024)
  let keyHashes = new Uint32Array(1024)
  let senderIndexes = new Uint16Array(1024)
  const senders: AccountState[] = []
  const indexes = new Map<AccountState, number>()

  function grow() {
    const capacity = size * 2
    const copy = <Kind extends { set(from: Kind): void }>(into: Kind, from: Kind) => {
      into.set(from)
      return into
    }
    offsets = copy(new Float64Array(capacity), offsets)
    lengths = copy(new Uint32Array(capacity), lengths)
    keyHashes = copy(new Uint32Array(capacity), keyHashes)
    senderIndexes = copy(new Uint16Array(capacity), senderIndexes)
  }

  return {
    get size() {
      return size
    },
    /** `key` is the recipient as `keyOf` and `waIdOf` return it. Returns the `seq`. */
    add(sender: AccountState, key: string, offset: number, length: number): number {
      if (size === offsets.length) grow()
      let index = indexes.get(sender)
      if (index === undefined) {
        index = senders.push(sender) - 1
        indexes.set(sender, index)
      }
      offsets[size] = offset
      lengths[size] = length
      keyHashes[size] = hash(key)
      senderIndexes[size] = index
      return size++
    },
    positionOf: (seq: number): JournalPosition => ({ offset: offsets[seq] ?? 0, length: lengths[seq] ?? 0 }),
    /**
     * Reads the journal lines of matching messages in order, about 1 MiB at a time. Keys are compared by hash, so the
     * caller must check the recipient in the line.
     */
    *lines(journal: Journal, { keys, isWanted }: Filter): Iterable<SentLine[]> {
      const wantedSenders = senders.map((sender) => (isWanted(sender) ? sender : undefined))
      const wantedHashes = keys?.map((key) => hash(key))
      let batch: SentLine[] = []
      let bytes = 0
      const upTo = size
      for (let seq = 0; seq < upTo; seq++) {
        const sender = wantedSenders[senderIndexes[seq] ?? -1]
        if (!sender) continue
        if (wantedHashes && !wantedHashes.includes(keyHashes[seq] ?? 0)) continue
        const length = lengths[seq] ?? 0
        batch.push({ line: journal.read({ offset: offsets[seq] ?? 0, length }), sender })
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
