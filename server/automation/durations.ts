/** Durations of a definition: a whole number and one unit, such as `10s`, `5m`, `2h` or `3d`. Pure. */
import type { Duration } from './definition.ts'

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Seven digits: 90 days are 7,776,000 seconds. */
export const durationPattern = /^([1-9]\d{0,6})([smhd])$/

export type DurationRange = { min: Duration; max: Duration }

/** The ranges of the fields. */
export const durationRanges = {
  wait: { min: '10s', max: '90d' },
  silence: { min: '1m', max: '30d' },
  beforeBreach: { min: '1m', max: '30d' },
  timeout: { min: '1m', max: '30d' },
  snooze: { min: '1m', max: '90d' },
} as const satisfies Record<string, DurationRange>

/** The milliseconds of a duration; NaN for any other text. */
export function toMs(duration: Duration): number {
  const [, count, unit] = durationPattern.exec(duration) ?? []
  return count ? Number(count) * unitMs[unit as keyof typeof unitMs] : Number.NaN
}

/** The error of a duration that is malformed or out of range. */
export function findDurationFault(duration: Duration, { min, max }: DurationRange): string | undefined {
  const ms = toMs(duration)
  if (Number.isNaN(ms)) return 'must be a whole number and a unit, such as 30s, 5m, 2h or 3d'
  return ms < toMs(min) || ms > toMs(max) ? `must be ${min} to ${max}` : undefined
}
