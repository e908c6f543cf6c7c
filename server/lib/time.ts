import { setImmediate as yieldToEventLoop } from 'node:timers/promises'

/** PostgreSQL has no year 0, and an offset can lead beyond four-digit years. Also false for NaN. */
export function isWithinCalendar(time: number): boolean {
  return time >= Date.parse('0001-01-01T00:00:00Z') && time <= Date.parse('9999-12-31T23:59:59.999Z')
}

const dateTime = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d)$/

/** Parses a date-time with an offset, to milliseconds. Refuses days that do not exist: `Date` would move 30 February to March. */
export function parseTime(text: string): number | undefined {
  const [whole, year, month, day] = dateTime.exec(text) ?? []
  if (!whole || new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() !== Number(day)) return
  const time = Date.parse(whole)
  return isWithinCalendar(time) ? time : undefined
}

/** The value of the promise, or undefined if it does not settle in time. */
export async function within<Value>(timeoutMs: number, promise: Promise<Value>): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), timeoutMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** The longest time before the event loop may run other work. */
const sliceMs = 10

/** Returns a function to await between the steps of long work: it lets other work run when the steps have taken `sliceMs`. */
export function createYielder(): () => Promise<void> | undefined {
  let sliceStart = performance.now()
  const yieldNow = async () => {
    await yieldToEventLoop()
    sliceStart = performance.now()
  }
  return () => (performance.now() - sliceStart > sliceMs ? yieldNow() : undefined)
}
