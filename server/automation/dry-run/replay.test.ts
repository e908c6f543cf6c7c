import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Definition, Step } from '../definition.ts'
import { type Plan, replay, type Thread } from './replay.ts'
import { newState, type PastEvent, type PastMessage } from './state.ts'

const startMs = Date.parse('2026-01-05T10:00:00Z')
const minuteMs = 60_000
const [ann, ben] = ['0199c1d2-0000-7000-8000-00000000000a', '0199c1d2-0000-7000-8000-00000000000b']
const support = '0199c1d2-0000-7000-8000-0000000000c0'
const say = (text: string): Step => ({ type: 'send', message: { type: 'text', text } })
const onMessage = (...steps: Step[]): Definition => ({ trigger: { type: 'message' }, steps })

const write = (ms: number, text: string, more: Partial<PastMessage> = {}): PastEvent => {
  const at = startMs + ms
  const message = { id: `m${ms}`, ms: at, sentMs: at, text, content_type: 'text', button: null, deletedMs: null }
  return { kind: 'message', ms: at, message: { ...message, wish: undefined, is_first: ms === 0, ...more } }
}
const change = (ms: number, kind: string, details: object): PastEvent => ({
  ...{ kind: 'change', ms: startMs + ms },
  entry: { kind, details },
})

function run(definition: Definition, events: PastEvent[], more: Partial<Thread> = {}) {
  const window = { windowMs: 24 * 60 * minuteMs, lateWindowMs: null }
  const plan: Plan = {
    definition,
    channels: { msgapp: window, social: window, web: { windowMs: null, lateWindowMs: null } },
    memberNames: new Map([
      [ann, 'Ann'],
      [ben, 'Ben'],
    ]),
    teamNames: new Map([[support, 'Support']]),
    ...{ names: new Map(), fromMs: startMs, toMs: startMs + 7 * 24 * 60 * minuteMs, togetherMs: 1_500 },
  }
  const contact = { name: 'Kim', phone: null, email: null, company: null, attributes: {} }
  const thread = {
    contact,
    channel: 'msgapp',
    state: newState(),
    facts: new Map(),
    schedule: undefined,
    events,
    bots: [],
    ...more,
  } as Thread
  const steps = replay(plan, thread)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

const endsOf = (runs: ReturnType<typeof run>) => runs.map(({ reason, sentCount }) => [reason, sentCount])

test('a conversation gets at most 25 automated messages per hour', () => {
  const events = Array.from({ length: 30 }, (_, i) => write(i * minuteMs, 'again'))
  const runs = run(onMessage(say('yes')), [...events, write(90 * minuteMs, 'later')])
  const limited = runs.filter(({ reason }) => reason === 'limit_messages')
  assert.deepEqual([runs.length, limited.length, endsOf(runs).at(-1)?.join()], [31, 5, 'finished,1'])
})

test('a change by a run starts the automation again, five times in a row', () => {
  const assign = (id: string): Step => ({ type: 'set', assigned_agent_id: id })
  const isAnn = { match: 'all' as const, rules: [{ field: 'assignee', op: 'is', value: ann }] }
  const definition: Definition = {
    trigger: { type: 'conversation', event: 'assigned' },
    steps: [{ type: 'branch', cases: [{ when: isAnn, steps: [assign(ben)] }], otherwise: [assign(ann)] }],
  }
  const runs = run(definition, [change(0, 'assigned', { assignee_id: ann })])
  assert.deepEqual(
    runs.map(({ reason }) => reason),
    [...Array.from({ length: 5 }, () => 'finished'), 'limit_chain'],
  )
  assert.equal(runs[0]?.steps[1]?.text, 'assigned to Ben')
})

test('a team is that of the moment, and a team that does not exist fails the step', () => {
  const isSupport = { match: 'all' as const, rules: [{ field: 'team', op: 'is', value: support.toUpperCase() }] }
  const hasTeam = { match: 'all' as const, rules: [{ field: 'team', op: 'is_set' }] }
  const isOther = { match: 'all' as const, rules: [{ field: 'team', op: 'is_not', value: support }] }
  const cases = [
    { when: isSupport, steps: [{ type: 'set', assigned_team_id: null }, say('support')] as Step[] },
    { when: hasTeam, steps: [say('another')] },
    { when: isOther, steps: [{ type: 'hand_over', assigned_team_id: support }] as Step[] },
  ]
  const events = [
    change(0, 'assigned', { team: { id: support, name: 'Support' } }),
    write(minuteMs, 'a'),
    write(2 * minuteMs, 'b'),
    change(3 * minuteMs, 'assigned', { team: { id: ann, name: 'Sales' } }),
    write(4 * minuteMs, 'c'),
    change(5 * minuteMs, 'assigned', { team: null }),
  ]
  const runs = run(onMessage({ type: 'branch', cases }), events)
  assert.deepEqual(
    runs.map(({ steps }) => steps.slice(1).map(({ text }) => text)),
    [['removed from its team', 'support'], ['assigned to the team Support'], ['another']],
  )
  const [failed] = run(onMessage({ type: 'set', assigned_team_id: ben }), [write(0, 'hello')])
  assert.deepEqual([failed?.reason, failed?.error], ['failed', 'assigned_team_id: not a team of this workspace'])
})

test('a send after the reply window leads to the steps of the error', () => {
  const late: Step = { ...say('late'), on_error: [{ type: 'note', text: 'not sent' }] } as Step
  const [only] = run(onMessage({ type: 'wait', for: '2d' }, late), [write(0, 'hello')])
  assert.deepEqual(
    only?.steps.map(({ outcome, text }) => [outcome, text]),
    [
      ['waiting', null],
      ['failed', null],
      ['done', 'not sent'],
    ],
  )
  assert.match(only?.steps[1]?.reason ?? '', /24-hour window closed/)
})

test('a reaction answers nothing, and no run with questions starts where another bot is', () => {
  const ask: Step = {
    ...{ type: 'ask', message: { type: 'text', text: 'Who?' }, answer: { type: 'text' }, save_as: 'answers.who' },
  } as Step
  const events = [write(0, 'hi'), write(minuteMs, '❤️', { content_type: 'reaction' }), write(2 * minuteMs, 'Kim')]
  const [asked] = run(onMessage(ask), events)
  assert.deepEqual([asked?.reason, asked?.variables], ['finished', { who: 'Kim' }])
  assert.equal(asked?.endedMs, startMs + 2 * minuteMs + 1_500)
  const other = { fromMs: startMs - minuteMs, toMs: startMs + 90_000, message_id: null, wins: false }
  assert.deepEqual(
    run(onMessage(ask), events, { bots: [other] }).map(({ message }) => message?.text),
    ['Kim'],
  )
})

test('a blocked contact starts nothing, and the end of a block restores the status', () => {
  const opened: Definition = { trigger: { type: 'message', when: 'first_since_closed' }, steps: [say('welcome')] }
  const events = [
    write(0, 'hello'),
    change(minuteMs, 'blocked', { status: 'open' }),
    write(2 * minuteMs, 'blocked'),
    change(3 * minuteMs, 'unblocked', {}),
    write(4 * minuteMs, 'open still'),
    change(5 * minuteMs, 'status', { status: 'closed' }),
    write(6 * minuteMs, 'again'),
  ]
  assert.deepEqual(
    run(opened, events).map(({ message }) => message?.text),
    ['hello', 'again'],
  )
})
