/**
 * The loop of scheduled messages: claims those that are due and sends them as replies.
 *
 * A message whose outcome is unknown stays `sending` and is claimed again: the sender reports the outcome of the stored message, once a
 * report of the channel or the sweep has settled it, and sends nothing. A failure of ours is retried; after five attempts the message fails.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Times } from '../../common/times.ts'
import { assignReplier } from '../conversations/changes.ts'
import { ApiError } from '../lib/errors.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { Loop } from '../lib/process/loop.ts'
import { outageOf } from '../lib/process/outage.ts'
import type { Polls } from '../lib/process/polls.ts'
import { within } from '../lib/time.ts'
import { createMediaSlots } from '../media/slots.ts'
import { readRequestedContent } from '../messages/sending/requested-content.ts'
import type { Sender } from '../messages/sending/send.ts'
import type { Signals } from '../signals/signals.ts'
import {
  type ClaimedMessage,
  claimScheduled,
  hasScheduled,
  isMessageFailed,
  keepLeases,
  releaseMessage,
  settleFailed,
  settleSent,
} from './scheduled-queue.ts'

type ScheduledLoopOptions = {
  db: Db
  sender: Sender
  log: FastifyBaseLogger
  polls: Polls
  signals: Pick<Signals, 'inboxChanged'>
  times: Times['scheduled']
}

const maxAttempts = 5

/** `wake` claims at once instead of at the next poll. */
export function startScheduled(context: ScheduledLoopOptions): Loop & { wake(): void } {
  const { db, log, polls, signals, times } = context
  const slots = createMediaSlots(times)
  const inFlight = new Map<Promise<void>, ClaimedMessage>()
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
      const { claimed, held } = await claimScheduled(db, free, slots, times)
      for (const message of claimed) start(message)
      for (const { workspace_id, conversation_id } of held) signals.inboxChanged(workspace_id, [conversation_id])
      // More messages may be due.
      if (claimed.length + held.length > 0) isRequested = true
    }
  }

  function claimInBackground(): void {
    if (isStopped) return
    claim().catch((error) =>
      log.error(
        { err: error, loop: 'scheduled-messages' },
        'scheduled messages could not be claimed; the next poll tries again',
      ),
    )
  }

  function start(message: ClaimedMessage): void {
    const release = slots.start(message.workspace_id)
    // A slow send gives up its slot.
    const slotTimer = setTimeout(claimInBackground, times.slowMs)
    const work = sendAndSettle(context, message)
      .catch((error): boolean => {
        log.error(
          { err: error, scheduled: message.id },
          'an outcome could not be stored; the lease of the message expires',
        )
        return false
      })
      .then((isOk) => {
        clearTimeout(slotTimer)
        release(isOk)
        inFlight.delete(work)
        claimInBackground()
      })
    inFlight.set(work, message)
  }

  const leasing = setInterval(() => {
    if (inFlight.size === 0) return
    // A lease that ends too early is harmless: the next worker finds the message by its id.
    keepLeases(db, [...inFlight.values()], times.leaseMs).catch((error) =>
      log.warn({ err: error }, 'the leases of scheduled messages could not be extended'),
    )
  }, times.leaseMs / 4)
  const polling = polls.add({ name: 'scheduled-messages', everyMs: times.pollMs, isDue: hasScheduled, run: claim })
  claimInBackground()
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
async function sendAndSettle(context: ScheduledLoopOptions, message: ClaimedMessage): Promise<boolean> {
  const { db, log, signals, times } = context
  const { workspace_id: workspaceId, conversation_id: conversationId, attempt_count: attempts } = message
  // Open pages show that it is being sent.
  signals.inboxChanged(workspaceId, [conversationId])
  try {
    await sendMessage(context, message)
    return true
  } catch (error) {
    const failure = describeFailure(error)
    // The sweep fails a message without a report, and its outcome is still reported as unknown.
    if (failure.isUnknown && !(await isMessageFailed(db, message))) {
      await releaseMessage(db, message, { afterMs: times.unknownMs, isAttempt: false, error: failure.reason })
      return false
    }
    if (failure.isOurs) log.error({ err: error, scheduled: message.id }, 'a scheduled message could not be sent')
    if (failure.isTemporary && attempts < maxAttempts) {
      await releaseMessage(db, message, { afterMs: times.retryMs, isAttempt: outageOf(error) === undefined })
    } else await settleFailed(db, message, failure.reason)
    return false
  } finally {
    signals.inboxChanged(workspaceId, [conversationId])
  }
}

/** Sends the message as a reply of its author, or finds that an earlier attempt sent it. */
async function sendMessage({ db, sender, signals }: ScheduledLoopOptions, message: ClaimedMessage): Promise<void> {
  const { workspace_id: workspaceId, conversation_id: conversationId, member_id: memberId, content } = message
  await sender.send({
    workspaceId,
    to: { conversationId },
    requested: readRequestedContent(content, memberId !== null),
    replyTo: message.reply_to_message_id ?? undefined,
    memberId: memberId ?? undefined,
    subject: { id: message.message_id, isRepeat: message.is_repeat },
  })
  await settleSent(db, message)
  if (memberId && (await assignReplier(db, workspaceId, conversationId, memberId)))
    signals.inboxChanged(workspaceId, [conversationId])
}

type Failure = { reason: string; isUnknown: boolean; isTemporary: boolean; isOurs: boolean }

/** What a failed send means for the job that sends. */
export function describeFailure(error: unknown): Failure {
  if (!(error instanceof ApiError)) {
    return { reason: 'something went wrong on our side', isUnknown: false, isTemporary: true, isOurs: true }
  }
  const { code, message: reason } = error
  const { outcome, message_id: messageId } = { outcome: '', message_id: null, ...error.details }
  const isUnknown = code === 'platform_error' && outcome === 'unknown'
  // The conversation was merged at this moment, or the channel could not be asked about a template.
  const isTemporary = code === 'not_found' || (code === 'platform_error' && messageId === null)
  return { reason, isUnknown, isTemporary, isOurs: false }
}
