/** The clocks of episodes against a model that counts seconds one by one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type ClockKind, clockKinds } from '../automation/definition.ts'
import {
  applyChange,
  type Change,
  type Clock,
  calendar,
  firstDue,
  follow,
  type TimeCount,
  type Track,
} from './policy.ts'

const second = 1_000

/** Open for four seconds of every ten. */
const office: TimeCount = {
  between: (from, to) => {
    let sum = 0
    for (let at = from; at < to; at += second) if (isOffice(at)) sum += second
    return sum
  },
  add: (from, ms) => {
    if (ms <= 0) return from
    let left = ms
    for (let at = from; ; at += second) {
      if (isOffice(at)) left -= second
      if (left === 0) return at + second
    }
  },
}
const isOffice = (at: number) => (at / second) % 10 < 4

type Event = { after: number; what: 'write' | 'reply' | 'bot' | 'hand_over' | 'snooze' | 'close' }
type State = Omit<Change, 'atMs'>

/** What the statements of conversations do with the facts. */
function next(state: State, what: Event['what'], atMs: number): State {
  if (what === 'write') return { ...state, waitingSinceMs: state.waitingSinceMs ?? atMs }
  if (what === 'reply') return { ...state, waitingSinceMs: null, isWithBot: false, hasReplied: true }
  if (what === 'bot') return { ...state, isWithBot: true }
  if (what === 'hand_over') return { ...state, isWithBot: false }
  if (what === 'close') return { isOpen: false, waitingSinceMs: null, isWithBot: false, hasReplied: state.hasReplied }
  return state
}

type Case = { opensByMember: boolean; events: Event[]; limits: Partial<Record<ClockKind, number>>; isOffice: boolean }

function changesOf({ opensByMember, events }: Case): Change[] {
  let atMs = 100 * second
  let state: State = {
    ...{ isOpen: true, isWithBot: false, waitingSinceMs: opensByMember ? null : atMs, hasReplied: opensByMember },
  }
  const changes: Change[] = [{ atMs, ...state }]
  for (const { after, what } of events) {
    atMs += after * second
    const changed = next(state, what, atMs)
    if (JSON.stringify(changed) === JSON.stringify(state)) continue
    state = changed
    changes.push({ atMs, ...state })
    if (!state.isOpen) break
  }
  return changes
}

const limitsMs = (limits: Case['limits']) =>
  Object.fromEntries(Object.entries(limits).map(([kind, seconds]) => [kind, seconds * second]))

/** Counts each second in which the clock runs. A breach is at the end of the second in which the count reaches the limit, if it still runs. */
function model(one: Case, endMs: number) {
  const changes = changesOf(one)
  const used = { first_reply: 0, next_reply: 0, closing: 0 }
  const breaches: Partial<Record<ClockKind, number>> = {}
  const met: Partial<Record<ClockKind, boolean>> = {}
  let hasReplied = false
  let wait: number | null = null
  let isOpen = true
  for (let at = changes[0]?.atMs ?? 0; at <= endMs; at += second) {
    const before = changes.filter(({ atMs }) => atMs < at).at(-1)
    const now = changes.filter(({ atMs }) => atMs <= at).at(-1)
    const first = before === undefined
    // The second before `at`.
    if (before?.isOpen && before.waitingSinceMs !== null && !before.isWithBot) {
      const isUsed = !one.isOffice || isOffice(at - second)
      const kinds: ClockKind[] = before.hasReplied ? ['next_reply', 'closing'] : ['first_reply', 'closing']
      for (const kind of kinds) if (isUsed) used[kind]++
    }
    if (!now) continue
    const wasWaiting = wait !== null
    if (isOpen && !now.isOpen) {
      isOpen = false
      met.closing = used.closing > 0 || changes.some((each) => each.waitingSinceMs !== null && !each.isWithBot)
    }
    if (!first && wasWaiting && now.isOpen && now.waitingSinceMs === null)
      met[hasReplied ? 'next_reply' : 'first_reply'] = true
    if (wait === null && now.waitingSinceMs !== null) used.next_reply = 0
    wait = now.isOpen ? now.waitingSinceMs : null
    hasReplied = now.hasReplied
    // Late is what still waits after its time.
    if (now.isOpen && wait !== null && !now.isWithBot) {
      const kinds: ClockKind[] = hasReplied ? ['next_reply', 'closing'] : ['first_reply', 'closing']
      for (const kind of kinds) {
        const limit = one.limits[kind]
        if (limit !== undefined && used[kind] >= limit) breaches[kind] ??= at
      }
    }
  }
  return { breaches, met }
}

