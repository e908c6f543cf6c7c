/**
 * The loop of satisfaction: chooses the episodes to ask about, sends the questions, and thanks for the answers.
 *
 * A question whose outcome is unknown is claimed again: the sender reports the outcome of the stored message, and sends nothing. A failure
 * of ours is retried; after five attempts the question fails. A question that may no longer be sent is dropped, as if it had never been.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Times } from '../../common/times.ts'
import { describeFailure } from '../automation/scheduled-loop.ts'
import type { Channel } from '../channels/channel.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { windowOf } from '../conversations/window.ts'
import { nowMs } from '../lib/clock.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { Loop } from '../lib/process/loop.ts'
import { outageOf } from '../lib/process/outage.ts'
import type { Polls } from '../lib/process/polls.ts'
import { within } from '../lib/time.ts'
import { createMediaSlots } from '../media/slots.ts'
import type { RequestedContent } from '../messages/sending/requested-content.ts'
import type { Sender } from '../messages/sending/send.ts'
import type { Signals } from '../signals/signals.ts'
import { toQuestion } from './question.ts'
import {
  announceRating,
  type ClaimedRating,
  claimRatings,
  decideQuestions,
  dropQuestion,
  failQuestion,
  keepRatingLeases,
  markAsked,
  mayHaveQuestions,
  releaseRating,
  settleRating,
} from './queue.ts'
import { readSettings, toTemplate, toThanks } from './settings.ts'

type SatisfactionLoopOptions = {
  db: Db
  sender: Sender
  channels: Record<ChannelName, Pick<Channel, 'windowMs' | 'lateWindowMs'>>
  log: FastifyBaseLogger
  polls: Polls
  signals: Pick<Signals, 'inboxChanged' | 'changesQueued'>
  times: Times['scheduled']
}

const maxAttempts = 5

/** The question may no longer be sent. */
class Dropped extends Error {}

/** `wake` claims at once instead of at the next poll. */
export function startSatisfaction(context: SatisfactionLoopOptions): Loop & { wake(): void } {
  const { db, channels, log, polls, times } = context
  const slots = createMediaSlots(times)
  const inFlight = new Map<Promise<void>, ClaimedRating>()
  let claiming: Promise<void> | undefined
  let isRequested = false
  let isStopped = false

  /** Runs one claim at a time. A request during a claim causes another one. */
  async function claim(): Promise<void> {
    isRequested = true
    claiming ??= claimWhileFree().finally(() => {
      claiming = undefined
    })
    await claiming
  }

  async function claimWhileFree(): Promise<void> {
    for (let free = slots.free(); isRequested && free > 0 && !isStopped; free = slots.free()) {
      isRequested = false
      const claimed = await claimRatings(db, free, slots, times)
      for (const rating of claimed) start(rating)
      if (claimed.length > 0) isRequested = true
    }
  }

  function claimInBackground(): void {
    if (isStopped) return
    claim().catch((error) =>
      log.error({ err: error, loop: 'satisfaction' }, 'questions could not be claimed; the next poll tries again'),
    )
  }

  function start(rating: ClaimedRating): void {
    const release = slots.start(rating.workspace_id)
    // A slow send gives up its slot.
    const slotTimer = setTimeout(claimInBackground, times.slowMs)
    const work = handle(context, rating)
      .catch((error): boolean => {
        log.error({ err: error, rating: rating.message_id }, 'an outcome could not be stored; the lease expires')
        return false
      })
      .then((isOk) => {
        clearTimeout(slotTimer)
        release(isOk)
        inFlight.delete(work)
        claimInBackground()
      })
    inFlight.set(work, rating)
  }

  const leasing = setInterval(() => {
    if (inFlight.size === 0) return
    // A lease that ends too early is harmless: the next worker finds the message by its id.
    keepRatingLeases(db, [...inFlight.values()], times.leaseMs).catch((error) =>
      log.warn({ err: error }, 'the leases of questions could not be extended'),
    )
  }, times.leaseMs / 4)
  const run = async () => {
    await decideQuestions(db, channels)
    await claim()
  }
  const polling = polls.add({ name: 'satisfaction', everyMs: times.pollMs, isDue: mayHaveQuestions, run })
  return {
    wake: claimInBackground,
    async stop() {
      isStopped = true
      await polling.stop()
      await claiming?.catch(() => {})
      await within(times.stopMs, Promise.all(inFlight.keys()))
      clearInterval(leasing)
    },
  }
}

