/**
 * The offsets of a time zone from UTC, by `Intl`.
 *
 * A zone has few offsets a year. The first question about a year asks `Intl` once for each of its days (0.5 ms) and finds the
 * second of each change; the answers stay in memory.
 */

/** From this instant on, until the next stretch, the local clock is `offsetMs` ahead of UTC. */
type Stretch = { fromMs: number; offsetMs: number }

export const dayMs = 86_400_000

/** A year of a zone takes about 300 bytes. */
const maxYears = 5_000

const years = new Map<string, readonly Stretch[]>()
const formats = new Map<string, Intl.DateTimeFormat>()

/** The parts of a span with one offset each, in order. They cover the span without gaps. */
export function* stretchesOf(
  zone: string,
  fromMs: number,
  toMs: number,
): Generator<{ fromMs: number; toMs: number; offsetMs: number }> {
  for (let start = fromMs, year = yearOf(fromMs); start < toMs; year++) {
    const stretches = offsetsOf(zone, year)
    for (const [i, { offsetMs }] of stretches.entries()) {
      const end = Math.min(toMs, stretches[i + 1]?.fromMs ?? startOfYear(year + 1))
      if (end <= start) continue
      yield { fromMs: start, toMs: end, offsetMs }
      start = end
      if (start >= toMs) return
    }
  }
}

const yearOf = (atMs: number): number => new Date(atMs).getUTCFullYear()
const startOfYear = (year: number): number => Date.UTC(year, 0, 1)

function offsetsOf(zone: string, year: number): readonly Stretch[] {
  const key = `${year} ${zone}`
  const known = years.get(key)
  if (known) return known
  if (years.size >= maxYears) years.clear()
  const stretches = readOffsets(zone, year)
  years.set(key, stretches)
  return stretches
}

function readOffsets(zone: string, year: number): Stretch[] {
  const end = startOfYear(year + 1)
  let before = startOfYear(year)
  let offsetMs = readOffset(zone, before)
  const stretches = [{ fromMs: before, offsetMs }]
  for (let day = before + dayMs; day <= end; day += dayMs) {
    const next = readOffset(zone, day)
    if (next !== offsetMs) {
      const fromMs = findChange(zone, before, day)
      if (fromMs < end) stretches.push({ fromMs, offsetMs: next })
      offsetMs = next
    }
    before = day
  }
  return stretches
}

/** The first second in a span of one change whose offset is that at its end. */
function findChange(zone: string, fromMs: number, toMs: number): number {
  const after = readOffset(zone, toMs)
  let [low, high] = [fromMs / 1_000, toMs / 1_000]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (readOffset(zone, middle * 1_000) === after) high = middle
    else low = middle
  }
  return high * 1_000
}

/** Of a whole second. */
function readOffset(zone: string, atMs: number): number {
  let format = formats.get(zone)
  if (!format) {
    const fields = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', ...fields, second: 'numeric' })
    formats.set(zone, format)
  }
  const [month = 1, day = 1, year = 1970, hour = 0, minute = 0, second = 0] = format
    .format(atMs)
    .split(/\D+/)
    .map(Number)
  return Date.UTC(year, month - 1, day, hour, minute, second) - atMs
}