const kindTimes = fc.record(
  {
    first_reply: fc.integer({ min: 1, max: 30 }),
    next_reply: fc.integer({ min: 1, max: 30 }),
    closing: fc.integer({ min: 1, max: 60 }),
  },
  { requiredKeys: [] },
)
const cases: fc.Arbitrary<Case> = fc.record({
  opensByMember: fc.boolean(),
  events: fc.array(
    fc.record({
      after: fc.integer({ min: 1, max: 20 }),
      what: fc.constantFrom(
        'write',
        'write',
        'write',
        'reply',
        'reply',
        'bot',
        'hand_over',
        'snooze',
        'close',
      ) as fc.Arbitrary<Event['what']>,
    }),
    { maxLength: 20 },
  ),
  limits: kindTimes,
  isOffice: fc.boolean(),
})

type Followed = { track: Track | undefined; clocks: Clock[] }
const nothing: Followed = { track: undefined, clocks: [] }

const run = (one: Case, nowMs: number): Followed =>
  follow(nothing, changesOf(one), { count: one.isOffice ? office : calendar, limitsMs: limitsMs(one.limits) }, nowMs)

const breachesOf = ({ clocks }: Followed) =>
  Object.fromEntries(clocks.flatMap(({ kind, breachedMs }) => (breachedMs === null ? [] : [[kind, breachedMs]])))

test('the breaches are those that counting the seconds finds', () => {
  fc.assert(
    fc.property(cases, fc.integer({ min: 0, max: 60 }), (one, after) => {
      const endMs = (changesOf(one).at(-1)?.atMs ?? 0) + after * second
      const expected = model(one, endMs)
      const found = breachesOf(run(one, endMs))
      // The calendar names the end of the last office hour, the count of seconds the first moment at which the clock runs after it.
      assert.deepEqual(Object.keys(found).sort(), Object.keys(expected.breaches).sort())
      if (!one.isOffice) assert.deepEqual(found, expected.breaches)
    }),
    { numRuns: 2_000 },
  )
})

test('a reply in time is met, and a breach stays missed', () => {
  fc.assert(
    fc.property(cases, (one) => {
      const endMs = changesOf(one).at(-1)?.atMs ?? 0
      const { breaches, met } = model(one, endMs)
      const { clocks } = run(one, endMs)
      for (const kind of clockKinds) {
        const outcome = clocks.find((clock) => clock.kind === kind)?.outcome ?? null
        if (one.limits[kind] === undefined) assert.equal(outcome, null)
        else if (breaches[kind] !== undefined) assert.equal(outcome, 'missed')
        else if (outcome === 'met') assert.ok(met[kind], kind)
      }
    }),
    { numRuns: 2_000 },
  )
})

test('it makes no difference how often and how late the changes are read', () => {
  fc.assert(
    fc.property(cases, fc.array(fc.boolean(), { maxLength: 25 }), (one, cuts) => {
      const changes = changesOf(one)
      const times = { count: one.isOffice ? office : calendar, limitsMs: limitsMs(one.limits) }
      const endMs = (changes.at(-1)?.atMs ?? 0) + 5 * second
      let followed: Followed = nothing
      let batch: Change[] = []
      changes.forEach((change, i) => {
        batch.push(change)
        if (!cuts[i]) return
        followed = follow(JSON.parse(JSON.stringify(followed)), batch, times, change.atMs)
        batch = []
      })
      assert.deepEqual(follow(followed, batch, times, endMs), follow(nothing, changes, times, endMs))
    }),
    { numRuns: 1_000 },
  )
})

test('a target misses nothing that was late before it applied', () => {
  fc.assert(
    fc.property(cases, fc.integer({ min: 0, max: 100 }), (one, after) => {
      const changes = changesOf(one)
      const times = { count: one.isOffice ? office : calendar, limitsMs: limitsMs(one.limits) }
      const endMs = (changes.at(-1)?.atMs ?? 0) + 5 * second
      const appliedMs = (changes[0]?.atMs ?? 0) + after * second
      const found = breachesOf(follow(nothing, changes, { ...times, appliedMs }, endMs))
      const whole = breachesOf(follow(nothing, changes, times, endMs))
      for (const kind of ['first_reply', 'closing']) {
        const breachMs = whole[kind] ?? 0
        assert.equal(found[kind], breachMs > appliedMs ? breachMs : undefined, kind)
      }
      assert.ok((found.next_reply ?? Infinity) > appliedMs)
    }),
    { numRuns: 1_000 },
  )
})

