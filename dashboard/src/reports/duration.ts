/** Durations of reports. They are compared, so they are rounded and not cut: 351 s are 5 min 51 s. */
import { words } from '../words/words.ts'

const { days, hours, minutes, seconds: secondsOf } = words.time
const units = [
  { size: 86_400, name: days },
  { size: 3_600, name: hours },
  { size: 60, name: minutes },
  { size: 1, name: secondsOf },
]

/** The two largest units. */
export function formatSeconds(seconds: number): string {
  const largest = units.findIndex(({ size }, i) => seconds >= size || i === units.length - 1)
  const smaller = units[largest + 1]
  const total = Math.round(seconds / (smaller?.size ?? 1)) * (smaller?.size ?? 1)
  const { size, name } = units.find((unit) => total >= unit.size) ?? { size: 1, name: secondsOf }
  const rest = smaller && smaller.size < size ? Math.round((total % size) / smaller.size) : 0
  return rest > 0 && smaller
    ? `${name(Math.floor(total / size))} ${smaller.name(rest)}`
    : name(Math.floor(total / size))
}
