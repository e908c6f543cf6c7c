/**
 * Until when a customer may be written to freely: some channels close a while
 * after the customer's last message, by the channel's clock, and some of those
 * let a person answer longer than a program.
 */
import type { Channel } from '../channels/channel.ts'

export type Window = {
  /** Null: the channel never closes, or the customer never wrote. */
  window_closes_at: string | null
  /** For what a person writes; null: as above, or the channel makes no difference. */
  late_window_closes_at: string | null
}

export function windowOf(
  { windowMs, lateWindowMs }: Pick<Channel, 'windowMs' | 'lateWindowMs'>,
  lastInboundAt: string | null,
): Window {
  const after = (ms: number | null) =>
    ms === null || lastInboundAt === null ? null : new Date(Date.parse(lastInboundAt) + ms).toISOString()
  return { window_closes_at: after(windowMs), late_window_closes_at: after(lateWindowMs) }
}
