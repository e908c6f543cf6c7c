/**
 * The journal read back at the start: who wrote, what was accepted, and what
 * was not reported to its end.
 *
 * A million messages are read in about two seconds and leave two bytes each in
 * memory: bodies are not parsed on the way, and phones are laid out from the
 * last lines only.
 */

import { addInbound } from './control/control.ts'
import { type PlanName, plans, ranks } from './delivery/statuses.ts'
import { messageInFlight } from './graph/messages.ts'
import { socialInFlight } from './graph/social.ts'
import type { AccountState, Channel } from './state/accounts.ts'
import type { Place, Replay } from './state/journal.ts'
import type { Media } from './state/media.ts'
import type { Bubble, PhoneEntry } from './state/phones.ts'
import { shownError } from './wire/errors.ts'
import type { Json } from './wire/http.ts'
import { createTemplate, type Template, templateKey } from './wire/templates.ts'
import { noteCustomer, type World } from './world.ts'

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

/** Of a message: its `seq`. Of a callback: its number. */
type Recent = Place & ({ seq: number } | { number: number })

/** As `acceptMessage` and `acceptSocial` write it, up to the recipient. */
const messageHead =
  /^\{"k":"m","p":"(\w+)"(?:,"x":1)?,"r":"([^"]*)","message_id":"[^"]*","workspace_id":"([^"]*)","channel":"\w+",/
const headBytes = 600
const bodyMark = ',"body":'
const planNames = Object.keys(plans) as PlanName[]
const [letterM, letterS] = [0x6d, 0x73]

/** Fifty phones with a hundred bubbles, twice over. */
const maxRecent = 10_000

export function createReplay({ accounts, sent, media }: Pick<World, 'accounts' | 'sent' | 'media'>) {
  /** By `seq`: which plan a message has, and a bit for each report of it that was taken. */
  let planOf = new Uint8Array(1024)
  let taken = new Uint8Array(1024)
  const untaken = new Map<number, Place & { state: AccountState }>()
  let recent: Recent[] = []
  let callbackCount = 0

  function remember(line: Recent) {
    recent.push(line)
    if (recent.length >= 2 * maxRecent) recent = recent.slice(-maxRecent)
  }

  function message(text: string, offset: number, length: number) {
    const [, plan = 'silent', recipient = '', workspaceId = ''] = messageHead.exec(text) ?? []
    const seq = sent.add(workspaceId, recipient, offset, length)
    if (seq === planOf.length) {
      const [plansBefore, takenBefore] = [planOf, taken]
      planOf = new Uint8Array(seq * 2)
      taken = new Uint8Array(seq * 2)
      planOf.set(plansBefore)
      taken.set(takenBefore)
    }
    planOf[seq] = planNames.indexOf(plan as PlanName)
    remember({ seq, offset, length })
  }

  const kinds: Record<string, (text: string, place: Place) => void> = {
    i(text, place) {
      const head = JSON.parse(`${text.slice(0, text.indexOf(bodyMark))}}`) as CallbackLine
      const { q: number, w, c, keys = [], at = 0, name = null, username = null } = head
      callbackCount = Math.max(callbackCount, number)
      const state = accounts.resolveState(w, c)
      for (const key of keys) noteCustomer(state, key, at, { name, username })
      untaken.set(number, { ...place, state })
      if (head.bubble) remember({ number, ...place })
    },
    x(text) {
      for (const number of (JSON.parse(text) as { d: number[] }).d) untaken.delete(number)
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

  const line: Replay = (bytes, from, to, offset) => {
    const kind = bytes[from + 6]
    if (kind === letterM)
      return message(bytes.toString('latin1', from, Math.min(to, from + headBytes)), offset, to - from)
    if (kind === letterS) {
      for (const report of (JSON.parse(bytes.toString('latin1', from, to)) as { d: number[] }).d) {
        const seq = Math.floor(report / 8)
        if (seq < taken.length) taken[seq] = (taken[seq] ?? 0) | (1 << (report % 8))
      }
      return
    }
    kinds[String.fromCharCode(kind ?? 0)]?.(bytes.toString('utf8', from, to), { offset, length: to - from })
  }

  /** Put the last bubbles back on their phones. Returns those of messages by `seq`, of callbacks by -number. */
  function layOut(world: World): Map<number, PhoneEntry> {
    const entries = new Map<number, PhoneEntry>()
    for (const place of recent.slice(-maxRecent)) {
      const text = world.journal.read(place)
      if ('number' in place) {
        const { w, c, phone = '', name = null, username = null, bubble } = JSON.parse(text) as CallbackLine
        const state = accounts.resolveState(w, c)
        const entry = addInbound(world, state, phone, bubble?.id ?? '', { name, username }, place.offset, place.length)
        if (untaken.has(place.number)) entry.status = 'failed'
        entries.set(-place.number, entry)
        continue
      }
      const { workspace_id, channel, to, message_id } = JSON.parse(text)
      const entry = world.phones.add(workspace_id, channel, to, {
        id: message_id,
        from: 'business',
        ...place,
        status: 'accepted',
      })
      stepsOf(place.seq).forEach(({ status, error }, step) => {
        const isTaken = (taken[place.seq] ?? 0) & (1 << step)
        if (isTaken && ranks[status] > ranks[entry.status]) Object.assign(entry, { status, error: shownError(error) })
      })
      entries.set(place.seq, entry)
    }
    return entries
  }

  const planNameOf = (seq: number) => planNames[planOf[seq] ?? -1] ?? 'silent'
  const stepsOf = (seq: number) => plans[planNameOf(seq)]

  return {
    line,
    callbackCount: () => callbackCount,
    /** Take up what was left: reports at once, where their time has come, and callbacks again. */
    goOn(world: World): void {
      const entries = layOut(world)
      for (let seq = 0; seq < sent.size; seq++) {
        if (taken[seq] === (1 << stepsOf(seq).length) - 1) continue
        const text = JSON.parse(world.journal.read(sent.placeOf(seq)))
        const { workspace_id, channel, r, message_id, at, x, body } = text as Record<string, string> & {
          channel: Channel
          body: Json
        }
        const state = accounts.resolveState(String(workspace_id), channel)
        world.statuses.begin({
          ...(channel === 'social'
            ? socialInFlight(state, body, String(r))
            : messageInFlight(state, body, String(r), false)),
          seq,
          id: String(message_id),
          at: Date.parse(String(at)),
          plan: planNameOf(seq),
          twice: x !== undefined,
          entry: entries.get(seq),
          taken: taken[seq] ?? 0,
        })
      }
      for (const [number, { state, ...place }] of untaken) {
        const text = world.journal.read(place)
        const body = text.slice(text.indexOf(bodyMark) + bodyMark.length, -1)
        const entry = entries.get(-number)
        void world.callbacks.deliver(state, body, number, () => {
          if (entry) world.phones.setStatus(entry, 'delivered', null)
        })
      }
      recent = []
      untaken.clear()
      planOf = new Uint8Array()
      taken = new Uint8Array()
    },
  }
}
