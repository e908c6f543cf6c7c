/**
 * Status reports: which a message gets, when, and in which words.
 *
 * A wheel of 20 ms slots holds what is to come, so a thousand messages a
 * second cost one timer. What is due at the same time is reported together.
 */
import type { AccountState } from '../state/accounts.ts'
import type { Fate } from '../state/faults.ts'
import type { PhoneEntry } from '../state/phones.ts'
import { reportedError } from '../wire/errors.ts'
import { userIdOf, wireJson } from '../wire/ids.ts'
import type { Callbacks, Report } from './callbacks.ts'

export type Status = 'sent' | 'delivered' | 'read' | 'failed'

/** How far a message got; a report that comes late does not take it back. */
export const ranks = { accepted: 0, sent: 1, failed: 2, delivered: 3, read: 4 }

/** When it happened, when it is told, and why it failed. */
type Step = { readonly status: Status; readonly afterMs: number; readonly toldMs: number; readonly error?: number }

const sent: Step = { status: 'sent', afterMs: 50, toldMs: 50 }
const delivered: Step = { status: 'delivered', afterMs: 150, toldMs: 150 }
const read: Step = { status: 'read', afterMs: 400, toldMs: 400 }
const failed = (error: number, afterMs: number): Step => ({ status: 'failed', afterMs, toldMs: afterMs, error })
const late = (step: Step, toldMs: number): Step => ({ ...step, toldMs })

/** By name, because the journal keeps the name: what was begun goes on after a restart. */
export const plans = {
  full: [sent, delivered, read],
  reordered: [read, late(delivered, 450), late(sent, 500)],
  unread: [sent, delivered],
  unread_reordered: [delivered, late(sent, 200)],
  fails_after_sent: [sent, failed(131000, 150)],
  window_closed: [failed(131047, 50)],
  bad_media: [failed(131053, 50)],
  /** Social: an echo takes the place of `sent`, and nothing tells of delivery. */
  echo: [sent, read],
  echo_reordered: [read, late(sent, 450)],
  silent: [],
} satisfies Record<string, readonly Step[]>

export type PlanName = keyof typeof plans

const stepsOf = (plan: PlanName): readonly Step[] => plans[plan]

/** A message that still has something to report. */
export type InFlight = Report & {
  readonly id: string
  readonly at: number
  readonly plan: PlanName
  readonly twice: boolean
  /** The recipient's number, or user id where the number is not known. */
  readonly recipient: string
  readonly callback_data: string | undefined
  /** On msgapp what it costs, on social what an echo repeats. */
  readonly content: Content
  readonly entry: PhoneEntry | undefined
  /** One bit for each step that was taken already. */
  readonly taken: number
}

type Content = { readonly category: string; readonly isFree: boolean } | { readonly message: unknown }

export function planOf(fate: Readonly<Fate>, isSocial: boolean): PlanName {
  if (fate.silent) return 'silent'
  if (isSocial) return fate.reorder ? 'echo_reordered' : 'echo'
  if (fate.failsAfterSent) return 'fails_after_sent'
  if (fate.unread) return fate.reorder ? 'unread_reordered' : 'unread'
  return fate.reorder ? 'reordered' : 'full'
}

/** A step the plan does not have: never, but for the compiler. */
const unknownStep: Step = failed(131000, 0)

const slotMs = 20
const slotCount = 64

export type Statuses = {
  /** Report what is left of the message, each step at its time. */
  begin(message: InFlight): void
  stop(): void
}

