/**
 * A send request that is repeated with its `Idempotency-Key` after a crash. Its message may have been sent, so it is not
 * sent again: the repeat waits for the outcome of the first attempt.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Times } from '../../../common/times.ts'
import type { Batch } from '../../lib/batch.ts'
import type { Sql } from '../../lib/postgres/db.ts'
import type { Signals } from '../../signals/signals.ts'
import { getMessage } from '../messages.ts'
import type { Message, MessageStatus } from '../resource.ts'
import { signalMessages } from '../signal-messages.ts'
import { platformError } from './platform-error.ts'
import { isSweptError, isUnsentError, type SendOutcome } from './settle.ts'
import type { Target } from './target.ts'

/** A message has one of these only after the channel accepted it. */
const acceptedStatuses = new Set<MessageStatus>(['sent', 'delivered', 'read'])

/**
 * Returns the message of the first attempt, or undefined when that attempt wrote none. Throws 502 when it failed or its
 * outcome is still unknown after the timeout.
 */
export function createRepeatReader({
  sql,
  settle,
  signals,
  times,
}: {
  sql: Sql
  settle: Batch<SendOutcome, undefined>
  signals: Signals
  times: Pick<Times['messages'], 'repeatMs' | 'repeatPollMs'>
}) {
  return async (
    { workspaceId, channel: { name: channel } }: Pick<Target, 'workspaceId' | 'channel'>,
    conversationId: string,
    id: string,
  ): Promise<Message | undefined> => {
    const deadline = performance.now() + times.repeatMs
    for (;;) {
      const message = await getMessage(sql, workspaceId, { conversationId, id, channel }, '')
      if (!message) return undefined
      // The channel gave the message an id, so it accepted it, whatever its status is now.
      if (message.message_id !== id || acceptedStatuses.has(message.status)) return message
      if (message.status === 'failed') {
        const reason = message.error_text ?? 'the channel refused the message'
        throw platformError(reason, { id, outcome: outcomeOf(message.error_text) })
      }
      if (performance.now() > deadline) {
        const unknown = 'the outcome of this message is not known yet, so it is not sent again'
        throw platformError(unknown, { id, outcome: 'unknown' })
      }
      if (channel === 'web') {
        // Storing a web message is sending it, and no report will come: only its status was not written.
        const outcome = { workspace_id: workspaceId, conversation_id: conversationId, id }
        await settle({ ...outcome, status: 'sent', external_id: null, error: null })
        signalMessages(signals, workspaceId, channel, conversationId)
      } else await sleep(times.repeatPollMs)
    }
  }
}

/** The outcome of a message that failed with this error. */
function outcomeOf(error: string | null): 'rejected' | 'unsent' | 'unknown' {
  if (isSweptError(error)) return 'unknown'
  return isUnsentError(error) ? 'unsent' : 'rejected'
}
