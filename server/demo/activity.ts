/**
 * What happened to the demo's conversations besides messages: the lines of their timelines, and the questions about satisfaction.
 *
 * They follow from the texts by the rules of the service: a customer's message reopens, a policy or the first reply assigns, and a question is
 * sent a minute after a closing. Pure, except for random ids.
 */
import type { StoredDetails } from '../conversations/timeline.ts'
import { pastId, timeOfId } from '../lib/id.ts'
import { commentMs, toQuestion } from '../satisfaction/question.ts'
import { toThanks } from '../satisfaction/settings.ts'
import type { Past, PastEntry, PastMessage, PastRating, PastThread } from './past.ts'
import { capacities, demoTeams, type MemberKey, macro, type TeamKey } from './people.ts'
import { type DemoThread, spanOf } from './texts.ts'

const secondMs = 1_000
const minuteMs = 60_000

/** The team of a conversation: that of its connection, unless a member moved it. */
export function teamOf({ team, channel }: Pick<DemoThread, 'team' | 'channel'>): TeamKey {
  const keys = Object.keys(demoTeams) as TeamKey[]
  const served = team ?? keys.find((key) => demoTeams[key].channels.includes(channel))
  if (!served) throw new Error(`the demo has no team that serves ${channel}`)
  return served
}

const at = ({ created_at }: Pick<PastMessage, 'created_at'>): number => Date.parse(created_at)
const isInbound = ({ direction }: PastMessage): boolean => direction === 'inbound'

/** The entries of a conversation in their order, without its id and without those of ratings. */
export function createEntries(past: Past, talk: DemoThread, messages: readonly PastMessage[]) {
  const { nowMs, memberIds, teamIds } = past
  const { assignee, team, labels = [], closings = [], status, snoozedFor } = talk
  const entries: Omit<PastEntry, 'conversation_id'>[] = []
  const add = (atMs: number, kind: PastEntry['kind'], by: MemberKey | undefined, details: StoredDetails): void => {
    const id = pastId(atMs)
    entries.push({ id, kind, member_id: by ? memberIds[by] : null, details, created_at: timeOfId(id) })
  }
  const closedMs = closings.map(({ ago }) => nowMs - spanOf(ago))
  const received = messages.filter(isInbound).map(at)
  const [firstMs = messages[0] ? at(messages[0]) : nowMs] = received
  let openedMs = firstMs
  closings.forEach(({ by }, i) => {
    const atMs = closedMs[i] ?? nowMs
    if (by !== macro) add(atMs, 'status', by, { status: 'closed' })
    else {
      const run = { by: 'automation', run_id: pastId(atMs - 80), automation: macro } as const
      add(atMs, 'status', undefined, { status: 'closed', ...run })
    }
    const nextMs = received.find((ms) => ms > atMs)
    if (nextMs === undefined) return
    openedMs = nextMs
    // Before the message that reopens.
    add(nextMs - 1, 'status', undefined, { status: 'open', by: 'customer' })
  })
  if (labels.length > 0)
    add(openedMs + 30 * secondMs, 'labeled', assignee ?? 'alex', { added: [...labels], removed: [] })
  if (assignee) {
    const assignee_id = memberIds[assignee]
    const { policy, members } = demoTeams[teamOf(talk)]
    const first = messages.find(({ sender_id }) => sender_id === assignee_id)
    const takenMs = (first ? at(first) : firstMs + minuteMs) - 20 * secondMs
    if (policy === 'none' || !members.includes(assignee)) add(takenMs, 'assigned', assignee, { assignee_id })
    else
      add(firstMs + secondMs, 'assigned', undefined, {
        assignee_id,
        by: 'policy',
        policy,
        capacity: capacities[assignee],
      })
    if (team) add(takenMs + 2, 'assigned', assignee, { team: { id: teamIds[team], name: demoTeams[team].name } })
  }
  const lastMs = Math.max(...messages.map(at)) + minuteMs
  if (status === 'pending' && snoozedFor)
    add(lastMs, 'snoozed', assignee, { until: new Date(nowMs + spanOf(snoozedFor)).toISOString() })
  else if (status === 'pending') add(lastMs, 'status', assignee, { status })
  for (const { ratedMs, rating } of ratedOf(past, talk))
    add(ratedMs + 100, 'rated', undefined, { by: 'customer', rating })
  return entries.sort((one, other) => (one.id < other.id ? -1 : 1))
}

