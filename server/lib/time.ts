/** PostgreSQL knows no year 0, and an offset can lead out of the years of four digits. Also false for what is no time at all. */
export function isWithinCalendar(time: number): boolean {
  return time >= Date.parse('0001-01-01T00:00:00Z') && time <= Date.parse('9999-12-31T23:59:59.999Z')
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
