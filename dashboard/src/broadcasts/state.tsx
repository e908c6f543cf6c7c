/** How a broadcast stands, in a word, a colour and parts of a whole: the same wherever one is shown. */

import { Badge, type Tone } from '../../../ui/badge.tsx'
import { Progress } from '../../../ui/progress.tsx'
import type { ItemOf } from '../lib/api.ts'
import { words } from '../words/words.ts'

const { broadcasts: text } = words

export type Broadcast = ItemOf<'GET /broadcasts'>
export type RecipientStatus = ItemOf<'GET /broadcasts/{id}/recipients'>['status']

type State = keyof typeof text.statuses

/** A broadcast that is held reads as paused, whether it has begun or not. */
function stateOf(broadcast: Broadcast): State {
  if (broadcast.is_paused) return 'paused'
  return isCanceling(broadcast) ? 'canceling' : broadcast.status
}

/** Canceled, but some recipients are not skipped yet. */
export const isCanceling = ({ status, pending_count, awaiting_count }: Broadcast): boolean =>
  status === 'canceled' && pending_count > awaiting_count

/** Recipients that only the channel's confirmation is missing of, if no other is left to send to for the moment. */
export function awaitingOf(broadcast: Broadcast): number {
  const { is_paused, pending_count: pending, awaiting_count: awaiting } = broadcast
  return is_paused || pending === awaiting ? awaiting : 0
}

const tones: Record<State, Tone | undefined> = {
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

/** In the order in which they lie in the bar. */
export const recipientStatuses = ['read', 'delivered', 'sent', 'failed', 'skipped', 'pending'] as const

/** Everybody is in exactly one of these; the service's own counts include one another. */
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

/** Of so many it is known whether the channel took it: what shares are of. */
export const triedCount = ({ sent_count, failed_count }: Broadcast): number => sent_count + failed_count

export const colors: Record<RecipientStatus, string> = {
  read: 'var(--accent)',
  delivered: 'var(--green)',
  sent: 'var(--blue)',
  failed: 'var(--red)',
  skipped: 'var(--line-strong)',
  pending: 'transparent',
}

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
      total={broadcast.total_count}
      parts={recipientStatuses
        .filter((status) => status !== 'pending')
        .map((status) => ({ value: counts[status], color: colors[status] }))}
    />
  )
}

/** A reason as people say it; one we have no words for, as it came. */
export function reasonInWords(reason: string): string {
  const [code = ''] = reason.split(':')
  const known = text.reasons[reason] ?? text.reasons[code]
  return known ?? reason.charAt(0).toUpperCase() + reason.slice(1)
}
