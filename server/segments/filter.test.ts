/**
 * A segment's filter and a search mean what they say: the statement they become
 * finds the people that a plain reading finds, one by one, in memory.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { createDatabase, pluck } from '../../tests/support.ts'
import { createWorkspace } from '../accounts/workspaces.ts'
import { listContacts } from '../contacts/contacts.ts'
import { filterFields } from '../conversations/filter-fields.ts'
import { newId } from '../lib/id.ts'
import { readPosition } from '../lib/page.ts'
import type { Db } from '../lib/postgres/db.ts'
import { fold } from '../lib/text.ts'
import { type Filter, isGroup, patternOf, type Rule, type RuleGroup, requireFilter, toCondition } from './filter.ts'

const seed = 20_260_131
/** Attributes are compared by the database's own folding; `tests/segments.test.ts` has their examples. */
const { 'attributes.NAME': _attributes, ...fields } = filterFields
const channels = ['msgapp', 'social', 'web'] as const
const statuses = ['open', 'pending', 'closed'] as const
const textFields = ['name', 'email', 'company', 'phone', 'social_username'] as const

type Text = string | null
type Tag = { id: string; name: string }
type Conversation = { channel: string; status: string; last_inbound_at: Text }
type Person = Record<(typeof textFields)[number], Text> & {
  id: string
  created_at: string
  tags: Tag[]
  channels: string[]
  opted_out_at: Text
  conversations: Conversation[]
}

const hour = 3_600_000
const started = Date.now()
/** Always half an hour beside every full age, so that the moment of asking does not matter. */
const agoOf = (hours: number) => new Date(started - hours * hour - hour / 2).toISOString()

const letters = [...'aZéÉeßẞſsSΣσςİıiIŉΐΪ%_\\\n \t🙂日', 'e\u0301', '\u0301', 'SS', '\u00a0', "'", '"', '$1', '\u2028']
const words = [
  ...['José', 'JOSÉ', 'Straße', 'STRASSE', 'STRAẞE', 'ΟΔΟΣ', 'οδός', 'Οδος', 'İstanbul', 'istanbul', '100%', '100_'],
  'a\\b',
]
const aText = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 6 }) },
  { weight: 2, arbitrary: fc.constantFrom(...words) },
  fc.tuple(fc.constantFrom(...words), fc.constantFrom(...words)).map(([one, other]) => `${one}\n${other}`),
)
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { freq: 3 })

const tagNames = ['VIP', 'étage', 'Straße', 'Οδός', '50%', '50_', 'back\\slash', 'İ', 'null', '__proto__']

/** One connection per channel: the trigger of conversations chooses it. */
const connections = channels.map((channel) => ({ id: newId(), channel, name: `${channel} Straße` }))

const aPerson = (tags: readonly Tag[]): fc.Arbitrary<Omit<Person, 'id'>> =>
  fc.record({
    name: maybe(aText),
    email: maybe(aText.map((text) => `${text}@Example.COM`)),
    company: maybe(aText),
    phone: maybe(fc.integer({ min: 0, max: 9_999 }).map((n) => `+1415555${String(n).padStart(4, '0')}`)),
    social_username: maybe(aText),
    created_at: fc.integer({ min: 0, max: 2_000 }).map(agoOf),
    tags: fc.subarray([...tags]),
    channels: fc.subarray([...channels]),
    opted_out_at: maybe(fc.constant(agoOf(1))),
    conversations: fc.uniqueArray(
      fc.record({
        channel: fc.constantFrom(...channels),
        status: fc.constantFrom(...statuses),
        last_inbound_at: maybe(fc.integer({ min: 0, max: 2_000 }).map(agoOf)),
      }),
      { selector: ({ channel }) => channel, maxLength: 3 },
    ),
  })