export function startStatuses(
  callbacks: Callbacks<InFlight>,
  happened: (message: InFlight, status: Status, error: number | undefined) => void,
): Statuses {
  const slots: { message: InFlight; step: number }[][] = Array.from({ length: slotCount }, () => [])
  let count = 0
  let done = Math.floor(Date.now() / slotMs)
  let timer: NodeJS.Timeout | undefined

  function schedule(message: InFlight, from: number) {
    const steps = stepsOf(message.plan)
    let step = from
    while (step < steps.length && message.taken & (1 << step)) step++
    const next = steps[step]
    if (!next) return
    const dueAt = message.at + next.toldMs + ((message.seq * 13) % 31) - 15
    // Never further than one turn of the wheel: a clock that was set back must not hold anything up.
    const slot = Math.min(Math.max(Math.ceil(dueAt / slotMs), done + 1), done + slotCount - 1)
    slots[slot % slotCount]?.push({ message, step })
    count++
    timer ??= setInterval(turn, slotMs)
  }

  function turn() {
    const now = Math.floor(Date.now() / slotMs)
    if (now - done > slotCount) done = now - slotCount
    while (done < now) {
      done++
      const due = slots[done % slotCount]
      if (!due || due.length === 0) continue
      slots[done % slotCount] = []
      count -= due.length
      for (const { message, step } of due) report(message, step)
    }
    callbacks.flush()
    if (count === 0) {
      clearInterval(timer)
      timer = undefined
    }
  }

  function report(message: InFlight, step: number) {
    const steps = stepsOf(message.plan)
    const { status, error } = steps[step] ?? unknownStep
    callbacks.report(message, step, false)
    if (message.twice) callbacks.report(message, step, true)
    happened(message, status, error)
    schedule(message, step + 1)
  }

  return {
    begin(message) {
      if (count === 0) done = Math.floor(Date.now() / slotMs)
      schedule(message, 0)
    },
    stop() {
      clearInterval(timer)
    },
  }
}

/** A batch of reports on msgapp. */
export function statusBody(state: AccountState, batch: readonly { item: InFlight; step: number }[]): string {
  const { account_id, display_phone_number, phone_number_id } = state.account ?? {
    account_id: '',
    display_phone_number: '',
    phone_number_id: '',
  }
  const contacts = new Map<string, object>()
  const statuses = batch.map(({ item, step }) => {
    const { status, afterMs, error } = stepsOf(item.plan)[step] ?? unknownStep
    const { id, at, recipient, callback_data, content } = item
    const isUserId = recipient.includes('.')
    const userId = isUserId ? recipient : userIdOf(account_id, recipient)
    if (status !== 'failed' && !contacts.has(recipient)) contacts.set(recipient, contactOf(state, recipient, userId))
    return {
      id,
      status,
      timestamp: String(Math.floor((at + afterMs) / 1000)),
      ...(isUserId ? {} : { recipient_id: recipient }),
      recipient_user_id: userId,
      ...(callback_data === undefined ? {} : { biz_opaque_callback_data: callback_data }),
      ...(status === 'sent' && 'category' in content ? { pricing: pricingOf(content) } : {}),
      ...(status === 'failed' ? { errors: [reportedError(error ?? 131000)] } : {}),
    }
  })
  return wireJson({
    object: 'whatsapp_business_account',
    entry: [
      {
        id: account_id,
        changes: [
          {
            value: {
              messaging_product: 'whatsapp',
              metadata: { display_phone_number, phone_number_id },
              ...(contacts.size > 0 ? { contacts: [...contacts.values()] } : {}),
              statuses,
            },
            field: 'messages',
          },
        ],
      },
    ],
  })
}

function contactOf(state: AccountState, recipient: string, userId: string) {
  // Every account of the network has a profile name; of one that never wrote, nothing but its number is known.
  const name = state.customers.get(recipient)?.name ?? (recipient === userId ? userId : `+${recipient}`)
  return {
    profile: { name },
    ...(recipient === userId ? {} : { wa_id: recipient }),
    user_id: userId,
  }
}

const pricingOf = ({ category, isFree }: { category: string; isFree: boolean }) => ({
  billable: !isFree,
  pricing_model: 'PMP',
  type: isFree ? 'free_customer_service' : 'regular',
  category,
})

/** A batch on social: echoes of what was sent, and how far it was read. */
export function socialBody(state: AccountState, batch: readonly { item: InFlight; step: number }[]): string {
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
  return wireJson({ object: 'instagram', entry: [{ id: accountId, time: Date.now(), messaging }] })
}
