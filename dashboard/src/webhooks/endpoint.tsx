/** The parts of an endpoint that several pages show: its state, address, events and last attempt. */

import { Badge, type Tone } from '../../../ui/badge.tsx'
import type { ItemOf } from '../lib/api.ts'
import { RelativeTime } from '../ui/relative-time.tsx'
import { words } from '../words/words.ts'

const { webhooks } = words

export type Endpoint = ItemOf<'GET /webhooks'>
export type EventName = Endpoint['events'][number]

/** In the order in which they are offered. */
export const eventNames = [
  'message.received',
  'message.status_updated',
  'conversation.created',
  'contact.created',
] as const satisfies readonly EventName[]

/** An endpoint is switched off after this many failed events in a row. */
const maxFailures = 15

type LastAttempt = Pick<Endpoint, 'last_attempt_at' | 'last_attempt_http_status' | 'last_attempt_error'>
type Health = Pick<Endpoint, 'is_active' | 'failure_count' | 'last_attempt_error'>
export type EndpointState = keyof typeof webhooks.states

/** An endpoint fails from its first failed attempt on, not only once an event has failed for good. */
export function stateOf({ is_active, failure_count, last_attempt_error }: Health): EndpointState {
  if (is_active) return failure_count > 0 || last_attempt_error !== null ? 'failing' : 'active'
  return failure_count >= maxFailures ? 'stopped' : 'inactive'
}

const tones: Record<EndpointState, Tone | undefined> = {
  active: 'green',
  failing: 'amber',
  stopped: 'red',
  inactive: undefined,
}

export function StateBadge({ endpoint }: { endpoint: Health }) {
  const state = stateOf(endpoint)
  return <Badge tone={tones[state]}>{webhooks.states[state]}</Badge>
}

/** The host stands out, since that is what people know a receiver by. */
export function Address({ url }: { url: string }) {
  const { host, rest } = splitUrl(url)
  return (
    <span className="hooks-address" title={url}>
      <span>{host}</span>
      <span className="soft">{rest}</span>
    </span>
  )
}

export function splitUrl(url: string): { host: string; rest: string } {
  const [, host = url, rest = ''] = /^https?:\/\/([^/?#]+)(.*)$/.exec(url) ?? []
  return { host, rest: rest === '/' ? '' : rest }
}

export function EventList({ events }: { events: readonly EventName[] }) {
  if (events.length === eventNames.length) return <Badge>{webhooks.allEvents}</Badge>
  return (
    <span className="hooks-events">
      {events.map((event) => (
        <Badge key={event}>
          <span title={webhooks.events[event].hint}>{event}</span>
        </Badge>
      ))}
    </span>
  )
}

/** The status that came back, or why none did. Undefined: the last attempt was a success. */
export function failureOf({ last_attempt_http_status: status, last_attempt_error }: LastAttempt): string | undefined {
  if (last_attempt_error === null) return undefined
  return status === null ? last_attempt_error : String(status)
}

/** "Failed: 500 · 2 min ago"; as a sentence, "Last attempt failed: 500 · 2 min ago", where no label stands beside it. */
export function LastAttempt({ endpoint, isSentence = false }: { endpoint: LastAttempt; isSentence?: boolean }) {
  const { lastAttempt } = webhooks
  const said = isSentence ? lastAttempt.sentence : lastAttempt
  if (!endpoint.last_attempt_at) return <span className="soft">{lastAttempt.never}</span>
  const failure = failureOf(endpoint)
  return (
    <span>
      {failure === undefined ? said.delivered : <span className="hooks-failure">{said.failed(failure)}</span>}{' '}
      <span className="soft nowrap">
        {'· '}
        <RelativeTime at={endpoint.last_attempt_at} />
      </span>
    </span>
  )
}