/** The words of the decisions, one line each. `value` is what the rule says, `fold` is how text is compared. */
function meets(person: Person, { field, op, value = '' }: Rule): boolean {
  if (field === 'tag') {
    const has = person.tags.some(({ id, name }) => fold(name) === fold(value.trim()) || id === value.toLowerCase())
    return op === 'has' ? has : !has
  }
  if (field === 'connection') {
    const named = connections.find(({ id, name }) => fold(name) === fold(value.trim()) || id === value.toLowerCase())
    return person.conversations.some(({ channel }) => channel === named?.channel) === (op === 'has')
  }
  if (field === 'channel') return person.channels.includes(value) === (op === 'has')
  if (field === 'opted_out') return (person.opted_out_at !== null) === (value === 'true')
  if (field === 'created_at') return compare(person.created_at, op, value)
  if (field === 'last_inbound_at') {
    const times = person.conversations.flatMap(({ last_inbound_at: time }) => time ?? [])
    return compare(times.sort().at(-1) ?? null, op, value)
  }
  if (field === 'conversation_status') {
    return person.conversations.some(({ status }) => status === value) === (op === 'is')
  }
  const text = person[field as (typeof textFields)[number]]
  const own = text === null ? null : fold(text)
  const asked = fold(value)
  switch (op) {
    case 'is':
      return own === asked
    case 'is_not':
      return own !== asked
    case 'contains':
      return own?.includes(asked) ?? false
    case 'not_contains':
      return !own?.includes(asked)
    case 'starts_with':
      return own?.startsWith(asked) ?? false
    case 'is_set':
      return own !== null
    case 'is_not_set':
      return own === null
  }
  throw new Error(`no meaning for ${field} ${op}`)
}

function compare(time: Text, op: string, value: string): boolean {
  if (op === 'is_set' || op === 'is_not_set') return (time !== null) === (op === 'is_set')
  if (time === null) return false
  const [, count, unit] = /^(\d+)([dh])$/.exec(value) ?? []
  const moment = count ? started - Number(count) * (unit === 'd' ? 24 : 1) * hour : Date.parse(value)
  return op === 'before' ? Date.parse(time) < moment : Date.parse(time) > moment
}

function meetsAll(person: Person, { match, rules }: Filter): boolean {
  const isMet = (rule: Rule | RuleGroup) => (isGroup(rule) ? meetsAll(person, rule) : meets(person, rule))
  return match === 'all' ? rules.every(isMet) : rules.some(isMet)
}

const inAnyCase = (text: fc.Arbitrary<string>) =>
  fc.tuple(text, fc.constantFrom('as it is', 'up', 'down', 'apart')).map(([text, how]) => {
    if (how === 'up') return text.toUpperCase()
    if (how === 'down') return text.toLowerCase()
    return how === 'apart' ? text.normalize('NFD') : text
  })

/** Something that is often found: one of these texts, whole or in part, in another case; or a text of its own. */
function partOf(texts: readonly string[]): fc.Arbitrary<string> {
  const part = fc
    .tuple(fc.constantFrom(...texts), fc.nat(8), fc.integer({ min: 1, max: 4 }))
    .map(([text, from, length]) => [...text].slice(from, from + length).join(''))
  return inAnyCase(fc.oneof(fc.constantFrom(...texts), part, aText)).filter((text) => text.trim() !== '')
}

