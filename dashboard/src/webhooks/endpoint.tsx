/** What is said of an endpoint wherever one is shown: its state, its address, what it is told of. */
import type { ItemOf } from '../lib/api.ts'
import { Ago, Badge, type Tone } from '../ui/show.tsx'
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

/** So many failed events in a row switch an endpoint off. */
export const maxFailures = 15

type Health = Pick<Endpoint, 'is_active' | 'failure_count'>
export type EndpointState = keyof typeof webhooks.states

export function stateOf({ is_active, failure_count }: Health): EndpointState {
  if (is_active) return failure_count > 0 ? 'failing' : 'active'
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

export const LastDelivery = ({ at }: { at: string | null }) =>
  at ? <Ago at={at} /> : <span className="soft">{webhooks.never}</span>
