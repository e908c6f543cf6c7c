/** Times of the lists behind figures: in the time zone of the report, because figures count its days. */
export type FormatTime = (at: string) => string

export function formatIn(timeZone: string): FormatTime {
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short', timeZone })
  return (at) => format.format(new Date(at))
}

/** Zones have several names: the browser chooses one. */
const nameOf = (timeZone?: string): string =>
  new Intl.DateTimeFormat(undefined, { timeZone }).resolvedOptions().timeZone

export const isZoneOfBrowser = (timeZone: string): boolean => nameOf(timeZone) === nameOf()
