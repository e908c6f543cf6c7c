/**
 * Reports: every figure is equal to a plain count of the episodes, ratings, outcomes or seconds, at any moment, and opens exactly these.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { assertRefused, pluck } from './assertions.ts'
import { type Browser, createMember } from './browser.ts'
import { countReports, deleteWorkspace, insertMember, newId, pastId } from './internals.ts'
import { assertBadRequest, type Json, main, signIn, start, times, type World, withProvider } from './support.ts'

type Episode = {
  id: string
  conversation: Conversation
  opened_at: number
  opened_by: 'customer' | 'member'
  first_reply_at: number | null
  first_reply_by: string | null
  replies: number
  closed_at: number | null
  reopened_from: string | null
  /** Of a closed one. */
  team: string | null
  member: string | null
  labels: string[]
  office_first_reply_s: number | null
  office_closing_s: number | null
  question: Question | null
  outcomes: Outcome[]
}
/** `at` is null while the customer waits again. */
type Outcome = {
  target: string
  kind: (typeof kinds)[number]
  isMet: boolean
  at: number | null
  /** Who had the conversation then. */
  member: string | null
  team: string | null
}
type Question = {
  id: string
  at: number
  member: string | null
  rated_at: number | null
  rating: number | null
  isFailed: boolean
}
type Conversation = {
  id: string
  connection: string
  team: string | null
  member: string | null
  labels: string[]
  isWaiting: boolean
}
type Model = {
  episodes: Episode[]
  conversations: Conversation[]
  teams: string[]
  members: string[]
  labels: string[]
  connections: string[]
  targets: string[]
}

const kinds = ['first_reply', 'next_reply', 'closing'] as const

/** Numbers from 0 to 1, the same in every run. */
function createRandom(seed: number) {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** The clocks change on 2026-03-08, which has 23 hours, and on 2026-11-01, which has 25. */
const zone = 'America/New_York'
const firstMs = Date.parse('2026-02-10T00:00:00Z')
const lastMs = Date.parse('2026-11-12T00:00:00Z')
const changesOfClocks = ['2026-03-08T00:00:00Z', '2026-11-01T00:00:00Z'].map((time) => Date.parse(time))

/** The tests call the loop of the counters themselves, and episodes without office hours stay without. */
const withoutLoops = { ...times, tasks: { ...times.tasks, reportsMs: hourMs, episodeHoursMs: hourMs } }

async function startReports(t: TestContext, alone?: string) {
  const world = await start(t, alone ? { alone, times: withoutLoops } : {})
  const browser = await signIn(world)
  await world.connect()
  await browser.ask('PATCH', '/workspace', { time_zone: zone })
  const report = async (name: string, query = ''): Promise<Json> =>
    (await browser.ask('GET', `/reports/${name}?${query}`)).data
  return { ...world, browser, report }
}

/** Teams, members, labels, conversations and `count` episodes, as other parts of the service write them. */
async function createModel({ db, api }: World, count: number, seed = 1): Promise<Model> {
  const random = createRandom(seed)
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value
  const workspace_id = api.workspaceId
  const connections = (
    await db<{ id: string }[]>`select id from channel_connections where workspace_id = ${workspace_id} order by id`
  ).map(({ id }) => id)
  const channelOf = new Map(
    (
      await db<{ id: string; channel: string }[]>`
      select id, channel_name as channel from channel_connections where workspace_id = ${workspace_id}`
    ).map((row) => [row.id, row.channel]),
  )
  const named = (prefix: string) => Array.from({ length: 4 }, (_, i) => ({ id: newId(), name: `${prefix} ${i}` }))
  const teams = named(`Team${seed}`)
  const labels = named(`Label${seed}`)
  for (const { id, name } of teams)
    await db`insert into teams (workspace_id, id, name, name_key, color, created_at)
      values (${workspace_id}, ${id}, ${name}, ${name.toLowerCase()}, '#2f6fde', now())`
  for (const { id, name } of labels)
    await db`insert into labels (workspace_id, id, name, name_key, color, created_at)
      values (${workspace_id}, ${id}, ${name}, ${name.toLowerCase()}, '#2f6fde', now())`
  const targets = named('Target')
  for (const [i, { id, name }] of targets.entries())
    await db`insert into targets (workspace_id, id, name, name_key, position, is_active, created_at)
      values (${workspace_id}, ${id}, ${`${name} ${seed}`}, ${`${name} ${seed}`.toLowerCase()}, ${i}, false, now())`
  const members: string[] = []
  for (let i = 0; i < 4; i++) {
    const who = {
      email: `agent${seed}-${i}-${newId()}@example.test`,
      name: `Agent ${seed} ${i}`,
      role: 'agent' as const,
      passwordHash: '',
    }
    members.push((await insertMember(db, workspace_id, who)).id)
  }
  const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id)
  const orNull = (ids: readonly string[]) => (random() < 0.25 ? null : pick(ids))
  const questionAfter = (closedMs: number): Question => {
    const at = closedMs + Math.floor(random() * 60_000)
    const rated_at = random() < 0.4 ? null : at + Math.floor(random() * 3 * dayMs)
    return {
      ...{ id: pastId(at), at, member: orNull(members), rated_at },
      rating: rated_at === null ? null : 1 + Math.floor(random() * 5),
      isFailed: rated_at === null && random() < 0.3,
    }
  }
  const outcomesAfter = (openedMs: number): Outcome[] =>
    kinds.flatMap((kind) =>
      someOf(idsOf(targets)).map((target) => {
        const isMet = random() < 0.7
        const at = isMet && random() < 0.1 ? null : openedMs + Math.floor(random() * 3 * dayMs)
        return { target, kind, isMet, at, member: orNull(members), team: orNull(idsOf(teams)) }
      }),
    )
  const someOf = (ids: readonly string[]) => ids.filter(() => random() < 0.3)
  const conversations: Conversation[] = Array.from({ length: Math.ceil(count / 6) }, () => ({
    ...{ id: newId(), connection: pick(connections), team: orNull(idsOf(teams)), member: orNull(members) },
    ...{ labels: someOf(idsOf(labels)), isWaiting: random() < 0.5 },
  }))
  const episodes: Episode[] = []
  for (let i = 0; i < count; i++) {
    const conversation = conversations[i % conversations.length]
    assert.ok(conversation)
    // A quarter on the days of the clock changes.
    const opened_at = Math.floor(
      random() < 0.25 ? pick(changesOfClocks) + random() * 2 * dayMs : firstMs + random() * (lastMs - firstMs),
    )
    const isOpen = i >= count - conversations.length && random() < 0.6
    const span = () => Math.floor(Math.exp(random() * 14) * 1_000)
    const first_reply_at = random() < 0.2 ? null : opened_at + span()
    const closed_at = isOpen ? null : (first_reply_at ?? opened_at) + span()
    episodes.push({
      ...{ id: pastId(opened_at), conversation, opened_at, opened_by: random() < 0.9 ? 'customer' : 'member' },
      ...{ first_reply_at, first_reply_by: first_reply_at === null ? null : pick(members), closed_at },
      replies: isOpen ? 0 : Math.floor(random() * 5),
      reopened_from: random() < 0.2 ? newId() : null,
      ...(isOpen
        ? { team: null, member: null, labels: [] }
        : { team: orNull(idsOf(teams)), member: orNull(members), labels: someOf(idsOf(labels)) }),
      office_first_reply_s: first_reply_at === null || random() < 0.1 ? null : Math.floor(random() * 40_000),
      office_closing_s: isOpen || random() < 0.1 ? null : Math.floor(random() * 90_000),
      question: closed_at === null || random() < 0.5 ? null : questionAfter(closed_at),
      outcomes: outcomesAfter(opened_at),
    })
  }
  for (const each of conversations) {
    const contact = newId()
    const channel = channelOf.get(each.connection) ?? 'msgapp'
    await db`insert into contacts (workspace_id, id, name, created_at, updated_at) values (${workspace_id}, ${contact}, 'Ann', now(), now())`
    await db`
      insert into conversations (workspace_id, id, contact_id, channel, connection_id, status, created_at, updated_at, waiting_since,
        team_id, assigned_agent_id)
      values (${workspace_id}, ${each.id}, ${contact}, ${channel}, ${each.connection}, 'open', now(), now(),
        ${each.isWaiting ? new Date().toISOString() : null}, ${each.team}, ${each.member})`
    await label(db, workspace_id, each)
  }
  return {
    ...{ episodes, conversations, connections, members },
    ...{ teams: idsOf(teams), labels: idsOf(labels), targets: idsOf(targets) },
  }
}