test('a breach stays when its target applies again, and the next wait has a clock', () => {
  const open: Change = { atMs: 0, isOpen: true, waitingSinceMs: 0, isWithBot: false, hasReplied: true }
  const times = { count: calendar, limitsMs: { next_reply: 60 * second } }
  const replied = { ...open, waitingSinceMs: null }
  const late = follow(nothing, [{ ...replied, atMs: 0 }, open], times, 61 * second)
  assert.deepEqual(breachesOf(late), { next_reply: 60 * second })
  const again = follow(late, [], { ...times, appliedMs: 90 * second }, 90 * second)
  assert.deepEqual(again, late)
  const other = [
    { ...replied, atMs: 100 * second },
    { ...open, atMs: 200 * second, waitingSinceMs: 200 * second },
  ]
  const back = follow(again, other, { ...times, appliedMs: 300 * second }, 300 * second)
  assert.deepEqual(breachesOf(back), { next_reply: 60 * second })
  assert.equal(back.track && firstDue(back.track, back.clocks), undefined)
  const next = [
    { ...replied, atMs: 310 * second },
    { ...open, atMs: 400 * second, waitingSinceMs: 400 * second },
  ]
  const waits = follow(back, next, { ...times, appliedMs: 300 * second }, 401 * second)
  assert.deepEqual(waits.track && firstDue(waits.track, waits.clocks), { dueMs: 460 * second, kind: 'next_reply' })
})

test('of a clock that no target asks for any more, only a miss ends later', () => {
  const open: Change = { atMs: 0, isOpen: true, waitingSinceMs: 0, isWithBot: false, hasReplied: true }
  const replied = { ...open, waitingSinceMs: null }
  const times = { count: calendar, limitsMs: { next_reply: 60 * second } }
  const waits = { ...open, atMs: 200 * second, waitingSinceMs: 200 * second }
  const changes = [{ ...replied, atMs: 0 }, open, { ...replied, atMs: 10 * second }, waits]
  const none = { count: calendar, limitsMs: {} }
  const end = { ...replied, atMs: 300 * second }
  for (const [nowMs, outcome, endedMs] of [
    [210 * second, 'met', null],
    [270 * second, 'missed', 300 * second],
  ] as const) {
    const { clocks } = follow(follow(nothing, changes, times, nowMs), [end], none, 301 * second)
    assert.deepEqual(
      clocks.map((clock) => [clock.outcome, clock.endedMs]),
      [[outcome, endedMs]],
    )
  }
})

test('a paused clock is not due, and a breach that was recorded stays when the target is edited', () => {
  const open: Change = { atMs: 0, isOpen: true, waitingSinceMs: 0, isWithBot: false, hasReplied: false }
  const limits = { count: calendar, limitsMs: { first_reply: 60 * second, closing: 120 * second } }
  const late = follow(nothing, [open], limits, 61 * second)
  assert.deepEqual(late.track && firstDue(late.track, late.clocks), { dueMs: 60 * second, kind: 'first_reply' })
  const longer = { count: calendar, limitsMs: { first_reply: 600 * second } }
  const edited = follow(late, [], longer, 62 * second)
  assert.equal(edited.clocks[0]?.breachedMs, 60 * second)
  assert.deepEqual(edited.track && firstDue(edited.track, edited.clocks), { dueMs: 600 * second, kind: 'first_reply' })
  const answered = follow(
    late,
    [{ ...open, atMs: 70 * second, waitingSinceMs: null, hasReplied: true }],
    limits,
    71 * second,
  )
  assert.equal(answered.track && firstDue(answered.track, answered.clocks), undefined)
  const again = { ...open, atMs: 500 * second, waitingSinceMs: 500 * second, hasReplied: true }
  const resumed = follow(answered, [again], limits, 501 * second)
  assert.deepEqual(resumed.track && firstDue(resumed.track, resumed.clocks), { dueMs: 550 * second, kind: 'closing' })
})

test('a wait that turns out to be longer moves the clock', () => {
  const open: Change = {
    atMs: 100 * second,
    isOpen: true,
    waitingSinceMs: 100 * second,
    isWithBot: false,
    hasReplied: false,
  }
  const track = applyChange(applyChange(undefined, open), { ...open, atMs: 110 * second, waitingSinceMs: 40 * second })
  assert.deepEqual(track.stretches, [[40 * second, null]])
})

test('a very long episode keeps its length', () => {
  let track: Track | undefined
  for (let i = 0; i < 500; i++) {
    const facts = { isOpen: true, isWithBot: false, hasReplied: i > 0 }
    track = applyChange(track, { ...facts, atMs: i * 10 * second, waitingSinceMs: i * 10 * second })
    track = applyChange(track, { ...facts, hasReplied: true, atMs: i * 10 * second + second, waitingSinceMs: null })
  }
  assert.ok(track && track.stretches.length <= 200)
  const sum = track?.stretches.reduce((total, [from, to]) => total + (to ?? 0) - from, 0)
  assert.equal(sum, 500 * second)
})
