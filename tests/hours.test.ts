/** Office hours: schedules, what uses them, and holidays. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { say, startAutomated } from './automated.ts'
import {
  assertBadRequest,
  assertFields,
  assertRefused,
  createMember,
  dataOf,
  type Json,
  main,
  pluck,
  signIn,
  start,
  type World,
  withProvider,
} from './support.ts'

const workdays = [0, 1, 2, 3, 4].map((day) => ({ day, from: '09:00', to: '17:00' }))
const support = { name: 'Support', time_zone: 'Europe/Berlin', periods: workdays }

async function createTeam({ db, api: { workspaceId } }: World, name: string): Promise<string> {
  const id = randomUUID()
  await db`
    insert into teams (workspace_id, id, name, name_key, color, created_at)
    values (${workspaceId}, ${id}, ${name}, ${name.toLowerCase()}, '#0f8b8d', now())`
  return id
}

test('managers create, change and delete schedules, and every member sees them', main, async (t) => {
  const world = await start(t)
  const browser = await signIn(world)
  const created: Json = dataOf(
    await browser.call('POST', '/schedules', {
      ...support,
      name: '  Support ',
      periods: [
        { day: 2, from: '13:00', to: '24:00' },
        { day: 0, from: '12:00', to: '17:00' },
        { day: 0, from: '09:00', to: '12:00' },
        { day: 2, from: '10:00', to: '14:00' },
      ],
      holidays: [
        { date: '2026-12-26', name: 'Boxing Day' },
        { date: '2026-12-25', name: ' Christmas ' },
      ],
    }),
    201,
  )
  assertFields(created, {
    name: 'Support',
    periods: [
      { day: 0, from: '09:00', to: '17:00' },
      { day: 2, from: '10:00', to: '24:00' },
    ],
    holidays: [
      { date: '2026-12-25', name: 'Christmas' },
      { date: '2026-12-26', name: 'Boxing Day' },
    ],
    is_default: false,
    team_ids: [],
    connection_ids: [],
  })
  const agent = await createMember(browser, 'agent')
  assert.deepEqual((await agent.ask('GET', '/schedules')).data, [created])
  for (const [method, path] of [
    ['POST', '/schedules'],
    ['PATCH', `/schedules/${created.id}`],
    ['DELETE', `/schedules/${created.id}`],
  ] as const) {
    assertRefused(await agent.call(method, path, method === 'DELETE' ? undefined : support), 403, 'forbidden')
  }

  const changed = dataOf(await browser.call('PATCH', `/schedules/${created.id}`, { time_zone: 'Asia/Kolkata' }))
  assertFields(changed, { time_zone: 'Asia/Kolkata', periods: created.periods, holidays: created.holidays })
  const emptied = dataOf(await browser.call('PATCH', `/schedules/${created.id}`, { periods: [], holidays: [] }))
  assertFields(emptied, { name: 'Support', periods: [], holidays: [] })
  dataOf(await browser.call('PATCH', `/schedules/${created.id}`, {}))
  assertBadRequest(await browser.call('POST', '/schedules', { ...support, name: 'SUPPORT' }), 'name: already in use')

  assertFields(dataOf(await browser.call('DELETE', `/schedules/${created.id}`)), { id: created.id, deleted: true })
  assert.deepEqual((await browser.ask('GET', '/schedules')).data, [])
  assertRefused(await browser.call('PATCH', `/schedules/${created.id}`, { name: 'Late' }), 404, 'not_found')
  const { data: entries } = await browser.ask('GET', '/audit?object=schedule')
  assert.deepEqual(pluck(entries.slice(-1), 'action', 'summary'), [['schedule.created', 'Support']])
})

test('a schedule that cannot be is refused with the field and the reason', async (t) => {
  const browser = await signIn(await start(t))
  const refusals: [changes: Json, message: RegExp][] = [
    [{ name: ' ' }, /^name: must have 1 to 80 characters$/],
    [{ time_zone: 'Mars/Base' }, /^time_zone: 'Mars\/Base' is not the name of a time zone/],
    [{ periods: [{ day: 0, from: '9:00', to: '17:00' }] }, /^periods\[0\]\.from: must be a time from 00:00 to 23:59$/],
    [{ periods: [{ day: 0, from: '24:00', to: '24:00' }] }, /^periods\[0\]\.from: /],
    [
      { periods: [workdays[0], { day: 0, from: '09:00', to: '24:01' }] },
      /^periods\[1\]\.to: must be a time from 00:01 to 24:00$/,
    ],
    [
      { periods: [{ day: 0, from: '22:00', to: '06:00' }] },
      /^periods\[0\]: must end after it starts; for hours past midnight/,
    ],
    [{ periods: [{ day: 0, from: '09:00', to: '09:00' }] }, /^periods\[0\]: must end after it starts/],
    [{ periods: [{ day: 7, from: '09:00', to: '17:00' }] }, /periods/],
    [{ holidays: [{ date: '2026-02-30', name: '' }] }, /^holidays\[0\]\.date: must be a date such as 2026-12-25$/],
    [{ holidays: [{ date: '25.12.2026', name: '' }] }, /^holidays\[0\]\.date: /],
    [
      { holidays: [{ date: '2026-12-25', name: 'x'.repeat(101) }] },
      /^holidays\[0\]\.name: must have at most 100 characters$/,
    ],
    [{ team_ids: [randomUUID()] }, /^team_ids\[0\]: no such team$/],
    [{ connection_ids: [randomUUID()] }, /^connection_ids\[0\]: no such connection$/],
  ]
  for (const [changes, message] of refusals) {
    assertBadRequest(await browser.call('POST', '/schedules', { ...support, ...changes }), message)
  }
  assert.deepEqual((await browser.ask('GET', '/schedules')).data, [], 'a refused schedule is not stored')
})

test('a workspace has at most 50 schedules, also when they are created at the same time', async (t) => {
  const browser = await signIn(await start(t))
  const answers = await Promise.all(
    Array.from({ length: 53 }, (_, i) => browser.call('POST', '/schedules', { ...support, name: `Schedule ${i}` })),
  )
  const refused = answers.filter(({ status }) => status !== 201)
  assert.equal(refused.length, 3)
  for (const answer of refused) assertBadRequest(answer, 'there are 50 schedules already')
})

test('a team, a connection and the default have one schedule, which the last change decides', async (t) => {
  const world = await withProvider(start(t))
  const browser = await signIn(world)
  const team = await createTeam(world, 'Billing')
  const connection = (await browser.ask('GET', '/channels')).data.find((one: Json) => one.channel === 'msgapp')
  const uses = { is_default: true, team_ids: [team], connection_ids: [connection.id] }
  const first = dataOf(await browser.call('POST', '/schedules', { ...support, ...uses }), 201)
  assertFields(first, uses)
  const second = dataOf(await browser.call('POST', '/schedules', { ...support, name: 'Nights' }), 201)
  assertFields(second, { is_default: false, team_ids: [], connection_ids: [] })
  assertFields(dataOf(await browser.call('PATCH', `/schedules/${second.id}`, uses)), uses)
  const usesOf = async () =>
    pluck((await browser.ask('GET', '/schedules')).data, 'name', 'is_default', 'team_ids', 'connection_ids')
  assert.deepEqual(await usesOf(), [
    ['Nights', true, [team], [connection.id]],
    ['Support', false, [], []],
  ])
  dataOf(await browser.call('PATCH', `/schedules/${first.id}`, { is_default: false, team_ids: [] }))
  assert.deepEqual((await usesOf())[0], ['Nights', true, [team], [connection.id]], 'only its own uses are released')
  dataOf(await browser.call('PATCH', `/schedules/${second.id}`, { is_default: false, team_ids: [] }))
  assert.deepEqual((await usesOf())[0], ['Nights', false, [], [connection.id]])
  dataOf(await browser.call('DELETE', `/schedules/${second.id}`))
  assert.deepEqual(await usesOf(), [['Support', false, [], []]])

  const other = await world.workspace()
  const stranger = await signIn(world, other.owner)
  assert.deepEqual((await stranger.ask('GET', '/schedules')).data, [])
  for (const [method, body] of [
    ['PATCH', support],
    ['DELETE', undefined],
  ] as const) {
    assertRefused(await stranger.call(method, `/schedules/${first.id}`, body), 404, 'not_found')
  }
  assertBadRequest(await stranger.call('POST', '/schedules', { ...support, team_ids: [team] }), /^team_ids\[0\]/)
})

const allDay = [0, 1, 2, 3, 4, 5, 6].map((day) => ({ day, from: '00:00', to: '24:00' }))

test('an automation asks whether it is open: of the team, of the connection, of the workspace', async (t) => {
  const world = await startAutomated(t)
  const { ask, provider, publish, untilSent, untilEnded, conversationOf, db, api } = world
  const isClosed = { match: 'all', rules: [{ field: 'hours', op: 'is', value: 'closed' }] }
  const isOpen = { match: 'all', rules: [{ field: 'hours', op: 'is', value: 'open' }] }
  const away = await publish('Away', { trigger: { type: 'message' }, conditions: isClosed, steps: [say('Closed.')] })
  await publish('Here', {
    trigger: { type: 'message' },
    steps: [{ type: 'branch', cases: [{ when: isOpen, steps: [say('Open.')] }] }],
  })
  const phone = '+14155550100'
  await provider.writes({ from: phone, text: 'one' })
  await untilSent(phone, ['Open.'])

  const create = async (name: string, more: Json) =>
    (await ask('POST', '/schedules', { name, time_zone: 'UTC', periods: [], ...more }, 201)).data.id
  await create('Never', { is_default: true })
  await provider.writes({ from: phone, text: 'two' })
  await untilSent(phone, ['Open.', 'Closed.'])
  await untilEnded(away)

  const { id } = await conversationOf(phone)
  const { data: channels } = await ask('GET', '/channels')
  const connection = channels.find((one: Json) => one.channel === 'msgapp')
  const always = await create('Always', { periods: allDay, connection_ids: [connection.id] })
  await provider.writes({ from: phone, text: 'three' })
  await untilSent(phone, ['Open.', 'Closed.', 'Open.'])

  const team = await createTeam(world, 'Night')
  await create('Night', { team_ids: [team] })
  await db`update conversations set team_id = ${team} where workspace_id = ${api.workspaceId} and id = ${id}`
  await provider.writes({ from: phone, text: 'four' })
  await untilSent(phone, ['Open.', 'Closed.', 'Open.', 'Closed.'])

  const today = new Date().toISOString().slice(0, 10)
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
  const holidays = [today, tomorrow].map((date) => ({ date, name: 'Holiday' }))
  await ask('PATCH', `/schedules/${always}`, { team_ids: [team], holidays })
  await provider.writes({ from: phone, text: 'five' })
  await untilSent(phone, ['Open.', 'Closed.', 'Open.', 'Closed.', 'Closed.'])
})

test('a run waits until the opening, goes on at once while it is open, and fails without an opening', async (t) => {
  const world = await startAutomated(t)
  const { ask, provider, publish, untilSent, untilWaiting, untilEnded, stepsOf, makeDue, runsOf } = world
  const id = await publish('Later', {
    trigger: { type: 'message' },
    steps: [{ type: 'wait', until: 'opening' }, say('Good morning.')],
  })
  const [first, second, third] = ['+14155550101', '+14155550102', '+14155550103']
  await provider.writes({ from: first, text: 'open' })
  await untilSent(first, ['Good morning.'])
  const [atOnce] = await untilEnded(id)
  assert.deepEqual(pluck(await stepsOf(atOnce?.id), 'type', 'outcome', 'reason')[0], ['wait', 'done', 'open already'])

  // Open for one minute a week, which begins two days from now.
  const opens = new Date(Math.floor(Date.now() / 86_400_000) * 86_400_000 + 2 * 86_400_000 + 9 * 3_600_000)
  const periods = [{ day: (opens.getUTCDay() + 6) % 7, from: '09:00', to: '09:01' }]
  const schedule = { name: 'Rare', time_zone: 'UTC', periods, is_default: true }
  const { data } = await ask('POST', '/schedules', schedule, 201)
  await provider.writes({ from: second, text: 'closed' })
  const waiting = await untilWaiting(id)
  assert.ok(Math.abs(Date.parse(waiting.due_at) - opens.getTime()) < 5_000, waiting.due_at)
  assert.deepEqual(pluck(await stepsOf(waiting.id), 'outcome', 'reason'), [['waiting', 'until opening']])
  await makeDue(id)
  await untilSent(second, ['Good morning.'])

  await ask('PATCH', `/schedules/${data.id}`, { periods: [] })
  await provider.writes({ from: third, text: 'never' })
  await untilEnded(id, 3)
  assertFields((await runsOf(id))[0], { reason: 'failed', error: 'the office hours have no opening' })
})

test('a dry run applies the office hours of today to the past', async (t) => {
  const { ask, api, publish, converse } = await startAutomated(t)
  const isClosed = { match: 'all', rules: [{ field: 'hours', op: 'is', value: 'closed' }] }
  const id = await publish('Away', { trigger: { type: 'message' }, conditions: isClosed, steps: [say('Closed.')] })
  await converse('+14155550100')
  const runs = async () => dataOf(await api.post(`/automations/${id}/dry-run`, { days: 1 })).counts.runs
  assert.equal(await runs(), 0)
  await ask('POST', '/schedules', { name: 'Never', time_zone: 'UTC', periods: [], is_default: true }, 201)
  assert.equal(await runs(), 1)
})

test('the holidays of an iCalendar file are read and not stored', async (t) => {
  const browser = await signIn(await start(t))
  const year = new Date().getUTCFullYear() + 1
  const text = `BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:${year}1225\r\nSUMMARY:Christ\r\n mas\r\nEND:VEVENT\r\nEND:VCALENDAR`
  const read = (file: string, time_zone = 'Europe/Berlin') =>
    browser.call('POST', '/schedules/holidays', { text: file, time_zone })
  const found = { holidays: [{ date: `${year}-12-25`, name: 'Christmas', times: [] }], skipped_count: 0 }
  assert.deepEqual(dataOf(await read(text)), found)
  assertBadRequest(await read('name;date'), 'text: line 1: has no colon after the name of its property')
  assertBadRequest(await read(text, 'Mars/Base'), /^time_zone: /)
  assertBadRequest(await read(`${text}${'\n'.repeat(1_000_000)}`), 'text: the file has over 1,000,000 characters')
  assert.deepEqual((await browser.ask('GET', '/schedules')).data, [])
  const agent = await createMember(browser, 'agent')
  assertRefused(await agent.call('POST', '/schedules/holidays', found), 403, 'forbidden')
})