const label = (db: World['db'], workspaceId: string, { id, labels }: Conversation) => db`
  insert into conversation_labels (workspace_id, conversation_id, label_id)
  select ${workspaceId}, ${id}, l from unnest(${labels}::uuid[]) l`

const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())

async function insertEpisode(db: World['db'], workspaceId: string, e: Episode): Promise<void> {
  await db.begin(async (sql) => {
    await sql`
      insert into episodes (workspace_id, id, conversation_id, connection_id, opened_at, opened_by, first_reply_at, first_reply_by, replies,
        closed_at, closed_by, reopened_from, team_id, member_id, labels, office_first_reply_s, office_closing_s)
      values (${workspaceId}, ${e.id}, ${e.conversation.id}, ${e.conversation.connection}, ${iso(e.opened_at)}, ${e.opened_by},
        ${iso(e.first_reply_at)}, ${e.first_reply_by}, ${e.replies}, ${iso(e.closed_at)}, ${e.closed_at === null ? null : 'member'},
        ${e.reopened_from}, ${e.team}, ${e.member}, ${e.labels}::uuid[], ${e.office_first_reply_s}, ${e.office_closing_s})`
    if (e.closed_at === null)
      await sql`update conversations set episode_id = ${e.id} where workspace_id = ${workspaceId} and id = ${e.conversation.id}`
    const { question } = e
    if (question)
      await sql`
        insert into ratings (workspace_id, message_id, episode_id, conversation_id, contact_id, member_id, state, asked_at, rating,
          rated_at, is_announced, comment, created_at)
        values (${workspaceId}, ${question.id}, ${e.id}, ${e.conversation.id}, ${newId()}, ${question.member}, ${stateOf(question)},
          ${iso(question.at)}, ${question.rating}, ${iso(question.rated_at)}, true, ${question.rating && 'Thank you'}, ${iso(question.at)})`
    for (const outcome of e.outcomes) await insertOutcome(sql, workspaceId, e, outcome)
  })
}

/** On all connections of the pool. */
const insertEpisodes = (db: World['db'], workspaceId: string, episodes: readonly Episode[]) =>
  Promise.all(episodes.map((each) => insertEpisode(db, workspaceId, each)))

const stateOf = ({ isFailed, rating }: Question) => (isFailed ? 'failed' : rating === null ? 'asked' : 'rated')

const insertOutcome = (
  sql: Sql,
  workspaceId: string,
  e: Episode,
  { target, kind, isMet, at, member, team }: Outcome,
) => sql`
  insert into target_clocks (workspace_id, episode_id, target_id, kind, started_at, breached_at, outcome, ended_at, member_id, team_id)
  values (${workspaceId}, ${e.id}, ${target}, ${kind}, ${iso(e.opened_at)}, ${isMet ? null : iso(at)}, ${isMet ? 'met' : 'missed'},
    ${isMet ? iso(at) : null}, ${member}, ${team})`

const formats = new Map<string, Intl.DateTimeFormat>()

/** The local day and hour of a time, by another calculation than that of the database. */
function localOf(ms: number, timeZone: string): Local {
  const ofZone = locals.get(timeZone) ?? new Map<number, Local>()
  locals.set(timeZone, ofZone)
  const found = ofZone.get(ms) ?? computeLocal(ms, timeZone)
  ofZone.set(ms, found)
  return found
}

type Local = { day: string; hour: number; weekday: number }
const locals = new Map<string, Map<number, Local>>()

function computeLocal(ms: number, timeZone: string): Local {
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat('en-CA', {
      ...{ timeZone, year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', hourCycle: 'h23' },
    })
  formats.set(timeZone, format)
  const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]))
  const day = `${parts.year}-${parts.month}-${parts.day}`
  return { day, hour: Number(parts.hour), weekday: (new Date(day).getUTCDay() + 6) % 7 }
}

type Sql = World['db'] | Parameters<Parameters<World['db']['begin']>[1]>[0]
type Dimension = 'team' | 'member' | 'connection' | 'label'
type Recounted = {
  timeZone: string
  from: string
  to: string
  office?: boolean
  keys?: Partial<Record<Dimension, string | null>>
}

/** Whether an episode has a key. The member of a first reply is its author. */
function hasKey(
  e: Episode,
  dimension: Dimension,
  key: string | null,
  author?: string | null,
  team?: string | null,
): boolean {
  const of = e.closed_at === null ? e.conversation : e
  if (dimension === 'connection') return e.conversation.connection === key
  if (dimension === 'label') return key === null ? of.labels.length === 0 : of.labels.includes(key)
  if (dimension === 'member') return (author === undefined ? of.member : author) === key
  return (team === undefined ? of.team : team) === key
}

/** The episodes behind each figure, and the seconds of each. */
function recount(model: Model, { timeZone, from, to, office = false, keys = {} }: Recounted) {
  const isIn = (ms: number | null) => {
    const day = ms === null ? '' : localOf(ms, timeZone).day
    return day >= from && day <= to
  }
  const matches = (e: Episode, author?: string | null) =>
    Object.entries(keys).every(([dimension, key]) => hasKey(e, dimension as Dimension, key, author))
  const opened = model.episodes.filter((e) => isIn(e.opened_at) && matches(e))
  const replied = model.episodes.filter(
    (e) => e.opened_by === 'customer' && isIn(e.first_reply_at) && matches(e, e.first_reply_by),
  )
  const closed = model.episodes.filter((e) => isIn(e.closed_at) && matches(e))
  const seconds = (e: Episode, to: number | null) => Math.floor(((to ?? 0) - e.opened_at) / 1_000)
  const listOf = (episodes: Episode[], secondsOf: (e: Episode) => number | null) =>
    episodes.flatMap((e) => {
      const found = secondsOf(e)
      return found === null ? [] : [{ e, seconds: found }]
    })
  return {
    opened,
    reopened: opened.filter((e) => e.reopened_from !== null),
    closed,
    replies: closed.filter((e) => e.replies > 0),
    first_reply: listOf(replied, (e) => (office ? e.office_first_reply_s : seconds(e, e.first_reply_at))),
    closing: listOf(closed, (e) => (office ? e.office_closing_s : seconds(e, e.closed_at))),
    replied,
  }
}

