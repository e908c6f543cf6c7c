/**
 * Answers that were none: a reply counts as soon as it is read by the digest,
 * and may fail later. Whoever writes that it failed asks for another look, and
 * the digest takes the answer back. Then the next reply that did not fail is
 * the answer, or the customer waits again, since when they had.
 *
 * Only the last answer of a conversation is known: of one that fails when a
 * later question was answered already, the count stays.
 */
import type { Sql } from '../lib/db.ts'
import {
  type Answer,
  addDays,
  type Counted,
  countAnswer,
  type Day,
  dayOf,
  listWaits,
  setAnswers,
  setWaits,
  type Wait,
} from './days.ts'

/** Count no longer as answers what failed among messages that were read before. They are few: one at a time. */
export async function recountMessages(sql: Sql, messages: readonly Counted[]): Promise<void> {
  const days = new Map<string, Day>()
  const answers: Answer[] = []
  const waits: Wait[] = []
  for (const message of messages) {
    if (message.status !== 'failed' || message.sender_type !== 'agent') continue
    const { workspace_id, conversation_id, id } = message
    const since = await takeBack(sql, message)
    if (since === undefined) continue
    countAnswer(dayOf(days, message), id, since, -1)
    const next = await getNextReply(sql, message)
    if (next) {
      countAnswer(dayOf(days, { ...message, id: next }), next, since, 1)
      answers.push({ workspace_id, conversation_id, message_id: next, since })
    } else waits.push({ workspace_id, conversation_id, since })
  }
  if (days.size === 0) return
  await addDays(sql, [...days.values()])
  await setAnswers(sql, answers)
  const before = await listWaits(sql, messages)
  const after = new Map(before.map((wait) => [wait.conversation_id, wait]))
  for (const wait of waits) {
    const since = Math.min(wait.since, after.get(wait.conversation_id)?.since ?? wait.since)
    after.set(wait.conversation_id, { ...wait, since })
  }
  await setWaits(sql, before, after)
}

/** Since when the customer had waited whom this message answered; undefined: it was not the last answer. */
async function takeBack(sql: Sql, { workspace_id, conversation_id, id }: Counted): Promise<number | undefined> {
  const [answer] = await sql<{ since: number }[]>`
    delete from message_answers
    where workspace_id = ${workspace_id} and conversation_id = ${conversation_id} and message_id = ${id}
    returning extract(epoch from since)::float8 * 1000 as since`
  return answer?.since
}

/** The first reply after this one that did not fail. One that was not read yet is counted when it is. */
async function getNextReply(sql: Sql, { workspace_id, conversation_id, id }: Counted): Promise<string | undefined> {
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
