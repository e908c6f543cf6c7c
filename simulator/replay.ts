/**
 * Replays the journal at the start: customers, accepted messages, and reports
 * and callbacks that the service has not accepted.
 *
 * A million messages take about two seconds and two bytes each: their bodies
 * are not parsed, and phones are restored from the last lines only.
 */
import { type PlanName, plans, ranks } from './delivery/statuses.ts'
import { messageReportFields } from './graph/messages.ts'
import { socialReportFields } from './graph/social.ts'
import { type AccountState, type Channel, recordCustomer } from './state/accounts.ts'
import type { JournalPosition, ReplayLine } from './state/journal.ts'
import type { Media } from './state/media.ts'
import type { PhoneEntry } from './state/phones.ts'
import type { Bubble } from './wire/bubble.ts'
import { phoneError } from './wire/errors.ts'
import type { Json } from './wire/http.ts'
import { createTemplate, type Template, templateKey } from './wire/templates.ts'
import type { World } from './world.ts'

type CallbackLine = {
  q: number
  w: string
  c: Channel
  keys?: string[]
  phone?: string
  at?: number
  name?: string | null
  username?: string | null
  bubble?: Bubble
}

/** A line with a bubble: a message by its `seq`, or a callback by its number. */
type BubbleLine = JournalPosition & ({ seq: number } | { number: number })

/** The start of a line as `acceptMessage` and `acceptSocial` write it, up to the recipient. */
const messageHead =
  /^\{"k":"m","p":"(\w+)"(?:,"x":1)?,"r":"([^"]*)","message_id":"[^"]*","workspace_id":"([^"]*)","channel":"\w+",/
const headBytes = 600
const bodyMark = ',"body":'
const planNames = Object.keys(plans) as PlanName[]
const [letterM, letterS] = [0x6d, 0x73]

/** Twice the bubbles of fifty phones with a hundred each. */
const maxBubbleLines = 10_000