/** The questions, ratings and outcomes behind each figure, with their episodes. */
function recountOutcomes(model: Model, { timeZone, from, to, keys = {} }: Recounted, target?: string) {
  const isIn = (ms: number | null) => {
    const day = ms === null ? '' : localOf(ms, timeZone).day
    return day >= from && day <= to
  }
  const matches = (e: Episode, member: string | null, team?: string | null) =>
    Object.entries(keys).every(([dimension, key]) => hasKey(e, dimension as Dimension, key, member, team))
  const questions = model.episodes.flatMap((e) =>
    e.question && !e.question.isFailed && matches(e, e.question.member) ? [e.question] : [],
  )
  const asked = questions.filter(({ at }) => isIn(at))
  return {
    asked,
    answered: asked.filter(({ rating }) => rating !== null),
    ratings: questions.filter(({ rated_at }) => isIn(rated_at)),
    outcomes: model.episodes.flatMap((e) =>
      e.outcomes
        .filter((outcome) => isIn(outcome.at) && matches(e, outcome.member, outcome.team))
        .filter((outcome) => (target ?? outcome.target) === outcome.target)
        .map((outcome) => ({ e, ...outcome })),
    ),
  }
}
type RecountedOutcomes = ReturnType<typeof recountOutcomes>

function assertSatisfaction(found: Json, { asked, answered, ratings }: RecountedOutcomes, what: string): void {
  const values = ratings.map(({ rating }) => rating ?? 0)
  assert.deepEqual(
    [found.asked, found.answered, found.ratings, found.by_rating],
    [asked.length, answered.length, ratings.length, [1, 2, 3, 4, 5].map((n) => values.filter((v) => v === n).length)],
    `${what}: ratings`,
  )
  if (values.length === 0) assert.equal(found.mean_rating, null, what)
  else assert.ok(Math.abs(found.mean_rating - sumOf(values) / values.length) <= 0.005 + 1e-9, `${what}: mean`)
}

function assertTargets(found: Json, { outcomes }: RecountedOutcomes, what: string): void {
  for (const kind of kinds) {
    const ofKind = outcomes.filter((outcome) => outcome.kind === kind)
    const met = ofKind.filter(({ isMet }) => isMet).length
    assert.deepEqual(found[kind], { met, missed: ofKind.length - met }, `${what}: ${kind}`)
  }
}

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)

function assertFigures(found: Json, expected: ReturnType<typeof recount>, what: string): void {
  for (const name of ['opened', 'reopened', 'closed'] as const)
    assert.equal(found[name], expected[name].length, `${what}: ${name}`)
  assert.equal(found.replies, sumOf(expected.closed.map(({ replies }) => replies)), `${what}: replies`)
  for (const name of ['first_reply', 'closing'] as const) {
    const sorted = expected[name].map(({ seconds }) => seconds).sort((one, other) => one - other)
    const { count, median_seconds, p90_seconds, mean_seconds } = found[name]
    assert.equal(count, sorted.length, `${what}: ${name}`)
    if (count === 0) {
      assert.deepEqual([median_seconds, p90_seconds, mean_seconds], [null, null, null], what)
      continue
    }
    for (const [value, share] of [
      [median_seconds, 0.5],
      [p90_seconds, 0.9],
    ]) {
      const exact = sorted[Math.ceil(share * count - 1e-9) - 1] ?? assert.fail()
      assert.ok(Math.abs(value - exact) <= exact * 0.02, `${what}: ${name} at ${share}: ${value}, exactly ${exact}`)
    }
    assert.ok(Math.abs(mean_seconds - sumOf(sorted) / count) <= 0.06, `${what}: the mean of ${name}`)
  }
}

const dimensionOf = { members: 'member', teams: 'team', labels: 'label', connections: 'connection' } as const
type WithRows = keyof typeof dimensionOf
const dimensionNames = Object.values(dimensionOf)
const keysOf = (model: Model, dimension: Dimension): (string | null)[] => [
  ...model[`${dimension}s`],
  ...(dimension === 'connection' ? [] : [null]),
]

const addDays = (day: string, count: number) => new Date(Date.parse(day) + count * dayMs).toISOString().slice(0, 10)

type Reports = Awaited<ReturnType<typeof startReports>>

/** The first two of the filters that a report is read with: none, and a team. The first test has all of them. */
const someFilters = 2

/** Every figure of every report, without and with a filter. */
async function assertReports(
  { report }: Reports,
  model: Model,
  timeZone: string,
  periods: readonly [string, string][],
  filterCount = someFilters,
) {
  for (const [from, to] of periods) {
    const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1
    const before = { timeZone, from: addDays(from, -days), to: addDays(from, -1) }
    const [team, connection, member, labelId] = [
      model.teams[0],
      model.connections[0],
      model.members[0],
      model.labels[0],
    ]
    const filters: [string, Recounted['keys'], string[]][] = [
      ['', {}, Object.keys(dimensionOf)],
      [`&team_id=${team}`, { team: team ?? '' }, ['members', 'labels', 'connections', 'teams']],
      [`&connection_id=${connection}`, { connection: connection ?? '' }, ['members', 'teams', 'labels']],
      [`&team_id=none`, { team: null }, ['members']],
      [`&member_id=${member}`, { member: member ?? '' }, []],
      [`&label_id=${labelId}`, { label: labelId ?? '' }, []],
    ]
    for (const [query, keys, withRows] of filters.slice(0, filterCount)) {
      for (const office of query === '' ? [false, true] : [false]) {
        const text = `from_day=${from}&to_day=${to}&office_hours=${office}${query}`
        const range = { timeZone, from, to, office, keys: keys ?? {} }
        for (const name of withRows as WithRows[]) {
          const found = await report(name, text)
          const what = `${name} ${text}`
          assertFigures(found.totals, recount(model, range), what)
          const dimension = dimensionOf[name]
          for (const key of keysOf(model, dimension)) {
            const row = found.rows.find(({ id }: Json) => id === key)
            const expected = recount(model, { ...range, keys: { ...keys, [dimension]: key } })
            const isFiltered = keys && dimension in keys && keys[dimension] !== key
            if (isFiltered) assert.equal(row, undefined, what)
            else if (row) assertFigures(row, expected, `${what}: ${row.name}`)
            else
              assert.deepEqual(
                [expected.opened.length, expected.closed.length, expected.replied.length],
                [0, 0, 0],
                what,
              )
            if (row)
              assertFigures(
                row.previous,
                recount(model, { ...range, ...before, keys: { ...keys, [dimension]: key } }),
                `${what} before`,
              )
          }
        }
        for (const interval of query === '' ? ['day', 'week', 'month'] : ['month']) {
          const overview = await report('overview', `${text}&interval=${interval}`)
          assertFigures(overview.totals, recount(model, range), text)
          assertFigures(overview.previous, recount(model, { ...range, ...before }), `before ${text}`)
          for (const [i, each] of overview.intervals.entries()) {
            const next = overview.intervals[i + 1]
            const within = { ...range, from: each.start, to: next ? addDays(next.start, -1) : to }
            assertFigures(each, recount(model, within), `${text} ${interval} ${each.start}`)
          }
          assert.equal(sumOf(overview.intervals.map(({ opened }: Json) => opened)), overview.totals.opened)
        }
        const { hours } = await report('busy_hours', text)
        const { opened, closed, replied } = recount(model, range)
        for (const [name, times] of [
          ['opened', opened.map((e) => e.opened_at)],
          ['closed', closed.map((e) => e.closed_at ?? 0)],
          ['first_replies', replied.map((e) => e.first_reply_at ?? 0)],
        ] as const) {
          const expected: Record<string, number> = {}
          for (const ms of times) {
            const { weekday, hour } = localOf(ms, timeZone)
            expected[`${weekday} ${hour}`] = (expected[`${weekday} ${hour}`] ?? 0) + 1
          }
          const found = hours
            .filter((each: Json) => each[name] > 0)
            .map((each: Json) => [`${each.weekday} ${each.hour}`, each[name]])
          assert.deepEqual(Object.fromEntries(found), expected, `${name} of the hours of ${text}`)
        }
      }
    }
  }
}

