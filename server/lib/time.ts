/** PostgreSQL knows no year 0, and an offset can lead out of the years of four digits. Also false for what is no time at all. */
export function isWithinCalendar(time: number): boolean {
  return time >= Date.parse('0001-01-01T00:00:00Z') && time <= Date.parse('9999-12-31T23:59:59.999Z')
}

const dateTime = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d)$/

/** A date-time with its offset in milliseconds, or undefined. The 30th of February would parse, but to another day. */
export function parseTime(text: string): number | undefined {
  const [whole, year, month, day] = dateTime.exec(text) ?? []
  if (!whole || new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() !== Number(day)) return
  const time = Date.parse(whole)
  return isWithinCalendar(time) ? time : undefined
}

/** The answer, or undefined when it does not come within the time. */
export async function within<Value>(milliseconds: number, answer: Promise<Value>): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