/** When the customers of a conversation rated. */
function ratedOf({ nowMs }: Past, { closings = [] }: DemoThread) {
  return closings.flatMap(({ ago, question }) => {
    const rating = question?.rating
    return rating === undefined ? [] : [{ rating, ratedMs: nowMs - spanOf(ago) + answerMs }]
  })
}

const askMs = minuteMs
/** From the closing. */
const answerMs = 5 * minuteMs

type RatingMessage = Pick<PastMessage, 'id'> & Partial<PastMessage>

/** The questions that a conversation was asked, with their messages. */
export function createQuestions(
  { nowMs, satisfaction }: Past,
  { channel, closings = [] }: DemoThread,
  messages: readonly PastMessage[],
) {
  const ratings: PastRating[] = []
  const asked: RatingMessage[] = []
  for (const { ago, question } of closings) {
    if (!question) continue
    const closedMs = nowMs - spanOf(ago)
    const { rating = null, comment = null } = question
    const id = pastId(closedMs + askMs)
    const ratedMs = closedMs + answerMs
    const requested = toQuestion(satisfaction, channel, id)
    if (requested.type !== 'interactive') throw new Error('a question is an interactive message')
    const { interactive } = requested
    asked.push({ id, content_type: 'interactive', content_text: interactive.body, content: { interactive } })
    const isRated = rating !== null
    const thanks_id = isRated ? pastId(ratedMs + 2 * secondMs) : null
    ratings.push({
      ...{ message_id: id, closed_at: new Date(closedMs).toISOString(), state: isRated ? 'rated' : 'asked' },
      member_id:
        messages.findLast((message) => message.sender_id !== null && at(message) < closedMs)?.sender_id ?? null,
      ...{ asked_at: timeOfId(id), rating, rated_at: isRated ? new Date(ratedMs).toISOString() : null, thanks_id },
      ...{ comment_until: isRated ? new Date(ratedMs + commentMs).toISOString() : null, comment },
    })
    if (!isRated || !thanks_id) continue
    const received = { direction: 'inbound', sender_type: 'customer', status: 'received' } as const
    const sentAt = (ms: number) => ({ sent_at: new Date(ms).toISOString() })
    const title = satisfaction.choices[rating - 1] ?? ''
    const tap = { content_type: 'interactive', content_text: title, reply_to_message_id: id }
    asked.push({
      id: pastId(ratedMs),
      ...received,
      ...tap,
      interactive_reply_id: `rating:${id}:${rating}`,
      ...sentAt(ratedMs),
    })
    asked.push({ id: thanks_id, content_text: toThanks(satisfaction) })
    if (comment === null) continue
    const commentedMs = ratedMs + 90 * secondMs
    asked.push({ id: pastId(commentedMs), ...received, content_text: comment, ...sentAt(commentedMs) })
  }
  return { ratings, asked }
}

/** How many conversations the policy says that a member had, with the one that it assigned. */
export function countOpen(threads: readonly PastThread[]): void {
  const policies = threads.flatMap(({ entries }) => entries.filter(({ details }) => details.by === 'policy'))
  for (const { details, created_at: now } of policies) {
    const isOpen = ({ entries }: PastThread) => {
      const before = entries.filter(({ created_at }) => created_at <= now)
      const assigned = before.findLast(({ details: each }) => each.assignee_id !== undefined)
      const status = before.findLast(({ kind }) => kind === 'status' || kind === 'snoozed')?.details.status
      return assigned?.details.assignee_id === details.assignee_id && (status ?? 'open') === 'open'
    }
    details.open = threads.filter(isOpen).length
  }
}