/** Rules that hit often: values are taken from the people themselves. */
function aRule(people: readonly Person[], tags: readonly Tag[]): fc.Arbitrary<Rule> {
  const texts = people.flatMap((person) => textFields.flatMap((field) => person[field] ?? []))
  const value = partOf(texts)
  const moment = fc.oneof(
    fc.integer({ min: 0, max: 2_100 }).map((hours) => new Date(started - hours * hour).toISOString()),
    fc.integer({ min: 0, max: 2_100 }).map((hours) => `${hours}h`),
    fc.integer({ min: 0, max: 90 }).map((days) => `${days}d`),
    fc.constantFrom('0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '999999d', '2026-01-31T09:30+05:30'),
  )
  const tag = fc.oneof(
    inAnyCase(fc.constantFrom(...tagNames)),
    fc.constantFrom(...tags).map(({ id }) => id),
    fc.constantFrom(...tags).map(({ id }) => id.toUpperCase()),
    fc.constantFrom(' vip ', 'nobody', newId()),
  )
  const values: Record<string, fc.Arbitrary<string>> = {
    tag,
    channel: fc.constantFrom(...channels),
    connection: fc.oneof(
      inAnyCase(fc.constantFrom(...connections.map(({ name }) => name), 'unknown')),
      fc.constantFrom(...connections.map(({ id }) => id), newId()),
    ),
    created_at: moment,
    last_inbound_at: moment,
    conversation_status: fc.constantFrom(...statuses),
    opted_out: fc.constantFrom('true', 'false'),
  }
  const pairs = Object.entries(fields).flatMap(([field, ops]) => Object.keys(ops).map((op) => ({ field, op })))
  return fc.constantFrom(...pairs).chain(({ field, op }): fc.Arbitrary<Rule> => {
    if (op === 'is_set' || op === 'is_not_set') return fc.constant({ field, op })
    return (values[field] ?? value).map((value) => ({ field, op, value }))
  })
}

async function insertPeople(
  db: Db,
  workspaceId: string,
  people: readonly Person[],
  tags: readonly Tag[],
  sites: typeof connections,
): Promise<void> {
  const key = (text: Text) => (text === null ? null : fold(text))
  const insert = (table: string, rows: Record<string, unknown>[]) =>
    db`insert into ${db(table)} ${db(rows.map((row) => ({ workspace_id: workspaceId, ...row })))}`
  await insert(
    'channel_connections',
    sites.map(({ id, channel, name }) => ({
      ...{ id, channel, channel_name: channel, name, name_key: fold(name), secrets: '' },
      ...{ created_at: agoOf(0), updated_at: agoOf(0) },
    })),
  )
  await insert(
    'tags',
    tags.map(({ id, name }) => ({ id, name, name_key: fold(name), color: '#000000', created_at: agoOf(0) })),
  )
  await insert(
    'contacts',
    people.map(({ id, name, email, company, phone, social_username, opted_out_at, created_at }) => ({
      ...{ id, name, email, company, phone, social_username, opted_out_at, created_at, updated_at: created_at },
      opted_out_by: opted_out_at && 'member',
      ...{
        name_key: key(name),
        email_key: key(email),
        company_key: key(company),
        social_username_key: key(social_username),
      },
    })),
  )
  await insert(
    'contact_identities',
    people.flatMap(({ id, channels }) => channels.map((channel) => ({ channel, external_id: id, contact_id: id }))),
  )
  const links = people.flatMap(({ id, tags }) => tags.map((tag) => ({ contact_id: id, tag_id: tag.id })))
  await insert('contact_tags', links)
  await insert(
    'conversations',
    people.flatMap(({ id, created_at, conversations }) =>
      conversations.map((conversation) => ({
        ...{ ...conversation, id: newId(), contact_id: id, created_at, updated_at: created_at },
      })),
    ),
  )
}

/** Two hundred people of our own, and a neighbour who knows the same by other ids. */
async function startWithPeople(t: TestContext) {
  const db = (await createDatabase(t)).connect(2)
  const newWorkspace = async (name: string) => {
    const given = { name, default_country: 'US', owner: { email: 'owner@acme.test', password: 'correct horse' } }
    return (await db.begin((sql) => createWorkspace(sql, given))).workspace_id
  }
  const [workspaceId, neighbourId] = [await newWorkspace('Acme'), await newWorkspace('Neighbour')]
  const tags = tagNames.map((name) => ({ id: newId(), name }))
  // A tag may be named like the id of another one: that text matches both.
  tags.push({ id: newId(), name: tags[0]?.id ?? '' })
  const people = fc.sample(aPerson(tags), { seed, numRuns: 200 }).map((person) => ({ ...person, id: newId() }))
  await insertPeople(db, workspaceId, people, tags, connections)
  // The neighbour knows the same people by other ids, every one of them with every tag.
  const twinTags = tags.map(({ name }) => ({ id: newId(), name }))
  const twins = people.map((person) => ({ ...person, id: newId(), tags: twinTags }))
  const twinConnections = connections.map((connection) => ({ ...connection, id: newId() }))
  await insertPeople(db, neighbourId, twins, twinTags, twinConnections)
  return { db, workspaceId, people, tags }
}

test('a filter matches exactly the contacts its rules describe, in its own workspace only', async (t) => {
  const { db, workspaceId, people, tags } = await startWithPeople(t)
  const asked = new Set<string>()
  let [all, none, some] = [0, 0, 0]
  const match = fc.constantFrom('all' as const, 'any' as const)
  const rule = aRule(people, tags)
  const group = fc.record({ match, rules: fc.array(rule, { minLength: 1, maxLength: 3 }) })
  const filters = fc.record({
    match,
    rules: fc.array(fc.oneof({ weight: 3, arbitrary: rule }, { weight: 1, arbitrary: group }), {
      minLength: 1,
      maxLength: 4,
    }),
  })
  await fc.assert(
    fc.asyncProperty(filters, async (filter) => {
      const condition = toCondition(db, workspaceId, fields, requireFilter(fields, filter))
      const rows = await db<{ id: string }[]>`
        select c.id from contacts c where c.workspace_id = ${workspaceId} and ${condition} order by c.id`
      const found = rows.map(({ id }) => id)
      const expected = people.filter((person) => meetsAll(person, filter)).map(({ id }) => id)
      assert.deepEqual(found, expected.sort())

      for (const { field, op } of filter.rules.flatMap((each) => (isGroup(each) ? each.rules : each)))
        asked.add(`${field} ${op}`)
      if (found.length === 0) none++
      else if (found.length === people.length) all++
      else some++
    }),
    { seed, numRuns: 450 },
  )

  const known = Object.entries(fields).flatMap(([field, ops]) => Object.keys(ops).map((op) => `${field} ${op}`))
  assert.deepEqual([...asked].sort(), known.sort(), 'every field and op was asked')
  assert.ok(some > 200, `filters that match some contacts: ${some}; none: ${none}; all: ${all}`)
})

test('a search matches exactly the contacts that contain the text, or start with it when it is short', async (t) => {
  const { db, workspaceId, people } = await startWithPeople(t)
  const line = (text: string) => fold(text).replaceAll('\n', ' ')
  const textsOf = ({ name, phone, email, company }: Person) =>
    [name, phone, email, company].flatMap((text) => text ?? [])
  let found = 0
  await fc.assert(
    fc.asyncProperty(partOf(people.flatMap(textsOf)), async (search) => {
      const page = await listContacts(db, workspaceId, { search }, readPosition({ limit: '100' }))
      const matches = (text: string) =>
        [...search].length < 3 ? line(text).startsWith(line(search)) : line(text).includes(line(search))
      const number = search.replace(/[\s()./-]/g, '')
      const isWritten = ({ phone }: Person) => /^\+?\d{3,}$/.test(number) && phone?.includes(number)
      const expected = people.filter((person) => textsOf(person).some(matches) || isWritten(person)).map(({ id }) => id)
      assert.deepEqual(pluck(page.data, 'id'), expected.sort().reverse().slice(0, 100))
      if (expected.length > 0) found++
    }),
    { seed, numRuns: 300 },
  )
  assert.ok(found > 150, `searches with a match: ${found}`)
})

test('a field that ends in a name stands for many, and an error is below the path of the filter', () => {
  const { 'attributes.NAME': named = {} } = filterFields
  const table = { ...fields, 'answers.NAME': named, 'answers.NAME.PATH': named }
  const read = (field: string) =>
    requireFilter(table, { match: 'all', rules: [{ field, op: 'is', value: 'x' }] }, 'steps[2].cases[0].when')
  for (const field of ['answers.a', 'answers.order_1', 'answers.order.status', 'answers.order.lines.0.Price-2']) {
    assert.deepEqual(read(field).rules, [{ field, op: 'is', value: 'x' }])
    assert.match(field, new RegExp(patternOf(field.split('.').length > 2 ? 'answers.NAME.PATH' : 'answers.NAME')))
  }
  const wrong = ['answers', 'answers.', 'answers.A', 'answers.NAME', 'answers.a.', 'answers.a..b', 'answers.a. b']
  for (const field of [...wrong, 'answers.NAME.PATH', 'attributes.plan', 'constructor.a', 'answers.a\n']) {
    assert.throws(
      () => read(field),
      /^Error: steps\[2\]\.cases\[0\]\.when\.rules\[0\]\.field: unknown; use one of tag, /,
      field,
    )
    assert.doesNotMatch(field, new RegExp(patternOf('answers.NAME')))
  }
})
