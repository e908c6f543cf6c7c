/** The times that the snooze dialog offers, by the clock of the browser. */
export type SnoozeChoice = { key: 'laterToday' | 'tomorrow' | 'nextWeek'; at: Date }

const laterHours = 3
const morningHour = 9

export function listSnoozeChoices(now: Date): SnoozeChoice[] {
  const later = new Date(now.getTime() + laterHours * 3_600_000)
  later.setMinutes(later.getMinutes() < 30 ? 30 : 60, 0, 0)
  const isToday = later.toDateString() === now.toDateString()
  const daysToMonday = (8 - now.getDay()) % 7 || 7
  return [
    ...(isToday ? [{ key: 'laterToday' as const, at: later }] : []),
    { key: 'tomorrow', at: morningIn(now, 1) },
    { key: 'nextWeek', at: morningIn(now, daysToMonday) },
  ]
}

function morningIn(now: Date, days: number): Date {
  const at = new Date(now)
  at.setDate(at.getDate() + days)
  at.setHours(morningHour, 0, 0, 0)
  return at
}
