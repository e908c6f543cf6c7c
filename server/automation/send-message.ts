/**
 * Sends the message of a step through the flow of every send. Its id is in the run before the send, so a repeat after a crash finds the first
 * attempt, and the message is written only while the run is open: a person who replied meanwhile has won.
 */

import { nowMs } from '../lib/clock.ts'
import { ApiError } from '../lib/errors.ts'
import { idAt } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { readRequestedContent } from '../messages/sending/requested-content.ts'
import { hourMs, requireFewMessages, StepFailed } from './decisions.ts'
import type { Message } from './definition.ts'
import { lockRun, type Run } from './runs.ts'
import { type StepContext, valuesOf } from './step-context.ts'
import { fillMessage } from './texts.ts'

type Sent = {
  /** `unknown`: the channel may have accepted it. The run goes on, because it must not be sent twice. */
  outcome: 'sent' | 'unknown'
  messageId: string
  /** Of a contact who had none before. */
  conversationId?: string | undefined
  /** As it was sent. */
  message: Message
}

export async function sendMessage(context: StepContext, template: Message): Promise<Sent> {
  const { run, sender, facts } = context
  const filled = fillMessage(template, valuesOf(context))
  if (!filled.ok) throw new StepFailed(filled.reason)
  const { message } = filled
  const { workspace_id: workspaceId, conversation_id: conversationId, contact_id: contactId, send_id: id } = run
  if (!id) throw new Error('a run has no id for its next message')
  const to = conversationId ? { conversationId } : { contactId, defaultCountry: facts.default_country }
  try {
    const { conversation_id } = await sender.send({
      workspaceId,
      to,
      requested: readRequestedContent(message as Parameters<typeof readRequestedContent>[0]),
      subject: { id, isRepeat: run.is_repeat },
      run: {
        id: run.id,
        within: async (sql, thread, messageId) => {
          await lockRun(sql, run)
          await requireBelowLimit(sql, run, thread.conversation_id)
          return messageId
        },
      },
    })
    return { outcome: 'sent', messageId: id, message, ...(conversationId ? {} : { conversationId: conversation_id }) }
  } catch (error) {
    if (isUnknown(error)) return { outcome: 'unknown', messageId: id, message }
    throw error
  }
}

const isUnknown = (error: unknown): boolean =>
  error instanceof ApiError && (error.details as { outcome?: string } | undefined)?.outcome === 'unknown'

async function requireBelowLimit(sql: Sql, { workspace_id }: Run, conversationId: string): Promise<void> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from messages
    where workspace_id = ${workspace_id} and conversation_id = ${conversationId} and id > ${idAt(nowMs() - hourMs)}
      and run_id is not null`
  requireFewMessages(row?.count ?? 0)
}