/** Every figure of satisfaction and of targets, without and with a filter. */
async function assertOutcomes(
  { report }: Reports,
  model: Model,
  timeZone: string,
  periods: readonly [string, string][],
  filterCount = someFilters,
) {
  for (const [from, to] of periods) {
    const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1
    const before = { from: addDays(from, -days), to: addDays(from, -1) }
    const [team, connection, member, labelId] = [
      ...[model.teams[0], model.connections[0], model.members[0], model.labels[0]],
    ]
    const filters: [string, Recounted['keys'], Dimension[]][] = [
      ['', {}, ['member', 'team', 'connection', 'label']],
      [`&team_id=${team}`, { team: team ?? '' }, ['member', 'label', 'connection']],
      [`&connection_id=${connection}`, { connection: connection ?? '' }, ['team']],
      ['&team_id=none', { team: null }, ['member']],
      [`&member_id=${member}`, { member: member ?? '' }, ['member']],
      [`&label_id=${labelId}`, { label: labelId ?? '' }, ['label']],
    ]
    for (const [query, keys, dimensions] of filters.slice(0, filterCount)) {
      const text = `from_day=${from}&to_day=${to}${query}`
      const range = { timeZone, from, to, keys: keys ?? {} }
      const assertIntervals = (found: Json, assertEach: typeof assertTargets, what: string) => {
        for (const [i, each] of found.intervals.entries()) {
          const next = found.intervals[i + 1]
          const within = { ...range, from: each.start, to: next ? addDays(next.start, -1) : to }
          assertEach(each, recountOutcomes(model, within), `${what} ${each.start}`)
        }
      }
      const all = recountOutcomes(model, range)
      const allBefore = recountOutcomes(model, { ...range, ...before })
      for (const by of dimensions) {
        const found = await report('satisfaction', `${text}&by=${by}&interval=${days < 50 ? 'week' : 'month'}`)
        const what = `satisfaction by ${by} ${text}`
        assertSatisfaction(found.totals, all, what)
        assertSatisfaction(found.previous, allBefore, `${what} before`)
        if (by === dimensions[0]) assertIntervals(found, assertSatisfaction, what)
        for (const key of keysOf(model, by)) {
          const ofKey = { ...range, keys: { ...keys, [by]: key } }
          const expected = recountOutcomes(model, ofKey)
          const isFiltered = keys && by in keys && keys[by] !== key
          const row = found.rows.find(({ id }: Json) => id === key)
          if (isFiltered) assert.equal(row, undefined, what)
          else if (row) {
            assertSatisfaction(row, expected, `${what}: ${row.name}`)
            assertSatisfaction(row.previous, recountOutcomes(model, { ...ofKey, ...before }), `${what}: before`)
          } else assert.deepEqual([expected.asked, expected.ratings], [[], []], what)
        }
      }
      const found = await report('targets', `${text}&interval=${days < 50 ? 'day' : 'month'}`)
      const what = `targets ${text}`
      assertTargets(found.totals, all, what)
      assertTargets(found.previous, allBefore, `${what} before`)
      assertIntervals(found, assertTargets, what)
      for (const target of model.targets) {
        const expected = recountOutcomes(model, range, target)
        const row = found.rows.find(({ id }: Json) => id === target)
        if (!row) assert.deepEqual(expected.outcomes, [], what)
        else {
          assertTargets(row, expected, `${what}: ${row.name}`)
          assertTargets(row.previous, recountOutcomes(model, { ...range, ...before }, target), `${what}: before`)
        }
      }
      // Rows by what is filtered, or by anything without a filter.
      for (const by of dimensionNames.filter((each) => keys && (query === '' || each in keys))) {
        const byRow = await report('targets', `${text}&by=${by}&interval=month`)
        assert.deepEqual([byRow.by, byRow.totals, byRow.previous], [by, found.totals, found.previous], what)
        for (const key of keysOf(model, by).filter((each) => query === '' || keys?.[by] === each)) {
          const ofKey = { ...range, keys: { ...keys, [by]: key } }
          const row = byRow.rows.find(({ id }: Json) => id === key)
          if (!row) assert.deepEqual(recountOutcomes(model, ofKey).outcomes, [], `${what} by ${by}`)
          else {
            assertTargets(row, recountOutcomes(model, ofKey), `${what} by ${by}: ${row.name}`)
            assertTargets(row.previous, recountOutcomes(model, { ...ofKey, ...before }), `${what} by ${by}: before`)
          }
        }
      }
    }
  }
}

const wholeTime: [string, string] = ['2026-02-08', '2026-12-31']
const periods: [string, string][] = [
  wholeTime,
  ['2026-03-05', '2026-04-12'],
  ['2026-03-08', '2026-03-08'],
  ['2026-10-31', '2026-11-02'],
]

test('each figure is equal to a count of the episodes, before and after they are counted', main, async (t) => {
  const world = await startReports(t, 'it calls the loop of the counters')
  const { db, api } = world
  const model = await createModel(world, 800)
  const all = model.episodes
  // A part is counted by the loop, the rest is added by the read.
  model.episodes = all.slice(0, 650)
  await insertEpisodes(db, api.workspaceId, model.episodes)
  await countReports(db)
  await insertEpisodes(db, api.workspaceId, all.slice(650))
  model.episodes = all
  await assertReports(world, model, zone, [wholeTime, ['2026-10-31', '2026-11-02']], Infinity)
  await assertOutcomes(world, model, zone, [wholeTime, ['2026-10-31', '2026-11-02']], Infinity)
  await countReports(db)
  const [left] = await db`select count(*)::int as count from report_changes where workspace_id = ${api.workspaceId}`
  assert.equal(left?.count, 0)
  await assertReports(world, model, zone, periods, Infinity)
  await assertOutcomes(world, model, zone, periods, Infinity)
})