/** Returns whether the message was sent. */
async function handle(context: SatisfactionLoopOptions, rating: ClaimedRating): Promise<boolean> {
  const { db, log, signals, times } = context
  const isThanks = rating.state === 'rated'
  try {
    if (isThanks) await thank(context, rating)
    else await ask(context, rating)
    await settleRating(db, rating)
    return true
  } catch (error) {
    if (error instanceof Dropped) {
      await dropQuestion(db, rating)
      // The message is gone: the question stays as it was asked. A claim in the state `due` settles nothing, because another worker may
      // have asked since.
      if (rating.state === 'asked') await settleRating(db, rating)
      return true
    }
    const failure = describeFailure(error)
    if (failure.isUnknown && !isThanks && !(await isFailed(db, rating))) {
      await releaseRating(db, rating, { afterMs: times.unknownMs, isAttempt: false })
      return false
    }
    if (failure.isOurs) log.error({ err: error, rating: rating.message_id }, 'a question could not be sent')
    if (failure.isTemporary && rating.attempt_count < maxAttempts) {
      await releaseRating(db, rating, { afterMs: times.retryMs, isAttempt: outageOf(error) === undefined })
    } else if (isThanks) await settleRating(db, rating)
    else await failQuestion(db, rating, failure.reason)
    return false
  } finally {
    signals.inboxChanged(rating.workspace_id, [rating.conversation_id])
  }
}

async function ask(context: SatisfactionLoopOptions, rating: ClaimedRating): Promise<void> {
  const { sender } = context
  const { workspace_id: workspaceId, message_id: id, conversation_id: conversationId } = rating
  const requested = await readQuestion(context, rating)
  if (!requested) throw new Dropped()
  await sender.send({
    workspaceId,
    to: { conversationId },
    requested,
    // Also at the first attempt: a claim without an outcome does not count as one, and the digest may have passed the id of the row.
    subject: { id, isRepeat: true },
    run: {
      id: null,
      within: async (sql, _thread, messageId) => {
        if (!(await markAsked(sql, rating))) throw new Dropped()
        return messageId
      },
    },
  })
}

/** In the window the question, outside of it the template. Undefined if there is none, or the conversation is gone. */
async function readQuestion(
  { db, channels }: SatisfactionLoopOptions,
  { workspace_id: workspaceId, message_id: id, conversation_id: conversationId, state }: ClaimedRating,
): Promise<RequestedContent | undefined> {
  const [conversation] = await db<{ channel: ChannelName; last_inbound_at: string | null }[]>`
    select channel, last_inbound_at from conversations where workspace_id = ${workspaceId} and id = ${conversationId}`
  if (!conversation) return undefined
  const settings = await readSettings(db, workspaceId)
  const { channel, last_inbound_at: windowFrom } = conversation
  const question = toQuestion(settings, channel, id)
  // The message exists: only its outcome is read.
  if (state === 'asked' || channels[channel].windowMs === null) return question
  const { window_closes_at: closesAt } = windowOf(channels[channel], windowFrom)
  if (closesAt !== null && nowMs() < Date.parse(closesAt)) return question
  return channel === 'msgapp' && settings.template ? toTemplate(settings.template) : undefined
}

/** Later than this after the rating, thanks would surprise the customer. */
const maxThanksMs = 3_600_000

async function thank({ db, sender, signals }: SatisfactionLoopOptions, rating: ClaimedRating): Promise<void> {
  const { workspace_id: workspaceId, message_id: id, conversation_id: conversationId } = rating
  if (!rating.is_announced) {
    await announceRating(db, rating)
    signals.changesQueued()
    signals.inboxChanged(workspaceId, [conversationId])
  }
  const text = toThanks(await readSettings(db, workspaceId))
  const [row] = await db<{ thanks_id: string | null; rated_at: string }[]>`
    select thanks_id, rated_at from ratings where workspace_id = ${workspaceId} and message_id = ${id}`
  if (text === '' || !row?.thanks_id || nowMs() > Date.parse(row.rated_at) + maxThanksMs) return
  await sender.send({
    workspaceId,
    to: { conversationId },
    requested: { type: 'text', text },
    subject: { id: row.thanks_id, isRepeat: rating.is_announced },
    run: { id: null, within: async (_sql, _thread, messageId) => messageId },
  })
}

/** Whether the message is stored as failed: the sweep fails one without a report, and its outcome is still reported as unknown. */
async function isFailed(db: Db, { workspace_id: workspaceId, message_id: id }: ClaimedRating): Promise<boolean> {
  const [failed] = await db`
    select from messages where workspace_id = ${workspaceId} and id = ${id} and status = 'failed'`
  return failed !== undefined
}
