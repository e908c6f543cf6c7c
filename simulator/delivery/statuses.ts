/**
 * Status reports: which ones a message gets, when, and in which wire format.
 *
 * A timer wheel with 20 ms slots holds the reports, so a thousand messages a
 * second need one timer. Reports that are due together are batched.
 */
import { type AccountState, userIdOfNumber } from '../state/accounts.ts'
import type { FaultEffects } from '../state/faults.ts'
import type { PhoneEntry } from '../state/phones.ts'
import { messagesCallback, messagingCallback } from '../wire/callback.ts'
import { statusError } from '../wire/errors.ts'
import { wireJson } from '../wire/ids.ts'
import type { Callbacks, QueuedReport, Report } from './callbacks.ts'

export type Status = 'sent' | 'delivered' | 'read' | 'failed'

/** Order of statuses; a late report with a lower rank does not change the status. */
export const ranks = { accepted: 0, sent: 1, failed: 2, delivered: 3, read: 4 }

/** `afterMs`: the time in the report. `reportAfterMs`: when the report is sent. `error`: the code of a failure. */
type Step = {
  readonly status: Status
  readonly afterMs: number
  readonly reportAfterMs: number
  readonly error?: number
}

const sent: Step = { status: 'sent', afterMs: 50, reportAfterMs: 50 }
const delivered: Step = { status: 'delivered', afterMs: 150, reportAfterMs: 150 }
const read: Step = { status: 'read', afterMs: 400, reportAfterMs: 400 }
const failed = (error: number, afterMs: number): Step => ({ status: 'failed', afterMs, reportAfterMs: afterMs, error })
const late = (step: Step, reportAfterMs: number): Step => ({ ...step, reportAfterMs })

/** The journal stores the name of a message's plan, so its reports resume after a restart. Do not rename plans. */
export const plans = {
  full: [sent, delivered, read],
  reordered: [read, late(delivered, 450), late(sent, 500)],
  unread: [sent, delivered],
  unread_reordered: [delivered, late(sent, 200)],
  fails_after_sent: [sent, failed(131000, 150)],
  window_closed: [failed(131047, 50)],
  bad_media: [failed(131053, 50)],
  /** Social: an echo stands for `sent`, and delivery is not reported. */
  echo: [sent, read],
  echo_reordered: [read, late(sent, 450)],
  silent: [],
} satisfies Record<string, readonly Step[]>

export type PlanName = keyof typeof plans

const stepsOf = (plan: PlanName): readonly Step[] => plans[plan]

/** A message with status reports left to send. */
export type InFlightMessage = Report & {
  readonly id: string
  readonly at: number
  readonly plan: PlanName
  readonly duplicateStatuses: boolean
  /** The recipient's number, or the user id if the number is unknown. */
  readonly recipient: string
  readonly callback_data: string | undefined
  /** The pricing on msgapp, the message of the echo on social. */
  readonly content: Content
  readonly entry: PhoneEntry | undefined
  /** A bit for each step of the plan that the service has accepted. */
  readonly acceptedSteps: number
}

type Content = { readonly category: string; readonly isFree: boolean } | { readonly message: unknown }

export function planOf(effects: Readonly<FaultEffects>, isSocial: boolean): PlanName {
  if (effects.noStatuses) return 'silent'
  if (isSocial) return effects.reorderStatuses ? 'echo_reordered' : 'echo'
  if (effects.failsAfterSent) return 'fails_after_sent'
  if (effects.unread) return effects.reorderStatuses ? 'unread_reordered' : 'unread'
  return effects.reorderStatuses ? 'reordered' : 'full'
}

/** Unreachable: satisfies the type checker where a step is looked up by index. */
const unknownStep: Step = failed(131000, 0)

const slotMs = 20
const slotCount = 64

export type Statuses = {
  /** Schedules the remaining reports of the message. */
  start(message: InFlightMessage): void
  stop(): void
}

