/** Status labels, colors and counts of broadcasts and recipients. */

import { Badge, Progress, type Tone } from '../../../ui/display.tsx'
import type { ItemOf } from '../lib/api.ts'
import { broadcastWords } from '../words/broadcasts.ts'

const text = broadcastWords

export type Broadcast = ItemOf<'GET /broadcasts'>
export type RecipientStatus = ItemOf<'GET /broadcasts/{id}/recipients'>['status']

type State = keyof typeof text.statuses

/** A paused broadcast shows as paused, whether it is scheduled or sending. */
function stateOf(broadcast: Broadcast): State {
  if (broadcast.is_paused) return 'paused'
  return isCanceling(broadcast) ? 'canceling' : broadcast.status
}

/** True while the service is still skipping the recipients of a canceled broadcast. */
export const isCanceling = ({ status, pending_count, awaiting_count }: Broadcast): boolean =>
  status === 'canceled' && pending_count > awaiting_count

/** The number of unconfirmed messages, once nothing else is left to send or the broadcast is paused; otherwise 0. */
export function unconfirmedCount(broadcast: Broadcast): number {
  const { is_paused, pending_count: pending, awaiting_count: awaiting } = broadcast
  return is_paused || pending === awaiting ? awaiting : 0
}

const tones: Record<State, Tone | undefined> = {
  draft: undefined,
  scheduled: 'blue',
  sending: 'accent',
  paused: 'amber',
  sent: 'green',
  canceling: undefined,
  canceled: undefined,
}

export function StateBadge({ broadcast }: { broadcast: Broadcast }) {
  const state = stateOf(broadcast)
  return <Badge tone={tones[state]}>{text.statuses[state]}</Badge>
}

/** The recipients of a broadcast: the contacts of the audience that were not skipped. They are the whole of all shares. */
export const recipientTotal = ({ total_count, skipped_count }: Broadcast): number => total_count - skipped_count

/** The recipients whose message is sent or failed. */
export const processedCount = (broadcast: Broadcast): number => recipientTotal(broadcast) - broadcast.pending_count

/** In the order of the progress bar. */
export const recipientStatuses = ['read', 'delivered', 'sent', 'failed', 'skipped', 'pending'] as const

/** Recipients by status, without overlap. The service's counts overlap: `sent` includes `delivered`, which includes `read`. */
export function countsOf(broadcast: Broadcast): Record<RecipientStatus, number> {
  const { sent_count: sent, delivered_count: delivered, read_count: read } = broadcast
  return {
    read,
    delivered: delivered - read,
    sent: sent - delivered,
    failed: broadcast.failed_count,
    skipped: broadcast.skipped_count,
    pending: broadcast.pending_count,
  }
}

/** The page where a member continues to write a draft. */
export const draftHref = ({ id }: Pick<Broadcast, 'id'>): string => `/broadcasts/new?draft=${id}`

/** One color for each status and each response, in the bar, the funnel and the line. */
export const colors = {
  read: 'var(--accent)',
  delivered: 'var(--green)',
  sent: 'var(--blue)',
  failed: 'var(--red)',
  skipped: 'var(--line-strong)',
  pending: 'transparent',
  replied: 'var(--amber)',
  tapped: 'var(--social)',
  opted_out: 'var(--text)',
} as const satisfies Record<RecipientStatus, string> & Record<string, string>

export const recipientTones: Record<RecipientStatus, Tone | undefined> = {
  read: 'accent',
  delivered: 'green',
  sent: 'blue',
  failed: 'red',
  skipped: undefined,
  pending: 'amber',
}

export function Bar({ broadcast }: { broadcast: Broadcast }) {
  const counts = countsOf(broadcast)
  return (
    <Progress
      label={text.progress(broadcast.name)}
      total={recipientTotal(broadcast)}
      parts={recipientStatuses
        .filter((status) => status !== 'pending' && status !== 'skipped')
        .map((status) => ({ value: counts[status], color: colors[status] }))}
    />
  )
}

/** The text for a reason of the service or an error code of the provider. Unknown reasons are shown as they are. */
export function reasonText(reason: string): string {
  const [code = ''] = reason.split(':')
  const [, attribute] = /^the contact has no attributes\.(\w+)$/.exec(reason) ?? []
  if (attribute) return text.noAttribute(attribute)
  const known = text.reasons[reason] ?? text.reasons[code]
  return known ?? reason.charAt(0).toUpperCase() + reason.slice(1)
}