test('figures follow episodes that change, ratings that come, clocks that end, and erased contacts', async (t) => {
  const world = await startReports(t, 'it calls the loop of the counters')
  const { db, api } = world
  const model = await createModel(world, 300, 3)
  const all = model.episodes
  await insertEpisodes(db, api.workspaceId, all)
  await countReports(db)

  // Episodes that are open have the team, the member and the labels of their conversation, and keep them when they close.
  const open = all.filter(({ closed_at }) => closed_at === null)
  for (const [i, e] of open.entries()) {
    const { conversation } = e
    conversation.team = model.teams[i % 4] ?? null
    conversation.member = i % 3 === 0 ? null : (model.members[i % 4] ?? null)
    await db`update conversations set team_id = ${conversation.team}, assigned_agent_id = ${conversation.member}
      where workspace_id = ${api.workspaceId} and id = ${conversation.id}`
    await db`delete from conversation_labels where workspace_id = ${api.workspaceId} and conversation_id = ${conversation.id}`
    conversation.labels = model.labels.slice(0, i % 3)
    await label(db, api.workspaceId, conversation)
    if (i % 2 === 0) continue
    Object.assign(e, {
      closed_at: e.opened_at + 90_000 * i,
      team: conversation.team,
      member: conversation.member,
      replies: i % 7,
    })
    e.labels = conversation.labels
    await db.begin(async (sql) => {
      await sql`update episodes set closed_at = ${iso(e.closed_at)}, closed_by = 'member', team_id = ${e.team}, member_id = ${e.member},
        labels = ${e.labels}::uuid[], replies = ${e.replies} where workspace_id = ${api.workspaceId} and id = ${e.id}`
      await sql`update conversations set episode_id = null where workspace_id = ${api.workspaceId} and id = ${conversation.id}`
    })
    if (i % 20 === 1) await countReports(db)
  }
  await assertReports(world, model, zone, [wholeTime])
  await countReports(db)
  await assertReports(world, model, zone, [wholeTime])

  // Customers answer, questions fail, clocks end, are missed later or are dropped.
  for (const [i, e] of all.entries()) {
    const { question } = e
    if (question?.rating === null && !question.isFailed && i % 2 === 0) {
      Object.assign(
        question,
        i % 4 === 0 ? { isFailed: true } : { rating: 1 + (i % 5), rated_at: question.at + 1_000 * i },
      )
      await db`update ratings set state = ${stateOf(question)}, rating = ${question.rating}, rated_at = ${iso(question.rated_at)}
        where workspace_id = ${api.workspaceId} and message_id = ${question.id}`
    }
    const [outcome] = e.outcomes
    if (!outcome || i % 3 !== 0) continue
    const ofOutcome = db`workspace_id = ${api.workspaceId} and episode_id = ${e.id} and target_id = ${outcome.target} and kind = ${outcome.kind}`
    if (i % 9 === 0) {
      e.outcomes.shift()
      await db`delete from target_clocks where ${ofOutcome}`
      continue
    }
    Object.assign(outcome, { isMet: false, at: e.opened_at + 7_000 * i })
    await db`update target_clocks set outcome = 'missed', breached_at = ${iso(outcome.at)} where ${ofOutcome}`
  }
  await assertOutcomes(world, model, zone, [wholeTime])
  await countReports(db)
  await assertOutcomes(world, model, zone, [wholeTime])

  // An erased contact takes its episodes along.
  const erased = model.conversations.slice(0, 20)
  for (const { id } of erased) {
    await db`delete from contacts c using conversations v where v.workspace_id = ${api.workspaceId} and v.id = ${id}
      and c.workspace_id = v.workspace_id and c.id = v.contact_id`
  }
  model.episodes = all.filter(({ conversation }) => !erased.includes(conversation))
  await assertReports(world, model, zone, [wholeTime])
  await assertOutcomes(world, model, zone, [wholeTime])
  await countReports(db)
  await assertReports(world, model, zone, [wholeTime])
  await assertOutcomes(world, model, zone, [wholeTime])
})

/** All pages of the rows behind a figure. */
async function listRows(browser: Pick<Browser, 'ask'>, path: string): Promise<Json[]> {
  const found: Json[] = []
  for (let cursor = ''; ; ) {
    const { data, meta } = await browser.ask('GET', `/reports/${path}&limit=100${cursor && `&cursor=${cursor}`}`)
    found.push(...data)
    if (meta.next_cursor === null) return found
    cursor = meta.next_cursor
  }
}

const figures = ['opened', 'reopened', 'first_reply', 'closed', 'closing', 'replies'] as const

test('each figure opens the episodes behind it', async (t) => {
  const world = await startReports(t, 'it has episodes whose office hours are not computed')
  const { db, api, browser, report } = world
  const model = await createModel(world, 300, 7)
  await insertEpisodes(db, api.workspaceId, model.episodes)
  const [from, to] = ['2026-02-20', '2026-11-01']
  const listAll = (name: string, query: string, list = 'episodes') => listRows(browser, `${name}/${list}?${query}`)
  const sorted = (ids: readonly string[]) => ids.toSorted()
  for (const office of [false, true]) {
    const text = `from_day=${from}&to_day=${to}&office_hours=${office}`
    for (const name of ['overview', ...Object.keys(dimensionOf)] as const) {
      const found = await report(name, text)
      const dimension = name === 'overview' ? undefined : dimensionOf[name as WithRows]
      const rows: Json[] = dimension ? found.rows : [found.totals]
      assert.ok(rows.length > 0)
      for (const row of rows) {
        const expected = recount(model, {
          timeZone: zone,
          from,
          to,
          office,
          keys: dimension ? { [dimension]: row.id } : {},
        })
        for (const figure of figures) {
          const query = `${text}&figure=${figure}${dimension ? `&row=${row.id ?? 'none'}` : ''}`
          const listed = await listAll(name, query)
          const ids = listed.map(({ id }) => id)
          const wanted =
            figure === 'first_reply' || figure === 'closing'
              ? expected[figure].map(({ e }) => e.id)
              : expected[figure].map(({ id }) => id)
          assert.deepEqual(sorted(ids), sorted(wanted), `${name} ${query}`)
          // What the page says is what the caller recounts.
          if (figure === 'replies') assert.equal(sumOf(listed.map(({ replies }) => replies)), row.replies)
          else if (figure === 'first_reply' || figure === 'closing') {
            assert.equal(ids.length, row[figure].count)
            const seconds = listed.map((each) => each[`${figure}_seconds`])
            if (ids.length > 0)
              assert.ok(Math.abs(sumOf(seconds) / ids.length - row[figure].mean_seconds) < 0.06, query)
          } else assert.equal(ids.length, row[figure])
        }
        const waiting = await listAll(name, `figure=waiting_now${dimension ? `&row=${row.id ?? 'none'}` : ''}`)
        assert.equal(waiting.length, row.waiting_now)
        const open = model.episodes.filter((e) => e.closed_at === null && e.conversation.isWaiting)
        const matching = open.filter((e) => !dimension || hasKey(e, dimension, row.id))
        assert.deepEqual(sorted(waiting.map(({ id }) => id)), sorted(matching.map(({ id }) => id)))
      }
    }
  }
  await assertOpened()

  /** The figures of satisfaction and of targets. */
  async function assertOpened() {
    const text = `from_day=${from}&to_day=${to}`
    const range = { timeZone: zone, from, to }
    for (const by of [undefined, 'member', 'team', 'connection', 'label'] as const) {
      const found = await report('satisfaction', `${text}&by=${by ?? 'member'}`)
      const rows: Json[] = by ? found.rows : [found.totals]
      assert.ok(rows.length > 0)
      for (const row of rows) {
        const expected = recountOutcomes(model, { ...range, keys: by ? { [by]: row.id } : {} })
        const ofRow = `${text}${by ? `&by=${by}&row=${row.id ?? 'none'}` : ''}`
        for (const figure of ['asked', 'answered', 'ratings'] as const) {
          const listed = await listAll('satisfaction', `${ofRow}&figure=${figure}`, 'ratings')
          assert.equal(listed.length, row[figure])
          assert.deepEqual(sorted(listed.map(({ id }) => id)), sorted(expected[figure].map(({ id }) => id)))
        }
        const best = await listAll('satisfaction', `${ofRow}&figure=ratings&rating=5`, 'ratings')
        assert.equal(best.length, row.by_rating[4])
        assert.ok(best.every(({ rating, comment }) => rating === 5 && comment === 'Thank you'))
      }
    }
    for (const by of ['target', 'member', 'team', 'connection', 'label'] as const) {
      const found = await report('targets', `${text}&by=${by}`)
      for (const row of [...(by === 'target' ? [found.totals] : []), ...found.rows]) {
        const isRow = 'id' in row
        const expected = recountOutcomes(
          model,
          { ...range, keys: isRow && by !== 'target' ? { [by]: row.id } : {} },
          by === 'target' ? row.id : undefined,
        )
        const ofRow = `${text}&by=${by}${isRow ? `&row=${row.id ?? 'none'}` : ''}`
        for (const figure of ['met', 'missed'] as const) {
          let count = 0
          for (const kind of [undefined, ...kinds]) {
            const query = `${ofRow}&figure=${figure}${kind ? `&kind=${kind}` : ''}`
            const listed = (await listAll('targets', query, 'outcomes')).flatMap(({ id, outcomes }) =>
              outcomes.map(
                (outcome: Json) => `${id} ${outcome.target_id} ${outcome.kind} ${outcome.outcome} ${outcome.at}`,
              ),
            )
            const wanted = expected.outcomes
              .filter((outcome) => outcome.isMet === (figure === 'met') && (kind ?? outcome.kind) === outcome.kind)
              .map(({ e, target, kind, at }) => `${e.id} ${target} ${kind} ${figure} ${iso(at)}`)
            assert.deepEqual(sorted(listed), sorted(wanted), query)
            if (kind) assert.equal(listed.length, row[kind][figure])
            count = kind ? count - listed.length : listed.length
          }
          assert.equal(count, 0)
        }
      }
    }
    // A keyed caller gets the same reports, and the CSV has the same rows.
    for (const name of ['satisfaction', 'targets', 'availability']) {
      const { data } = (await api.get(`/reports/${name}?${text}`)).body
      assert.deepEqual(data.totals, (await report(name, text)).totals)
      const csv = await fetch(`${world.url}/app/api/reports/${name}/table.csv?${text}`, {
        headers: { cookie: browser.cookie() },
      })
      assert.equal((await csv.text()).trim().split('\r\n').length, data.rows.length + 1)
    }
  }
  const { hours } = await report('busy_hours', `from_day=${from}&to_day=${to}`)
  for (const { weekday, hour, opened } of hours.slice(0, 20)) {
    const listed = await listAll(
      'busy_hours',
      `from_day=${from}&to_day=${to}&figure=opened&weekday=${weekday}&hour=${hour}`,
    )
    assert.equal(listed.length, opened)
  }
  const [first] = await listAll('overview', `from_day=${from}&to_day=${to}&figure=opened`)
  assert.equal(first?.contact.name, 'Ann')
  // A keyed caller gets the same report, and the CSV has the same rows.
  const { data } = (await api.get(`/reports/teams?from_day=${from}&to_day=${to}`)).body
  assert.deepEqual(data, await report('teams', `from_day=${from}&to_day=${to}`))
  const csv = await fetch(`${world.url}/app/api/reports/teams/table.csv?from_day=${from}&to_day=${to}`, {
    headers: { cookie: browser.cookie() },
  })
  const lines = (await csv.text()).trim().split('\r\n')
  assert.equal(lines.length, data.rows.length + 1)
  assert.ok(lines[1]?.startsWith(`${data.rows[0].name},${data.rows[0].id},${data.rows[0].opened},`), lines[1])
})

