/** Durations of reports. They are compared, so they are rounded and not cut: 351 s are 5 min 51 s. */
import { words } from '../words/words.ts'

const { days, hours, minutes, seconds: secondsOf } = words.time
const units = [
  { size: 86_400, name: days },
  { size: 3_600, name: hours },
  { size: 60, name: minutes },
  { size: 1, name: secondsOf },
]

/** The largest unit that fits, and the next smaller one. */
function unitsOf(seconds: number) {
  const at = units.findIndex(({ size }) => seconds >= size)
  return { unit: units[at] ?? { size: 1, name: secondsOf }, smaller: at < 0 ? undefined : units[at + 1] }
}

/** The two largest units. */
export function formatSeconds(seconds: number): string {
  const step = unitsOf(seconds).smaller?.size ?? 1
  const total = Math.round(seconds / step) * step
  const { unit, smaller } = unitsOf(total)
  const first = unit.name(Math.floor(total / unit.size))
  const rest = smaller ? Math.floor((total % unit.size) / smaller.size) : 0
  return smaller && rest > 0 ? `${first} ${smaller.name(rest)}` : first
}
