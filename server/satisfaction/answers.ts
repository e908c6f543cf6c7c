/** Answers of customers: found before their message is stored, and stored with it. */
import { nowMs } from '../lib/clock.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import type { MaybeAnswer, RatingAnswer, RatingAnswers } from '../messages/receiving/rating-answers.ts'
import { type Asked, commentMs, judge, readChoiceId } from './question.ts'

/**
 * Condition on message `m` of a customer: it rates or comments, so the customer waits for no reply. A tap names its question; the others came
 * after a rating while no episode was open.
 */
export const isRatingAnswer = (sql: Sql): Fragment => sql`exists (
    select from ratings r
    where r.workspace_id = m.workspace_id and r.conversation_id = m.conversation_id and r.message_id < m.id and r.state = 'rated'
  ) and (coalesce(m.interactive_reply_id, '') like 'rating:%' or not exists (
    select from episodes e
    where e.workspace_id = m.workspace_id and e.conversation_id = m.conversation_id and e.opened_at <= m.created_at
      and (e.closed_at is null or e.closed_at > m.created_at)
  ))`

export const ratingAnswers: RatingAnswers = { find: findAnswers, record: recordAnswers }

async function findAnswers(sql: Sql, messages: readonly MaybeAnswer[]): Promise<(RatingAnswer | undefined)[]> {
  // A tapped choice names its question, which may be an earlier one of the conversation.
  const ids = messages.map(({ question_id, button }) => readChoiceId(button)?.messageId ?? question_id)
  const rows = await sql<(Asked & { workspace_id: string })[]>`
    select r.workspace_id, r.message_id, r.state, r.asked_at, r.comment, r.comment_until, s.choices
    from unnest(${messages.map(({ workspace_id }) => workspace_id)}::uuid[], ${ids}::uuid[]) as i (workspace_id, message_id)
    join ratings r on r.workspace_id = i.workspace_id and r.message_id = i.message_id
    join satisfaction_settings s on s.workspace_id = r.workspace_id
    where r.state in ('asked', 'rated')`
  const asked = new Map(rows.map((row) => [`${row.workspace_id} ${row.message_id}`, row]))
  return messages.map((message, i) => {
    const question = asked.get(`${message.workspace_id} ${ids[i]}`)
    const answer = question && judge(question, message, nowMs())
    if (!answer) return undefined
    const { kind, rating = null, comment = null } = { rating: undefined, comment: undefined, ...answer }
    return { question_id: question.message_id, kind, rating, comment }
  })
}

/**
 * A tap is an answer in any state of the conversation, and a later one changes nothing. A typed rating or a comment is one only while the
 * conversation is closed: in an open one the customer talks to the team. The question is locked after its conversation.
 */
function recordAnswers(sql: Sql, answers: readonly (RatingAnswer & { id: string })[]): Fragment {
  return sql`
    -- What the new messages may answer, in their order per question.
    possible_answers as (
      select m.workspace_id, m.conversation_id, a.id, a.question_id, a.kind, a.rating, a.comment,
        l.status = 'closed' and l.bot_run_id is null as is_closed,
        row_number() over (partition by a.question_id order by a.id) as position
      from json_to_recordset(${JSON.stringify(answers)}::text::json)
        as a (id uuid, question_id uuid, kind text, rating smallint, comment text)
      join inserted_messages m on m.id = a.id
      join locked_conversations l on l.workspace_id = m.workspace_id and l.id = m.conversation_id
      where l.blocked_at is null
    ),
    -- Their questions. The lock reads the state that another message has just written.
    locked_ratings as (
      select r.workspace_id, r.message_id, r.conversation_id, r.state, r.comment, r.comment_until
      from ratings r
      where (r.workspace_id, r.message_id) in (select workspace_id, question_id from possible_answers)
      order by r.message_id
      for no key update
    ),
    -- The messages that are answers, and whether they change the question.
    rating_answers as (
      select a.workspace_id, a.id, a.question_id, a.kind, a.rating, a.comment,
        a.position = 1 and (r.state = 'asked' or a.kind = 'comment') as is_new
      from possible_answers a
      join locked_ratings r on r.workspace_id = a.workspace_id and r.message_id = a.question_id
        and r.conversation_id = a.conversation_id
      where case a.kind
        when 'tap' then true
        when 'text' then a.is_closed and a.position = 1 and r.state = 'asked'
        else a.is_closed and a.position = 1 and r.state = 'rated' and r.comment is null and r.comment_until > now()
      end
    ),
    -- The rating makes the row a job again: the line in the thread, automations, the thanks.
    updated_ratings as (
      update ratings r set
        state = 'rated', rating = coalesce(r.rating, a.rating), rated_at = coalesce(r.rated_at, now()),
        comment = coalesce(r.comment, a.comment),
        due_at = case when a.kind = 'comment' then r.due_at else now() end,
        attempt_count = case when a.kind = 'comment' then r.attempt_count else 0 end,
        comment_until = case when a.kind = 'comment' or s.comment_request = '' then r.comment_until
          else now() + make_interval(secs => ${commentMs / 1000}) end,
        updated_at = now()
      from rating_answers a
      join satisfaction_settings s on s.workspace_id = a.workspace_id
      where r.workspace_id = a.workspace_id and r.message_id = a.question_id and a.is_new
    ),`
}
