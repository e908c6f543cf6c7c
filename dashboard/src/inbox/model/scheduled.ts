/** Messages to send later: those of a conversation, and adding some. */
import { call, type InputOf, type ItemOf, invalidate, newIdempotencyKey, queryClient, usePages } from '../../lib/api.ts'
import { words } from '../../words/words.ts'
import type { Conversation } from './data.ts'
import type { Body } from './unconfirmed.ts'

const { flow } = words.inbox

export type Scheduled = ItemOf<'GET /conversations/{id}/scheduled-messages'>
export type SendTime = Pick<
  InputOf<'POST /conversations/{id}/scheduled-messages'>['body'],
  'send_at' | 'hold_if_customer_writes'
>

/** When the customer can no longer be reached without a template; null on a channel without a time limit, or before they wrote. */
export function lastReplyAt({ channel, window_closes_at, late_window_closes_at }: Conversation): number | null {
  const closes = channel === 'web' ? null : (late_window_closes_at ?? window_closes_at)
  return closes ? Date.parse(closes) : null
}

const listCall = 'GET /conversations/{id}/scheduled-messages'
/** More than a conversation may have, but for failed ones. */
const openInput = (id: string) => ({ params: { id }, query: { state: 'open', limit: 100 } }) as const

/** Those that wait or need a decision, in the order of their times. */
export function useScheduled(conversationId: string): Scheduled[] {
  const { items } = usePages(listCall, openInput(conversationId), { live: true })
  return items.toSorted((one, other) => one.send_at.localeCompare(other.send_at) || one.id.localeCompare(other.id))
}

/** Whether it will be put on hold at its time: the customer has written since it was written. */
export const willBeHeld = (
  { state, hold_if_customer_writes: isHoldable, updated_at: writtenAt }: Scheduled,
  { last_inbound_at: customerAt }: Pick<Conversation, 'last_inbound_at'>,
): boolean => state === 'scheduled' && isHoldable && customerAt !== null && customerAt > writtenAt

/** What happens to the waiting messages of a conversation that is closed, as far as the page knows: it does if the conversation was open. */
export function describeWaiting(conversation: Conversation): string | undefined {
  const waiting = queryClient
    .getQueryData<{ pages: { data: Scheduled[] }[] }>([listCall, openInput(conversation.id)])
    ?.pages.flatMap(({ data }) => data)
  if (waiting?.some((one) => one.state === 'scheduled' && !willBeHeld(one, conversation))) return flow.stillScheduled
  return waiting?.some((one) => one.state === 'held' || willBeHeld(one, conversation)) ? flow.stillHeld : undefined
}

/** Schedules the messages of a reply, all or none: its text is still in the reply box. */
export async function schedule(conversationId: string, bodies: readonly Body[], time: SendTime): Promise<void> {
  const created: string[] = []
  try {
    for (const { reaction: _, type, ...body } of bodies) {
      if (type === 'reaction') continue
      const { data } = await call('POST /conversations/{id}/scheduled-messages', {
        params: { id: conversationId },
        body: { ...body, ...(type ? { type } : {}), ...time },
        idempotencyKey: newIdempotencyKey(),
      })
      created.push(data.id)
    }
  } catch (error) {
    for (const id of created) await call('DELETE /scheduled-messages/{id}', { params: { id } }).catch(() => {})
    throw error
  } finally {
    void invalidate({ queryKey: [listCall, openInput(conversationId)] })
  }
}
