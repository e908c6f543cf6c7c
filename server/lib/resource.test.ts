/** What a schema gives: the columns, the JSON of events and the bytes of pages of a resource. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createDatabase } from '../../tests/support.ts'
import { readValues } from './page-text.ts'
import type { Sql } from './postgres/db.ts'
import { Column, Joined, NoColumn, resource, StatementColumn } from './resource.ts'
import { DateTime, ForMembers, NullableText, Type, toMemberResponse, toPublic, Uuid } from './schema.ts'

const Tag = Type.Object({ id: Uuid, name: Type.String() })
const tagIds = (sql: Sql) => sql`array_to_string(p.tag_ids, ' ')`
const readTags = (sql: Sql) => async (ids: string[]) =>
  sql<{ id: string; name: string }[]>`select id, name from tags where id = any(${ids}::uuid[]) order by name`

const Person = Type.Object({
  id: Uuid,
  name: NullableText(),
  is_known: Column(Type.Boolean(), (sql) => sql`p.name is not null`),
  born_at: DateTime,
  details: Type.Unsafe<object>({ type: 'object', additionalProperties: true }),
  channels: Column(Type.Array(Type.String()), (sql) => sql`p.channels`, {
    text: (sql) => sql`array_to_string(p.channels, ' ')`,
  }),
  tags: Column(
    Type.Array(Tag),
    (sql) => sql`coalesce((
      select json_agg(json_build_object('id', t.id, 'name', t.name) order by t.name) from tags t where t.id = any(p.tag_ids)
    ), '[]')`,
    { text: tagIds, read: readTags },
  ),
  // In the middle, so that fields follow the object.
  home: Joined('h', Type.Object({ city: Type.String(), built_at: DateTime })),
  size: Joined('h', Type.Integer()),
  link: StatementColumn(Type.String()),
  secret: ForMembers(NullableText()),
  mood: ForMembers(NoColumn(Type.String())),
})
const publicPerson = resource('p', toPublic(Person))
const memberPerson = resource('p', Person)

const ann = '0199c1d2-6b10-7c3a-9d52-3b6f0e8c4a17'
const bob = '0199c1d2-6b10-7c3a-9d52-3b6f0e8c4a18'
const [blue, red] = ['0199c1d2-6b10-7c3a-9d52-000000000001', '0199c1d2-6b10-7c3a-9d52-000000000002']

const expectedAnn = {
  id: ann,
  name: 'Ann "the\nfirst"',
  is_known: true,
  born_at: '2026-01-31T09:30:00.500Z',
  details: { plan: 'pro' },
  channels: ['sms', 'web'],
  tags: [
    { id: red, name: 'a red' },
    { id: blue, name: 'blue' },
  ],
  home: { city: 'Oslo', built_at: '1990-01-01T00:00:00.000Z' },
  size: 3,
}

async function createPeople(t: TestContext): Promise<Sql> {
  const db = (await createDatabase(t, { empty: true })).connect(1)
  await db`create table tags (id uuid, name text)`
  await db`insert into tags values (${blue}, 'blue'), (${red}, 'a red')`
  await db`
    create table people (id uuid, name text, born_at timestamptz, details jsonb, channels text[], tag_ids uuid[], secret text)`
  await db`
    insert into people values
      (${ann}, ${expectedAnn.name}, '2026-01-31 09:30:00.5+00', '{"plan": "pro"}', '{sms,web}', ${[blue, red]}::uuid[], 'hidden'),
      (${bob}, null, '2026-01-31 09:30:00+00', '{}', '{}', '{}', null)`
  return db
}

const from = (sql: Sql) => sql`
  from people p cross join (select 'Oslo' as city, '1990-01-01 00:00:00+00'::timestamptz as built_at, 3 as size) h
  order by p.id`

test('the select list, the JSON and the page of a resource have the fields of its schema', async (t) => {
  const sql = await createPeople(t)
  const link = sql`'/people/' || p.id`
  const [row] = await sql`select ${publicPerson.columns(sql, { link })} ${from(sql)}`
  const expected = { ...expectedAnn, link: `/people/${ann}` }
  assert.deepEqual(row, expected)

  const [event] = await sql<{ json: string }[]>`select ${publicPerson.json(sql, { link })}::text as json ${from(sql)}`
  assert.deepEqual(JSON.parse(event?.json ?? ''), expected)
  assert.deepEqual(Object.keys(JSON.parse(event?.json ?? '')), Object.keys(expected), 'in the order of the schema')
  assert.ok(event?.json.startsWith(`{"id":"${ann}","name":`), 'without white space')
})

/** A page has no field that depends on the statement. */
const { link: _, ...pageFields } = Person.properties
const listedPerson = resource('p', toPublic(Type.Object(pageFields)))

test('the bytes of a page are the JSON of the resources', async (t) => {
  const sql = await createPeople(t)
  const read = () => readValues(sql`select ${listedPerson.rowColumns(sql)}, 'not shown' as extra ${from(sql)}`)
  const page = await listedPerson.writePage(sql, 'a workspace', await read(), 2)
  const expectedBob = {
    ...{ id: bob, name: null, is_known: false, born_at: '2026-01-31T09:30:00.000Z', details: {} },
    ...{ channels: [], tags: [], home: expectedAnn.home, size: 3 },
  }
  assert.equal(String(page), JSON.stringify({ data: [expectedAnn, expectedBob], meta: { next_cursor: null } }))

  const first = JSON.parse(String(await listedPerson.writePage(sql, 'a workspace', await read(), 1)))
  assert.deepEqual(first.data, [expectedAnn])
  assert.equal(typeof first.meta.next_cursor, 'string')

  const rows = await sql`select ${listedPerson.rowColumns(sql)} ${from(sql)}`
  const [filled] = await listedPerson.fillLists(sql, 'a workspace', rows)
  assert.deepEqual([filled?.tags, filled?.channels], [expectedAnn.tags, expectedAnn.channels])
})

test('a field for members is selected for members only, and a field without a column for no caller', async (t) => {
  const sql = await createPeople(t)
  const [row] = await sql`select ${memberPerson.columns(sql, { link: sql`''` })} ${from(sql)}`
  assert.deepEqual(Object.keys(row ?? {}), [...Object.keys(expectedAnn), 'link', 'secret'])
  const [stored] = await sql`select ${memberPerson.storedColumns(sql)} from people p order by p.id`
  assert.deepEqual(Object.keys(stored ?? {}), ['id', 'name', 'born_at', 'details', 'secret'])
})

test('a statement that passes no expression for a field that needs one fails', async (t) => {
  const sql = await createPeople(t)
  assert.throws(() => publicPerson.columns(sql), /passes no expression/)
})

test('the SQL of a field is not in the schema that validators and the API document get', () => {
  const plain = Type.Object({ a: Type.Integer(), b: ForMembers(NullableText()) })
  const annotated = Type.Object({
    a: Column(Type.Integer(), (sql) => sql`1`),
    b: NoColumn(ForMembers(NullableText())),
  })
  assert.equal(JSON.stringify(annotated), JSON.stringify(plain))
  assert.equal(JSON.stringify(toMemberResponse(annotated)), JSON.stringify(toMemberResponse(plain)))
})