test('who waits now are the customers of open conversations, as in the inbox', async (t) => {
  const world = await withProvider(start(t))
  const { ask } = await signIn(world)
  for (const from of ['+14155880001', '+14155880002', '+14155880003'])
    await world.provider.writes({ from, text: 'hello' })
  const [snoozed, pending, open]: string[] = pluck((await ask('GET', '/conversations')).data, 'id')
  await ask('PATCH', `/conversations/${snoozed}`, { snoozed_until: new Date(Date.now() + hourMs).toISOString() })
  await ask('PATCH', `/conversations/${pending}`, { status: 'pending' })
  const listed = async () =>
    pluck((await ask('GET', '/reports/overview/episodes?figure=waiting_now')).data, 'conversation_id')
  const counted = async () => {
    const { totals, rows } = (await ask('GET', '/reports/members')).data
    return [totals.waiting_now, sumOf(pluck(rows, 'waiting_now'))]
  }
  const inInbox = async () => pluck((await ask('GET', '/conversations?status=open&sort=waiting')).data, 'id')
  assert.deepEqual([await listed(), await inInbox(), await counted()], [[open], [open], [1, 1]])
  await ask('PATCH', `/conversations/${snoozed}`, { status: 'open' })
  assert.deepEqual([(await listed()).toSorted(), await counted()], [[open, snoozed].toSorted(), [2, 2]])
})

test('a report refuses a period, a filter or a row that it cannot have', async (t) => {
  const { browser } = await startReports(t)
  for (const path of [
    'overview?from_day=2026-02-30',
    'overview?from_day=2026-02-02&to_day=2026-02-01',
    'overview?from_day=2025-01-01&to_day=2026-06-01',
    'overview?interval=year',
    'members?label_id=none',
    'busy_hours?team_id=none&connection_id=none',
    'overview?team_id=1',
    'nothing',
    'overview/episodes',
    'overview/episodes?figure=opened&row=none',
    'busy_hours/episodes?figure=opened&hour=24',
    'satisfaction?by=channel',
    'satisfaction?by=label&member_id=none',
    'satisfaction/ratings',
    'satisfaction/ratings?figure=ratings&rating=6',
    'satisfaction/ratings?figure=ratings&row=1',
    'targets?team_id=none&member_id=none',
    'targets?by=channel',
    'targets?by=member&team_id=none',
    'targets/outcomes?figure=met&by=member&row=1',
    'targets/outcomes?figure=met&kind=reply',
    'availability?from_day=2026-02-30',
    'availability/spans?figure=busy',
  ])
    assertBadRequest(await browser.call('GET', `/reports/${path}`))
  const { from_day, to_day } = (await browser.ask('GET', '/reports/overview?to_day=2026-03-30')).data
  assert.deepEqual([from_day, to_day], ['2026-03-01', '2026-03-30'])
})

