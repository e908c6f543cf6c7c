/**
 * Answers to questions about satisfaction: messages of customers that do not reopen their conversation. The module to the right that asks
 * provides the functions.
 *
 * Only a conversation that was asked lately costs a look-up. Whether its message is an answer is decided before it is stored, and again by
 * the statement that stores it, with the conversation and the question locked.
 */
import type { ContentType } from '../../channels/channel.ts'
import { nowMs } from '../../lib/clock.ts'
import { msOfId } from '../../lib/id.ts'
import type { Fragment, Sql } from '../../lib/postgres/db.ts'

/** What a question is asked of a message before it is stored. */
export type MaybeAnswer = {
  workspace_id: string
  /** The last question of the conversation. */
  question_id: string
  text: string | null
  content_type: ContentType
  button: string | null
  /** Whether the text opts out of broadcasts or in again. */
  is_wish: boolean
}

/** An answer, as `record` stores it. */
export type RatingAnswer = {
  question_id: string
  kind: 'tap' | 'text' | 'comment'
  rating: number | null
  comment: string | null
}

export type RatingAnswers = {
  /** The answers among messages; undefined for the others. */
  find(sql: Sql, messages: readonly MaybeAnswer[]): Promise<(RatingAnswer | undefined)[]>
  /**
   * Members of a `with` list that store the answers of `inserted_messages`, with their `locked_conversations`. One of them is
   * `rating_answers`, with the `id` of each message that is an answer.
   */
  record(sql: Sql, answers: readonly (RatingAnswer & { id: string })[]): Fragment
}

/** A question is sent some time after its id was made, and its answer counts for 3 days. */
const awaitedMs = 4 * 86_400_000

/** Whether a message may answer this question. */
export const awaitsRating = (questionId: string | null | undefined): questionId is string =>
  typeof questionId === 'string' && msOfId(questionId) > nowMs() - awaitedMs