export function startStatuses(
  callbacks: Callbacks<InFlightMessage>,
  onStatus: (message: InFlightMessage, status: Status, error: number | undefined) => void,
): Statuses {
  const slots: { message: InFlightMessage; step: number }[][] = Array.from({ length: slotCount }, () => [])
  let count = 0
  let lastSlot = Math.floor(Date.now() / slotMs)
  let timer: NodeJS.Timeout | undefined

  function schedule(message: InFlightMessage, from: number) {
    const steps = stepsOf(message.plan)
    let step = from
    while (step < steps.length && message.acceptedSteps & (1 << step)) step++
    const next = steps[step]
    if (!next) return
    const dueAt = message.at + next.reportAfterMs + ((message.seq * 13) % 31) - 15
    // Limited to one rotation of the wheel, so a clock that was set back does not delay reports.
    const slot = Math.min(Math.max(Math.ceil(dueAt / slotMs), lastSlot + 1), lastSlot + slotCount - 1)
    slots[slot % slotCount]?.push({ message, step })
    count++
    timer ??= setInterval(advance, slotMs)
  }

  function advance() {
    const now = Math.floor(Date.now() / slotMs)
    if (now - lastSlot > slotCount) lastSlot = now - slotCount
    while (lastSlot < now) {
      lastSlot++
      const due = slots[lastSlot % slotCount]
      if (!due || due.length === 0) continue
      slots[lastSlot % slotCount] = []
      count -= due.length
      for (const { message, step } of due) report(message, step)
    }
    callbacks.flush()
    if (count === 0) {
      clearInterval(timer)
      timer = undefined
    }
  }

  function report(message: InFlightMessage, step: number) {
    const steps = stepsOf(message.plan)
    const { status, error } = steps[step] ?? unknownStep
    callbacks.enqueue(message, step, false)
    if (message.duplicateStatuses) callbacks.enqueue(message, step, true)
    onStatus(message, status, error)
    schedule(message, step + 1)
  }

  return {
    start(message) {
      if (count === 0) lastSlot = Math.floor(Date.now() / slotMs)
      schedule(message, 0)
    },
    stop() {
      clearInterval(timer)
    },
  }
}

/** The callback body of a batch of reports on msgapp. */
export function formatStatuses(state: AccountState, batch: readonly QueuedReport<InFlightMessage>[]): string {
  const contacts = new Map<string, object>()
  const statuses = batch.map(({ item, step }) => {
    const { status, afterMs, error } = stepsOf(item.plan)[step] ?? unknownStep
    const { id, at, recipient, callback_data, content } = item
    // The number of a message to a user id is known if the customer has shown it.
    const isUserId = recipient.includes('.')
    const number = isUserId ? state.business.numbers.get(recipient) : recipient
    const userId = isUserId ? recipient : userIdOfNumber(state, recipient)
    if (status !== 'failed' && !contacts.has(userId)) contacts.set(userId, contactOf(state, number, userId))
    return {
      id,
      status,
      timestamp: String(Math.floor((at + afterMs) / 1000)),
      ...(number ? { recipient_id: number } : {}),
      recipient_user_id: userId,
      ...(callback_data === undefined ? {} : { biz_opaque_callback_data: callback_data }),
      ...(status === 'sent' && 'category' in content ? { pricing: pricingOf(content) } : {}),
      ...(status === 'failed' ? { errors: [statusError(error ?? 131000)] } : {}),
    }
  })
  const withContacts = contacts.size > 0 ? { contacts: [...contacts.values()] } : {}
  return wireJson(messagesCallback(state.account, { ...withContacts, statuses }))
}

function contactOf({ customers }: AccountState, number: string | undefined, userId: string) {
  const customer = customers.get(number || userId) ?? customers.get(userId)
  const username = customer?.username ?? undefined
  // Every user of the network has a profile name. The simulator knows only the number of one who never wrote.
  const name = customer?.name ?? (number ? `+${number}` : (username ?? userId))
  return {
    profile: { name, username },
    wa_id: number || undefined,
    user_id: userId,
  }
}

const pricingOf = ({ category, isFree }: { category: string; isFree: boolean }) => ({
  billable: !isFree,
  pricing_model: 'PMP',
  type: isFree ? 'free_customer_service' : 'regular',
  category,
})

/** The callback body of a batch on social: echoes of sent messages, and read receipts. */
export function formatSocialReports(state: AccountState, batch: readonly QueuedReport<InFlightMessage>[]): string {
  const accountId = state.account?.account_id ?? ''
  const messaging = batch.map(({ item, step }) => {
    const { status, afterMs } = stepsOf(item.plan)[step] ?? unknownStep
    const timestamp = item.at + afterMs
    const business = { id: accountId }
    const customer = { id: item.recipient }
    if (status === 'read') return { sender: customer, recipient: business, timestamp, read: { mid: item.id } }
    const message = 'message' in item.content ? (item.content.message as object) : {}
    return { sender: business, recipient: customer, timestamp, message: { mid: item.id, ...message, is_echo: true } }
  })
  return wireJson(messagingCallback(accountId, messaging))
}
