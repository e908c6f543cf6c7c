/**
 * The events that webhooks and the event stream deliver.
 *
 * Delivery is at least once and unordered: process each `id` once. Ignore event names and keys of `data` that you do not know;
 * newer versions of the service may add some.
 */
import type { Event } from './types.ts'

export type WebhookEvent = Event

export function isEvent(value: unknown): value is WebhookEvent {
  if (typeof value !== 'object' || value === null) return false
  const { id, event, data } = value as Record<string, unknown>
  return typeof id === 'string' && typeof event === 'string' && typeof data === 'object' && data !== null
}