test('counts stay exact while two processes write, two count and one reads', async (t) => {
  const world = await startReports(t, 'it calls the loop of the counters')
  const { db, api, report, database } = world
  const model = await createModel(world, 250, 11)
  const other = database.connect(4)
  let isWriting = true
  const write = async (sql: World['db'], episodes: Episode[]) => {
    for (const [i, e] of episodes.entries()) {
      await insertEpisode(sql, api.workspaceId, e)
      // An outcome of an episode that is counted by now, mostly.
      const earlier = episodes[i - 20]
      const outcome = earlier?.outcomes[0]
      if (earlier && outcome && i % 2 === 0) {
        Object.assign(outcome, { isMet: false, at: earlier.opened_at + 60_000 })
        await sql`update target_clocks set outcome = 'missed', breached_at = ${iso(outcome.at)}
          where workspace_id = ${api.workspaceId} and episode_id = ${earlier.id} and target_id = ${outcome.target}
            and kind = ${outcome.kind}`
      }
      if (i % 3 !== 0 || e.closed_at === null) continue
      e.replies += 1
      await sql`update episodes set replies = ${e.replies}, updated_at = now() where workspace_id = ${api.workspaceId} and id = ${e.id}`
    }
  }
  const count = async (sql: World['db']) => {
    while (isWriting) {
      await countReports(sql)
      // Without it, three loops in this process leave the writers a tenth of its time.
      await setTimeout(10)
    }
  }
  let last = 0
  const read = async () => {
    while (isWriting) {
      const { totals, rows } = await report('teams', `from_day=${wholeTime[0]}&to_day=${wholeTime[1]}`)
      assert.ok(totals.opened >= last, 'no episode is lost for a moment')
      assert.equal(sumOf(rows.map(({ opened }: Json) => opened)), totals.opened, 'the rows are of the same moment')
      last = totals.opened
    }
  }
  const counting = [count(db), count(other), read()]
  const half = model.episodes.length / 2
  await Promise.all([write(db, model.episodes.slice(0, half)), write(other, model.episodes.slice(half))])
  isWriting = false
  await Promise.all(counting)
  await assertReports(world, model, zone, [wholeTime])
  await assertOutcomes(world, model, zone, [wholeTime])
  await countReports(db)
  await assertReports(world, model, zone, [wholeTime])
  await assertOutcomes(world, model, zone, [wholeTime])
})

test('after a change of the time zone the days are counted again, exactly, while episodes change', async (t) => {
  const world = await startReports(t, 'it calls the loop of the counters')
  const { db, api, browser, report } = world
  const model = await createModel(world, 250, 23)
  const all = model.episodes
  model.episodes = all.slice(0, 190)
  await insertEpisodes(db, api.workspaceId, model.episodes)
  await countReports(db)
  const to = 'Asia/Kolkata'
  await browser.ask('PATCH', '/workspace', { time_zone: to })
  const during = await report('overview', `from_day=${wholeTime[0]}&to_day=${wholeTime[1]}`)
  assert.deepEqual([during.is_rebuilding, during.time_zone], [true, zone])
  await assertReports(world, model, zone, [wholeTime])
  // These come while the new generation is built.
  model.episodes = all
  const writing = insertEpisodes(db, api.workspaceId, all.slice(190))
  await countReports(db)
  await writing
  await countReports(db)
  const after = await report('overview', `from_day=${wholeTime[0]}&to_day=${wholeTime[1]}`)
  assert.deepEqual([after.is_rebuilding, after.time_zone], [false, to])
  await assertReports(world, model, to, [wholeTime, ['2026-03-08', '2026-03-08']])
  await assertOutcomes(world, model, to, [wholeTime, ['2026-03-08', '2026-03-08']])
  const generations = await db`select distinct generation from report_counts where workspace_id = ${api.workspaceId}`
  assert.equal(generations.length, 1)
})

test('the episodes, ratings and outcomes of a merged contact count as before', async (t) => {
  const world = await startReports(t, 'it calls the loop of the counters')
  const { db, api, browser } = world
  const model = await createModel(world, 200, 41)
  await insertEpisodes(db, api.workspaceId, model.episodes)
  await countReports(db)
  const contactOf = async ({ id }: Conversation) =>
    (await db`select contact_id from conversations where workspace_id = ${api.workspaceId} and id = ${id}`)[0]
      ?.contact_id
  const isOpen = (conversation: Conversation) =>
    model.episodes.some((e) => e.conversation === conversation && e.closed_at === null)
  const merged = new Set<Conversation>()
  for (const to of model.conversations) {
    if (merged.has(to) || isOpen(to)) continue
    const from = model.conversations.find(
      (each) => each !== to && !merged.has(each) && each.connection === to.connection,
    )
    if (!from) continue
    merged.add(to).add(from)
    await browser.ask('POST', `/contacts/${await contactOf(to)}/merge`, { contact_id: await contactOf(from) })
    for (const e of model.episodes) if (e.conversation === from) e.conversation = to
    to.member ??= from.member
    to.labels = [...new Set([...to.labels, ...from.labels])]
  }
  assert.ok(merged.size > 6)
  await assertReports(world, model, zone, [wholeTime])
  await assertOutcomes(world, model, zone, [wholeTime])
  await countReports(db)
  await assertReports(world, model, zone, [wholeTime])
  await assertOutcomes(world, model, zone, [wholeTime])
})

