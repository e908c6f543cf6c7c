/**
 * The messaging window: how long after the customer's last message free-form messages may be sent. It runs by the channel's
 * clock. Some channels give members a longer window than programs.
 */
import type { Channel } from '../channels/channel.ts'

export type Window = {
  /** Null when the channel has no window or the customer has not written yet. */
  window_closes_at: string | null
  /** The window for members. Null as above, and when it is the same for programs. */
  late_window_closes_at: string | null
}

export function windowOf(
  { windowMs, lateWindowMs }: Pick<Channel, 'windowMs' | 'lateWindowMs'>,
  windowFrom: string | null,
): Window {
  const after = (ms: number | null) =>
    ms === null || windowFrom === null ? null : new Date(Date.parse(windowFrom) + ms).toISOString()
  return { window_closes_at: after(windowMs), late_window_closes_at: after(lateWindowMs) }
}
