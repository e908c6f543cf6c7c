/**
 * The numbers of a file, to find those that occur twice. A hash table in typed arrays: a million numbers take 25 MB, a fraction of what
 * a `Map` of texts would take.
 */
import { randomInt } from 'node:crypto'

const firstBits = 12

type NumberTable = {
  /** Returns the line of an earlier row with this number, or 0, and remembers the number. `identity`: a plus and digits. */
  add(identity: string, line: number): number
}

export function createNumberTable(): NumberTable {
  let bits = firstBits
  let keys = new Float64Array(1 << bits)
  let lines = new Int32Array(1 << bits)
  let count = 0
  // Random odd factors, so that no file can be written whose numbers all collide.
  const [lowFactor, highFactor] = [oddFactor(), oddFactor()]

  const indexOf = (key: number): number => {
    const mask = keys.length - 1
    const mixed = Math.imul(key >>> 0, lowFactor) + Math.imul(Math.floor(key / 2 ** 32), highFactor)
    let index = (mixed | 0) >>> (32 - bits)
    while (keys[index] !== 0 && keys[index] !== key) index = (index + 1) & mask
    return index
  }

  const grow = (): void => {
    const [oldKeys, oldLines] = [keys, lines]
    bits++
    keys = new Float64Array(1 << bits)
    lines = new Int32Array(1 << bits)
    oldKeys.forEach((key, i) => {
      if (key === 0) return
      const index = indexOf(key)
      keys[index] = key
      lines[index] = oldLines[i] ?? 0
    })
    // Frees their memory at once: it is not in the heap, so a collection may be far off.
    oldKeys.buffer.transfer(0)
    oldLines.buffer.transfer(0)
  }

  return {
    add(identity, line) {
      // At most 15 digits, so the number is exact.
      const key = Number(identity)
      const index = indexOf(key)
      if (keys[index] !== 0) return lines[index] ?? 0
      keys[index] = key
      lines[index] = line
      if (++count * 2 > keys.length) grow()
      return 0
    },
  }
}

const oddFactor = (): number => randomInt(2 ** 31) * 2 + 1
