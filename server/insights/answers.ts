/**
 * Corrects the answer counters when a reply fails after the digest has counted it.
 *
 * The statement that fails a reply requests the message again (`messages/reindex-requests.ts`), and the digest reverts the
 * answer. The next reply that did not fail becomes the answer. Without one, the customer waits again, since the same time
 * as before.
 *
 * Only the last answer of a conversation is stored: the count stays when an earlier one fails.
 */
import type { Sql } from '../lib/postgres/db.ts'
import {
  type Answer,
  addPeriods,
  type CountableMessage,
  countAnswer,
  listWaits,
  type Period,
  periodOf,
  setAnswers,
  setWaits,
  type Wait,
} from './periods.ts'

/** Reverts the answers among these messages that have failed. They are few, so one at a time. */
export async function recountMessages(sql: Sql, messages: readonly CountableMessage[]): Promise<void> {
  const periods = new Map<string, Period>()
  const answers: Answer[] = []
  const waits: Wait[] = []
  for (const message of messages) {
    if (message.status !== 'failed' || message.sender_type !== 'agent') continue
    const { workspace_id, conversation_id, id } = message
    const since = await deleteAnswer(sql, message)
    if (since === undefined) continue
    countAnswer(periodOf(periods, message), id, since, -1)
    const next = await getNextReply(sql, message)
    if (next) {
      countAnswer(periodOf(periods, { ...message, id: next }), next, since, 1)
      answers.push({ workspace_id, conversation_id, message_id: next, since })
    } else waits.push({ workspace_id, conversation_id, since })
  }
  if (periods.size === 0) return
  await addPeriods(sql, [...periods.values()])
  await setAnswers(sql, answers)
  const before = await listWaits(sql, messages)
  const after = new Map(before.map((wait) => [wait.conversation_id, wait]))
  for (const wait of waits) {
    const since = Math.min(wait.since, after.get(wait.conversation_id)?.since ?? wait.since)
    after.set(wait.conversation_id, { ...wait, since })
  }
  await setWaits(sql, before, after)
}

/** Deletes the answer. Returns since when the customer had waited, or undefined when it was not the last answer. */
async function deleteAnswer(
  sql: Sql,
  { workspace_id, conversation_id, id }: CountableMessage,
): Promise<number | undefined> {
  const [answer] = await sql<{ since: number }[]>`
    delete from message_answers
    where workspace_id = ${workspace_id} and conversation_id = ${conversation_id} and message_id = ${id}
    returning extract(epoch from since)::float8 * 1000 as since`
  return answer?.since
}

/** The first later reply that did not fail. A reply that the digest has not read yet is counted when it is read. */
async function getNextReply(
  sql: Sql,
  { workspace_id, conversation_id, id }: CountableMessage,
): Promise<string | undefined> {
  const [next] = await sql<{ id: string }[]>`
    select m.id from messages m
    where m.workspace_id = ${workspace_id} and m.conversation_id = ${conversation_id} and m.id > ${id}
      and m.sender_type = 'agent' and m.status <> 'failed' and (
        select true from message_words w
        where w.workspace_id = m.workspace_id and w.conversation_id = m.conversation_id and w.id = m.id
        limit 1
      )
    order by m.id
    limit 1`
  return next?.id
}
