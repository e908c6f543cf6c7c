/** Parts of an endpoint that several pages show: state, URL, events and last attempt. */

import { Badge, type Tone } from '../../../ui/display.tsx'
import type { ItemOf } from '../lib/api.ts'
import { RelativeTime } from '../ui/time.tsx'
import { webhookWords } from '../words/webhooks.ts'

const webhooks = webhookWords

export type Endpoint = ItemOf<'GET /webhooks'>
export type EventName = Endpoint['events'][number]

/** In the order of the form. */
export const eventNames = [
  'message.received',
  'message.status_updated',
  'conversation.created',
  'contact.created',
] as const satisfies readonly EventName[]

/** The service disables an endpoint after this many consecutive failed events. */
const maxFailures = 15

type LastAttempt = Pick<Endpoint, 'last_attempt_at' | 'last_attempt_http_status' | 'last_attempt_error'>
type Health = Pick<Endpoint, 'is_active' | 'failure_count' | 'last_attempt_error'>
export type EndpointState = keyof typeof webhooks.states

/** An endpoint is failing from its first failed attempt, before an event has failed finally. */
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

/** A URL with the host emphasized. */
export function EndpointUrl({ url }: { url: string }) {
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

/** The HTTP status or error of the last attempt. Undefined if it succeeded. */
export function failureOf({ last_attempt_http_status: status, last_attempt_error }: LastAttempt): string | undefined {
  if (last_attempt_error === null) return undefined
  return status === null ? last_attempt_error : String(status)
}

/** "Failed: 500 · 2 min ago". With `isSentence`, for places without a label: "Last attempt failed: 500 · 2 min ago". */
export function LastAttempt({ endpoint, isSentence = false }: { endpoint: LastAttempt; isSentence?: boolean }) {
  const { lastAttempt } = webhooks
  const labels = isSentence ? lastAttempt.sentence : lastAttempt
  if (!endpoint.last_attempt_at) return <span className="soft">{lastAttempt.never}</span>
  const failure = failureOf(endpoint)
  return (
    <span>
      {failure === undefined ? labels.delivered : <span className="hooks-failure">{labels.failed(failure)}</span>}{' '}
      <span className="soft nowrap">
        {'· '}
        <RelativeTime at={endpoint.last_attempt_at} />
      </span>
    </span>
  )
}
