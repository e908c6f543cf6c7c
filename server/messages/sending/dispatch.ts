/**
 * Sends a prepared message: calls the channel and settles the message with the answer.
 *
 * No database connection is held during the call, so a slow channel delays no other request. A temporary refusal is
 * retried twice. A message whose outcome is unknown is never sent again. One that did not reach the channel fails at once: the
 * caller may send it again.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Times } from '../../../common/times.ts'
import type { Channel, Connection, OutgoingMessage, Person, SendAnswer } from '../../channels/channel.ts'
import { recordConnectionOutcome } from '../../channels/connection-outcomes.ts'
import { enrichPeople, identitiesOf, type PersonDetails } from '../../contacts/people.ts'
import { type Batch, createBatch } from '../../lib/batch.ts'
import type { Sql } from '../../lib/postgres/db.ts'
import type { Signals } from '../../signals/signals.ts'
import { signalMessages } from '../signal-messages.ts'
import { platformError } from './platform-error.ts'
import type { OutboundMessage } from './prepare.ts'
import { type SendOutcome, toOutcome, unsentError } from './settle.ts'

export type DispatchOptions = {
  sql: Sql
  settle: Batch<SendOutcome, undefined>
  signals: Signals
  /** Called before each send, so that the pace of broadcasts on this connection counts it. */
  onSend: (connection: Connection) => void
  times: Pick<Times['messages'], 'retryMs'>
}

/** A prepared message with everything the channel needs. */
export type Dispatch = {
  channel: Channel
  connection: Connection
  message: Pick<OutboundMessage, 'workspace_id' | 'conversation_id' | 'id'>
  outgoing: Omit<OutgoingMessage, 'message_id'>
  contactId: string
  /** The contact's new name, stored if the channel accepts the message. */
  rename: string | undefined
}

/** Returns the channel's id of the message. Throws 502 when the channel refused it, was not reached, or the outcome is unknown. */
export function createDispatcher({ sql, settle, signals, onSend, times }: DispatchOptions) {
  const recordAnswer = createAnswerRecorder(sql)
  return async (dispatch: Dispatch): Promise<string | null> => {
    const { channel, connection, message, outgoing, contactId, rename } = dispatch
    signalMessages(signals, message.workspace_id, channel.name, message.conversation_id)
    onSend(connection)
    const sent = await sendWithRetries(channel, connection, { ...outgoing, message_id: message.id }, times.retryMs)
    await settle({
      ...toOutcome(message, sent),
      rename: rename === undefined ? undefined : { contact_id: contactId, name: rename },
    })
    signalMessages(signals, message.workspace_id, channel.name, message.conversation_id)
    await recordAnswer(connection, contactId, outgoing.to, sent)
    if (sent.ok) return sent.external_id
    throw platformError(describeOutcome(sent), { id: message.id, outcome: sent.outcome })
  }
}

function describeOutcome(sent: Extract<SendAnswer, { ok: false }>): string {
  if (sent.outcome === 'rejected') return sent.message
  if (sent.outcome === 'unsent') return unsentError(sent)
  return `${sent.message.replace(/\.$/, '')}; the outcome is unknown, so the message is not sent again`
}

async function sendWithRetries(
  channel: Channel,
  connection: Connection,
  outgoing: OutgoingMessage,
  delaysMs: readonly number[],
): Promise<SendAnswer> {
  let sent = await channel.send(connection, outgoing)
  for (const delayMs of delaysMs) {
    if (sent.ok || sent.outcome !== 'rejected' || !sent.again) return sent
    await sleep(delayMs)
    sent = await channel.send(connection, outgoing)
  }
  return sent
}

/** Records what an answer shows besides the outcome: whether the connection works, and further ids of the recipient. */
export function createAnswerRecorder(sql: Sql) {
  const learn = createBatch({
    run: (people: readonly PersonDetails[]) => enrichPeople(sql, people),
    flowOf: ({ workspace_id }) => workspace_id,
    lanes: 1,
  })
  return async (
    { workspace_id, id, channel, scope }: Connection,
    contact_id: string,
    recipient: Person,
    sent: SendAnswer,
  ): Promise<void> => {
    if (!sent.ok) {
      if (isConnectionFault(sent)) await recordConnectionOutcome(sql, workspace_id, id, sent.message)
      return
    }
    await recordConnectionOutcome(sql, workspace_id, id, null)
    if (sent.person && hasNewIdentity(sent.person, recipient)) {
      const { phone, user_id } = sent.person
      await learn({ workspace_id, contact_id, channel, scope, phone, user_id, name: null })
    }
  }
}

/** Whether the channel names the recipient by an id that we did not use. */
function hasNewIdentity(reported: Person, used: Person): boolean {
  const known = new Set(identitiesOf(used))
  return identitiesOf(reported).some((identity) => !known.has(identity))
}

/** Whether the connection caused the refusal, not the message: an expired token, a number that is not registered. */
export function isConnectionFault(sent: SendAnswer): boolean {
  if (sent.ok || sent.outcome !== 'rejected') return false
  if (sent.code === null) return sent.isDenied === true
  return connectionFaults.has(sent.code) || (sent.code >= 200 && sent.code < 300)
}
const connectionFaults = new Set([0, 3, 10, 190, 368, 131005, 131031, 131042, 131045, 133006, 133010])

/** Whether the template caused the refusal, for every recipient: it was deleted, paused or disabled. */
export const isTemplateFault = (sent: SendAnswer): boolean =>
  !sent.ok && sent.outcome === 'rejected' && sent.code !== null && templateFaults.has(sent.code)
const templateFaults = new Set([132001, 132015, 132016])