export function createReplay({ accounts, sent, media }: Pick<World, 'accounts' | 'sent' | 'media'>) {
  /** By `seq`: the index of the message's plan, and a bit for each report that the service accepted. */
  let planIndexes = new Uint8Array(1024)
  let acceptedSteps = new Uint8Array(1024)
  const openCallbacks = new Map<number, JournalPosition & { state: AccountState }>()
  let bubbleLines: BubbleLine[] = []
  let callbackCount = 0

  function keepBubbleLine(line: BubbleLine) {
    bubbleLines.push(line)
    if (bubbleLines.length >= 2 * maxBubbleLines) bubbleLines = bubbleLines.slice(-maxBubbleLines)
  }

  function replayMessage(text: string, offset: number, length: number) {
    const [, plan = 'silent', recipient = '', workspaceId = ''] = messageHead.exec(text) ?? []
    const seq = sent.add(workspaceId, recipient, offset, length)
    if (seq === planIndexes.length) {
      const [plansBefore, stepsBefore] = [planIndexes, acceptedSteps]
      planIndexes = new Uint8Array(seq * 2)
      acceptedSteps = new Uint8Array(seq * 2)
      planIndexes.set(plansBefore)
      acceptedSteps.set(stepsBefore)
    }
    planIndexes[seq] = planNames.indexOf(plan as PlanName)
    keepBubbleLine({ seq, offset, length })
  }

  const handlers: Record<string, (text: string, position: JournalPosition) => void> = {
    i(text, position) {
      const head = JSON.parse(`${text.slice(0, text.indexOf(bodyMark))}}`) as CallbackLine
      const { q: number, w, c, keys = [], at = 0, name = null, username = null } = head
      callbackCount = Math.max(callbackCount, number)
      const state = accounts.resolveState(w, c)
      for (const key of keys) recordCustomer(state, key, at, { name, username })
      openCallbacks.set(number, { ...position, state })
      if (head.bubble) keepBubbleLine({ number, ...position })
    },
    x(text) {
      for (const number of (JSON.parse(text) as { d: number[] }).d) openCallbacks.delete(number)
    },
    t(text) {
      const { w, template, deleted } = JSON.parse(text) as { w: string; template?: Template; deleted?: string }
      const { templates } = accounts.resolveState(w, 'msgapp')
      if (template) templates.set(templateKey(template), createTemplate(w, template))
      if (deleted) templates.delete(deleted)
    },
    o(text) {
      const { w, c, name, value } = JSON.parse(text) as { w: string; c: Channel; name: string; value: Json | null }
      const { objects } = accounts.resolveState(w, c)
      if (value) objects.set(name, value)
      else objects.delete(name)
    },
    u(text) {
      media.replay(JSON.parse(text) as Media)
    },
  }

  const replayLine: ReplayLine = (bytes, from, to, offset) => {
    const kind = bytes[from + 6]
    if (kind === letterM) {
      return replayMessage(bytes.toString('latin1', from, Math.min(to, from + headBytes)), offset, to - from)
    }
    if (kind === letterS) {
      for (const report of (JSON.parse(bytes.toString('latin1', from, to)) as { d: number[] }).d) {
        const seq = Math.floor(report / 8)
        if (seq < acceptedSteps.length) acceptedSteps[seq] = (acceptedSteps[seq] ?? 0) | (1 << (report % 8))
      }
      return
    }
    handlers[String.fromCharCode(kind ?? 0)]?.(bytes.toString('utf8', from, to), { offset, length: to - from })
  }

  /** Restores the last bubbles. Returns the entries of messages by `seq`, those of callbacks by negative number. */
  function restorePhones(world: World): Map<number, PhoneEntry> {
    const entries = new Map<number, PhoneEntry>()
    for (const line of bubbleLines.slice(-maxBubbleLines)) {
      const { offset, length } = line
      const text = world.journal.read(line)
      if ('number' in line) {
        const { w: workspace_id, c: channel, phone = '', name = null, username = null, bubble } = JSON.parse(text)
        const id = bubble?.id ?? ''
        const entry = world.phones.addInbound({ workspace_id, channel, phone, name, username, id, offset, length })
        if (openCallbacks.has(line.number)) entry.status = 'failed'
        entries.set(-line.number, entry)
        continue
      }
      const { workspace_id, channel, to, message_id: id } = JSON.parse(text)
      const message = { id, from: 'business', offset, length, status: 'accepted' } as const
      const entry = world.phones.add(workspace_id, channel, to, message)
      stepsOf(line.seq).forEach(({ status, error }, step) => {
        const isAccepted = (acceptedSteps[line.seq] ?? 0) & (1 << step)
        if (isAccepted && ranks[status] > ranks[entry.status])
          Object.assign(entry, { status, error: phoneError(error) })
      })
      entries.set(line.seq, entry)
    }
    return entries
  }

  const planNameOf = (seq: number) => planNames[planIndexes[seq] ?? -1] ?? 'silent'
  const stepsOf = (seq: number) => plans[planNameOf(seq)]

  function resumeReports(world: World, entries: Map<number, PhoneEntry>) {
    for (let seq = 0; seq < sent.size; seq++) {
      if (acceptedSteps[seq] === (1 << stepsOf(seq).length) - 1) continue
      const text = JSON.parse(world.journal.read(sent.positionOf(seq)))
      const { workspace_id, channel, r, message_id, at, x, body } = text as Record<string, string> & {
        channel: Channel
        body: Json
      }
      const state = accounts.resolveState(String(workspace_id), channel)
      world.statuses.start({
        ...(channel === 'social'
          ? socialReportFields(state, body, String(r))
          : messageReportFields(state, body, String(r), false)),
        seq,
        id: String(message_id),
        at: Date.parse(String(at)),
        plan: planNameOf(seq),
        duplicateStatuses: x !== undefined,
        entry: entries.get(seq),
        acceptedSteps: acceptedSteps[seq] ?? 0,
      })
    }
  }

  return {
    replayLine,
    callbackCount: () => callbackCount,
    /** Schedules the remaining status reports and repeats the callbacks that the service has not accepted. */
    resume(world: World): void {
      const entries = restorePhones(world)
      resumeReports(world, entries)
      for (const [number, { state, ...position }] of openCallbacks) {
        const text = world.journal.read(position)
        const body = text.slice(text.indexOf(bodyMark) + bodyMark.length, -1)
        const entry = entries.get(-number)
        void world.callbacks.deliver(state, body, number, () => {
          if (entry) world.phones.setStatus(entry, 'delivered', null)
        })
      }
      bubbleLines = []
      openCallbacks.clear()
      planIndexes = new Uint8Array()
      acceptedSteps = new Uint8Array()
    },
  }
}
