/**
 * Replays the journal at the start: customers, accepted messages, and reports
 * and callbacks that the service has not accepted.
 *
 * A million messages take about two seconds and two bytes each: their bodies
 * are not parsed, and phones are restored from the last lines only.
 */
import { type PlanName, plans, ranks } from './delivery/statuses.ts'
import { messageReportFields } from './graph/messages.ts'
import { isObjectOfNumber } from './graph/objects.ts'
import { socialReportFields } from './graph/social.ts'
import {
  type Channel,
  type Heir,
  type LineOwner,
  recordCustomer,
  recordUserId,
  templateOwner,
} from './state/accounts.ts'
import type { JournalPosition, ReplayLine } from './state/journal.ts'
import type { Media } from './state/media.ts'
import type { PhoneEntry } from './state/phones.ts'
import type { Bubble } from './wire/bubble.ts'
import { phoneError } from './wire/errors.ts'
import type { Json } from './wire/http.ts'
import { userIdPattern } from './wire/ids.ts'
import { createTemplate, type Template, templateKey } from './wire/templates.ts'
import type { World } from './world.ts'

type CallbackLine = LineOwner & {
  q: number
  keys?: string[]
  phone?: string
  at?: number
  name?: string | null
  username?: string | null
  bubble?: Bubble
}

type TemplateLine = Pick<LineOwner, 'w' | 'a'> & { template?: Template; deleted?: string }

/** A line with a bubble: a message by its `seq`, or a callback by its number. */
type BubbleLine = JournalPosition & ({ seq: number } | { number: number })

/** The start of a line as `acceptMessage` and `acceptSocial` write it, up to the recipient. */
const messageHead =
  /^\{"k":"m","p":"(\w+)"(?:,"x":1)?(?:,"n":"([^"]*)")?,"r":"([^"]*)","message_id":"[^"]*","workspace_id":"([^"]*)","channel":"(\w+)",/
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
  const openCallbacks = new Map<number, JournalPosition & { owner: LineOwner }>()
  let bubbleLines: BubbleLine[] = []
  let callbackCount = 0

  function keepBubbleLine(line: BubbleLine) {
    bubbleLines.push(line)
    if (bubbleLines.length >= 2 * maxBubbleLines) bubbleLines = bubbleLines.slice(-maxBubbleLines)
  }

  function replayMessage(text: string, offset: number, length: number) {
    const [, plan = 'silent', n, recipient = '', w = '', channel] = messageHead.exec(text) ?? []
    const sender = accounts.resolveState({ w, c: channel === 'social' ? 'social' : 'msgapp', n })
    const seq = sent.add(sender, recipient, offset, length)
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
      const { q: number, w, c, n, a, keys = [], at = 0, name = null, username = null } = head
      const owner = { w, c, n, a }
      callbackCount = Math.max(callbackCount, number)
      const state = accounts.resolveState(owner)
      for (const key of keys) recordCustomer(state, key, at, { name, username })
      const userId = c === 'msgapp' ? keys.find((key) => userIdPattern.test(key)) : undefined
      if (userId) recordUserId(accounts.resolveBusiness(owner), userId, keys.find((key) => key !== userId) ?? '')
      openCallbacks.set(number, { ...position, owner })
      if (head.bubble) keepBubbleLine({ number, ...position })
    },
    x(text) {
      for (const number of (JSON.parse(text) as { d: number[] }).d) openCallbacks.delete(number)
    },
    t(text) {
      const { w, a, template, deleted } = JSON.parse(text) as TemplateLine
      const owner = { w, c: 'msgapp', a } as const
      const { templates } = accounts.resolveBusiness(owner)
      if (template) templates.set(templateKey(template), createTemplate(templateOwner(owner), template))
      if (deleted) templates.delete(deleted)
    },
    o(text) {
      const { w, c, n, a, name, value } = JSON.parse(text) as LineOwner & { name: string; value: Json | null }
      const owner = { w, c, n, a }
      const { objects } = isObjectOfNumber(name) ? accounts.resolveState(owner) : accounts.resolveBusiness(owner)
      if (value) objects.set(name, value)
      else objects.delete(name)
    },
    c(text) {
      const { w, c, n, a } = JSON.parse(text) as Heir
      accounts.takeOver({ w, c, n, a })
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
        const { w, c, n, phone = '', name = null, username = null, bubble } = JSON.parse(text)
        const { workspace_id, channel, connection_id } = accounts.resolveState({ w, c, n })
        const message = { phone, name, username, id: bubble?.id ?? '', offset, length }
        const entry = world.phones.addInbound({ workspace_id, channel, connection_id, ...message })
        if (openCallbacks.has(line.number)) entry.status = 'failed'
        entries.set(-line.number, entry)
        continue
      }
      const { workspace_id, channel, n, to, message_id: id } = JSON.parse(text)
      const { connection_id } = accounts.resolveState({ w: workspace_id, c: channel, n })
      const message = { connection_id, id, from: 'business', offset, length, status: 'accepted' } as const
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
      const { workspace_id, channel, n, r, message_id, at, x, body } = text as Record<string, string> & {
        channel: Channel
        body: Json
      }
      const state = accounts.resolveState({ w: String(workspace_id), c: channel, n })
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
      for (const [number, { owner, ...position }] of openCallbacks) {
        const text = world.journal.read(position)
        const body = text.slice(text.indexOf(bodyMark) + bodyMark.length, -1)
        const entry = entries.get(-number)
        void world.callbacks.deliver(accounts.resolveState(owner), body, number, () => {
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
