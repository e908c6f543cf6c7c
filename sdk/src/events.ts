/**
 * What a webhook delivers, and a stream: one of four events.
 *
 * Events can come twice and in any order: act once for each `id`. `data` may
 * get further keys; a name of an event you do not know is one to ignore.
 */
import type { Event } from './types.ts'

export type WebhookEvent = Event

export function isEvent(value: unknown): value is WebhookEvent {
  if (typeof value !== 'object' || value === null) return false
  const { id, event, data } = value as Record<string, unknown>
  return typeof id === 'string' && typeof event === 'string' && typeof data === 'object' && data !== null
}
