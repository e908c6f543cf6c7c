/** Formats a time as the value of a `datetime-local` input: local time, to the minute, without a zone. */
export function toDatetimeLocal(ms: number): string {
  const offsetMs = new Date(ms).getTimezoneOffset() * 60_000
  return new Date(ms - offsetMs).toISOString().slice(0, 16)
}
