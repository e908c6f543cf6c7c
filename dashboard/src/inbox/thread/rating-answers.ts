/** Which messages of a thread the service took as the answer to its question about satisfaction. They do not reopen the conversation. */
import { useMemo } from 'react'
import type { DataOf } from '../../lib/api.ts'
import { usePages } from '../../lib/api.ts'
import type { Conversation, Message } from '../model/data.ts'

type Rating = DataOf<'GET /contacts/{id}/ratings'>[number]
/** The rating, or null for the comment on it. */
type Answers = ReadonlyMap<string, number | null>

/** By the id of the message. `isRated`: the timeline has a rating; few conversations have one. */
export function useRatingAnswers(
  { id, contact_id }: Conversation,
  messages: readonly Message[],
  isRated: boolean,
): Answers {
  const { items } = usePages(
    'GET /contacts/{id}/ratings',
    { params: { id: contact_id } },
    { live: true, enabled: isRated },
  )
  return useMemo(
    () =>
      findAnswers(
        messages,
        items.filter(({ conversation_id }) => conversation_id === id),
      ),
    [messages, items, id],
  )
}

/** The messages are the oldest first. A rating is stored just after its message, and has the whole text of its comment. */
function findAnswers(messages: readonly Message[], ratings: readonly Rating[]): Answers {
  const inbound = messages.filter(({ direction }) => direction === 'inbound')
  const answers = new Map<string, number | null>()
  for (const { id: questionId, rating, rated_at, comment } of ratings) {
    const index = inbound.findLastIndex(
      (one) => one.id > questionId && Date.parse(one.created_at) <= Date.parse(rated_at),
    )
    const rated = inbound[index]
    if (!rated) continue
    answers.set(rated.id, rating)
    const commented = comment && inbound.slice(index + 1).find(({ content_text }) => content_text?.trim() === comment)
    if (commented) answers.set(commented.id, null)
  }
  return answers
}