test('the seconds of availability are those of the history, on days of 23, 24 and 25 hours, up to now', async (t) => {
  const world = await startReports(t)
  const { db, api, browser, report } = world
  const random = createRandom(5)
  const team = (await browser.ask('POST', '/teams', { name: 'Sales' }, 201)).data.id
  const createdMs = Date.parse('2026-03-07T15:00:00Z')
  const members: string[] = []
  type Span = { member: string; state: string; from: number; to: number }
  const spans: Span[] = []
  for (let i = 0; i < 4; i++) {
    const who = {
      email: `on${i}-${newId()}@example.test`,
      name: `Agent ${i}`,
      role: 'agent' as const,
      passwordHash: '',
    }
    const { id } = await insertMember(db, api.workspaceId, who)
    members.push(id)
    // The last one is added within the period, and has no history.
    await db`update members set created_at = ${iso(i === 3 ? createdMs : firstMs)} where workspace_id = ${api.workspaceId} and id = ${id}`
    if (i === 0)
      await db`insert into team_members (workspace_id, team_id, member_id) values (${api.workspaceId}, ${team}, ${id})`
    // Some spans touch each other, some last for days, and some begin before the period.
    for (const start of i === 3 ? [] : changesOfClocks) {
      for (let at = start - 4 * dayMs; at < start + 4 * dayMs; ) {
        const to = Math.floor(at + random() * (random() < 0.2 ? 3 * dayMs : 5 * hourMs))
        spans.push({ member: id, state: random() < 0.7 ? 'available' : 'away', from: at, to })
        at = random() < 0.5 ? to : Math.floor(to + random() * 6 * hourMs)
      }
    }
  }
  const insertSpan = ({ member, state, from, to }: Span, isNow = false) => db`
    insert into availability_spans (workspace_id, member_id, started_at, ended_at, state)
    values (${api.workspaceId}, ${member}, ${iso(from)}, ${isNow ? null : iso(to)}, ${state})`
  for (const each of spans) await insertSpan(each)
  const [owner] = await db<{ id: string }[]>`
    select id from members where workspace_id = ${api.workspaceId} and role = 'owner'`
  assert.ok(owner)
  await db`update members set created_at = ${iso(firstMs)} where workspace_id = ${api.workspaceId} and id = ${owner.id}`
  const all = [...members, owner.id]

  /** Whole seconds of the overlaps, by a search for the first quarter of an hour of each day. */
  const startOfDay = (day: string): number => {
    let ms = Date.parse(day) - 15 * hourMs
    while (localOf(ms, zone).day < day) ms += 900_000
    return ms
  }
  const second = (ms: number) => Math.floor(ms / 1_000)
  const expect = (ids: readonly string[], from: string, to: string) => {
    const seconds = { available_seconds: 0, away_seconds: 0, offline_seconds: 0 }
    for (const id of ids) {
      const start = second(Math.max(startOfDay(from), id === members[3] ? createdMs : firstMs))
      const end = second(startOfDay(addDays(to, 1)))
      let online = 0
      for (const span of spans.filter(({ member }) => member === id)) {
        const count = Math.max(0, Math.min(second(span.to), end) - Math.max(second(span.from), start))
        online += count
        seconds[span.state === 'away' ? 'away_seconds' : 'available_seconds'] += count
      }
      seconds.offline_seconds += Math.max(0, end - start) - online
    }
    return seconds
  }
  const figuresOf = ({ available_seconds, away_seconds, offline_seconds }: Json) => ({
    ...{ available_seconds, away_seconds, offline_seconds },
  })
  for (const [from, to] of [
    ['2026-03-06', '2026-03-12'],
    ['2026-03-08', '2026-03-08'],
    ['2026-11-01', '2026-11-01'],
    ['2026-10-30', '2026-11-05'],
  ] as const) {
    const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1
    const text = `from_day=${from}&to_day=${to}`
    const found = await report('availability', text)
    assert.deepEqual(figuresOf(found.totals), expect(all, from, to), text)
    assert.deepEqual(figuresOf(found.previous), expect(all, addDays(from, -days), addDays(from, -1)), `before ${text}`)
    for (const { start, ...each } of found.intervals)
      assert.deepEqual(figuresOf(each), expect(all, start, start), `${text} ${start}`)
    assert.deepEqual(found.rows.map(({ id }: Json) => id).toSorted(), all.toSorted())
    for (const row of found.rows) {
      assert.deepEqual(figuresOf(row), expect([row.id], from, to), row.name)
      for (const state of ['available', 'away', 'offline']) {
        const listed = await listRows(browser, `availability/spans?${text}&figure=${state}&row=${row.id}`)
        assert.ok(listed.every((each) => each.state === state && each.member_id === row.id))
        assert.ok(
          listed.every((each) => each.seconds === (Date.parse(each.ended_at) - Date.parse(each.started_at)) / 1_000),
        )
        assert.equal(sumOf(pluck(listed, 'seconds')), row[`${state}_seconds`], `${text} ${row.name} ${state}`)
      }
    }
    const ofTeam = await report('availability', `${text}&team_id=${team}`)
    assert.deepEqual(pluck(ofTeam.rows, 'id'), [members[0]])
    assert.deepEqual(figuresOf(ofTeam.totals), expect(members.slice(0, 1), from, to))
    const inWeeks = await report('availability', `${text}&interval=month&member_id=${members[1]}`)
    assert.deepEqual(figuresOf(inWeeks.totals), expect(members.slice(1, 2), from, to))
    assert.equal(sumOf(pluck(inWeeks.intervals, 'away_seconds')), inWeeks.totals.away_seconds)
  }

  // A span that lasts ends now.
  const hourAgo = Date.now() - hourMs
  await insertSpan({ member: members[2] ?? '', state: 'available', from: hourAgo, to: 0 }, true)
  const [yesterday, today] = [localOf(Date.now() - dayMs, zone).day, localOf(Date.now(), zone).day]
  const text = `from_day=${yesterday}&to_day=${today}`
  const row = (await report('availability', text)).rows.find(({ id }: Json) => id === members[2])
  assert.ok(row.available_seconds >= 3_599)
  const [span] = await listRows(browser, `availability/spans?${text}&figure=available&row=${members[2]}`)
  assert.deepEqual([span?.ended_at, span?.state], [null, 'available'])
  assert.ok(span?.seconds >= row.available_seconds)
  const tomorrow = await report('availability', `from_day=${addDays(today, 1)}&to_day=${addDays(today, 1)}`)
  assert.deepEqual(figuresOf(tomorrow.totals), { available_seconds: 0, away_seconds: 0, offline_seconds: 0 })
})

test('a member who sees only some conversations gets the own ratings, outcomes and hours', async (t) => {
  const world = await startReports(t)
  const { db, api, browser } = world
  const agent = await createMember(browser, 'agent')
  const model = await createModel(world, 200, 53)
  const [replaced] = model.members
  const own = (id: string | null) => (id === replaced ? agent.id : id)
  for (const each of model.conversations) each.member = own(each.member)
  for (const e of model.episodes) {
    Object.assign(e, { member: own(e.member), first_reply_by: own(e.first_reply_by) })
    if (e.question) e.question.member = own(e.question.member)
    for (const outcome of e.outcomes) outcome.member = own(outcome.member)
  }
  for (const { id, member } of model.conversations)
    await db`update conversations set assigned_agent_id = ${member} where workspace_id = ${api.workspaceId} and id = ${id}`
  await insertEpisodes(db, api.workspaceId, model.episodes)
  await browser.ask('PATCH', '/workspace', { agents_see: 'own' })
  const [from, to] = wholeTime
  const text = `from_day=${from}&to_day=${to}`
  const range = { timeZone: zone, from, to, keys: { member: agent.id } }
  const expected = recountOutcomes(model, range)
  assert.ok(expected.ratings.length > 0 && expected.outcomes.length > 0)
  const get = async (path: string): Promise<Json> => (await agent.ask('GET', `/reports/${path}`)).data
  for (const by of ['member', 'team', 'connection']) {
    const found = await get(`satisfaction?${text}&by=${by}`)
    assertSatisfaction(found.totals, expected, by)
    assert.equal(sumOf(pluck(found.rows, 'asked')), found.totals.asked)
  }
  assertTargets((await get(`targets?${text}`)).totals, expected, 'own targets')
  const byMember = await get(`targets?${text}&by=member`)
  assert.deepEqual(pluck(byMember.rows, 'id'), [agent.id])
  assertTargets(byMember.rows[0], expected, 'own targets by member')
  assert.deepEqual(pluck((await get(`availability?${text}`)).rows, 'id'), [agent.id])
  const other = model.members[1]
  for (const path of [
    'satisfaction?by=label',
    'targets?by=team',
    ...['satisfaction', 'targets', 'availability'].map((name) => `${name}?member_id=${other}`),
    `satisfaction/ratings?figure=asked&row=${other}`,
    `availability/spans?figure=offline&row=${other}`,
  ])
    assertRefused(await agent.call('GET', `/reports/${path}`), 403, 'forbidden')
  // The rows are those of the conversations that the agent sees now.
  const isSeen = ({ conversation }: Episode) => conversation.member === agent.id
  const seen = (await listRows(agent, `satisfaction/ratings?${text}&figure=ratings`)).map(({ id }) => id)
  const ratings = model.episodes.flatMap((e) =>
    isSeen(e) && e.question && expected.ratings.includes(e.question) ? [e.question.id] : [],
  )
  assert.deepEqual(seen.toSorted(), ratings.toSorted())
  const missed = await listRows(agent, `targets/outcomes?${text}&figure=missed`)
  const episodes = expected.outcomes.filter(({ e, isMet }) => isSeen(e) && !isMet).map(({ e }) => e.id)
  assert.deepEqual(pluck(missed, 'id').toSorted(), [...new Set(episodes)].toSorted())
})

test('a deleted workspace has no counters left', async (t) => {
  const world = await startReports(t, 'it calls the loop of the counters')
  const { db, api } = world
  const model = await createModel(world, 60, 31)
  await insertEpisodes(db, api.workspaceId, model.episodes)
  await countReports(db)
  await deleteWorkspace(db, api.workspaceId, { delete: async () => {} })
  await countReports(db)
  for (const table of ['report_changes', 'report_counts', 'report_histograms', 'report_states', 'counted_episodes']) {
    assert.equal((await db`select from ${db(table)} where workspace_id = ${api.workspaceId}`).length, 0, table)
  }
})
