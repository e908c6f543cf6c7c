/** The members' inbox: every filter gives each conversation once, last activity first, and a conversation says what happened in it. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { hashPassword, insertMember, newId } from './internals.ts'
import { assertRefused, type Browser, createBrowser, type Json, main, start, until, type World } from './support.ts'

const dayMs = 24 * 60 * 60 * 1000
const channels = ['msgapp', 'social', 'web'] as const
const statuses = ['open', 'pending', 'closed'] as const

type Seed = {
  id: string
  channel: string
  status: string
  agent: string | null
  unread: number
  /** Microseconds after a moment; null: nothing was said in it. */
  at: number | null
  name: string
}

/** Conversations as they are in the table, each with a contact of its own. */
async function plant({ db, api }: World, seeds: readonly Omit<Seed, 'id'>[]): Promise<Seed[]> {
  const rows = seeds.map((seed) => ({ ...seed, id: newId(), contact_id: newId() }))
  await db`
    with given as (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json)
        as g (id uuid, contact_id uuid, channel text, status text, agent uuid, unread int, at bigint, name text)
    ),
    people as (
      insert into contacts (workspace_id, id, name, name_key, created_at, updated_at)
      select ${api.workspaceId}, contact_id, name, lower(name), now(), now() from given
    )
    insert into conversations (workspace_id, id, contact_id, channel, status, assigned_agent_id, unread_count,
      last_message_at, created_at, updated_at)
    select ${api.workspaceId}, id, contact_id, channel, status, agent, unread,
      timestamptz '2026-01-01' + at * interval '1 microsecond', timestamptz '2025-12-01', now()
    from given`
  return rows
}

/** As the inbox shows them: those without messages last, where they were made. */
const inOrder = (seeds: readonly Seed[]) =>
  seeds.toSorted((one, other) => (other.at ?? -1) - (one.at ?? -1) || (other.id < one.id ? -1 : 1)).map(({ id }) => id)

async function readAll(browser: Browser, query: string, limit: number) {
  const ids: string[] = []
  const sizes: number[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path = `/conversations?limit=${limit}${query}${cursor ? `&cursor=${cursor}` : ''}`
    const answer = await browser.call('GET', path)
    assert.equal(answer.status, 200, answer.text)
    ids.push(...answer.body.data.map(({ id }: Json) => id))
    sizes.push(answer.body.data.length)
    cursor = answer.body.meta.next_cursor
  }
  return { ids, sizes }
}

async function startInbox(t: TestContext) {
  const world = await start(t)
  const browser = createBrowser(world.url)
  const me = (await browser.signIn(world.owner)).body.data.member
  const passwordHash = await hashPassword('correct horse')
  const other = await insertMember(world.db, world.api.workspaceId, {
    email: 'other@acme.test',
    name: 'Other',
    role: 'agent',
    passwordHash,
  })
  return { ...world, browser, me, other }
}

test('pages of every filter contain each matching conversation exactly once, latest activity first', async (t) => {
  const world = await startInbox(t)
  const { browser, me, other } = world
  const agents = [null, me.id, other.id]
  const seeds = await plant(
    world,
    Array.from({ length: 90 }, (_, i) => ({
      channel: channels[i % 3] ?? '',
      status: statuses[Math.floor(i / 3) % 3] ?? '',
      agent: agents[Math.floor(i / 9) % 3] ?? null,
      unread: i % 4 === 0 ? 2 : 0,
      // Some at the same moment, some a microsecond apart, some never.
      at: i % 10 === 7 ? null : Math.floor((i * 37) % 60),
      name: i % 2 === 0 ? 'Ann Even' : 'Bob Odd',
    })),
  )
  // Conversations of another workspace are never listed.
  const theirs = await world.workspace()
  await plant({ ...world, api: theirs.api }, [
    { channel: 'msgapp', status: 'open', agent: null, unread: 1, at: 5, name: 'Ann Even' },
  ])
  let walked = 0
  for (const status of [undefined, ...statuses]) {
    for (const channel of [undefined, ...channels]) {
      for (const assigned of [undefined, 'me', 'nobody', other.id]) {
        for (const unread of [undefined, 'true']) {
          const search = walked % 3 === 0 ? 'nn ev' : undefined
          const agent = assigned === 'me' ? me.id : assigned === 'nobody' ? null : assigned
          const meant = seeds.filter(
            (seed) =>
              (!status || seed.status === status) &&
              (!channel || seed.channel === channel) &&
              (assigned === undefined || seed.agent === agent) &&
              (!unread || seed.unread > 0) &&
              (!search || seed.name === 'Ann Even'),
          )
          const filters = Object.entries({ status, channel, assigned, unread, search })
          const query = filters.map(([name, value]) => (value === undefined ? '' : `&${name}=${value}`)).join('')
          const { ids } = await readAll(browser, query, 19)
          assert.deepEqual(ids, inOrder(meant), query)
          walked++
        }
      }
    }
  }
  assert.equal(walked, 4 * 4 * 4 * 2)
  assert.deepEqual((await readAll(browser, '', 3)).ids, inOrder(seeds))

  const { data } = (await browser.call('GET', '/conversations/counts')).body
  const count = (is: (seed: Seed) => boolean) => seeds.filter(is).length
  assert.deepEqual(data, {
    open: count(({ status }) => status === 'open'),
    pending: count(({ status }) => status === 'pending'),
    mine: count(({ status, agent }) => status === 'open' && agent === me.id),
    unassigned: count(({ status, agent }) => status === 'open' && agent === null),
    unread: count(({ unread }) => unread > 0),
  })
  for (const cursor of ['x', 'A'.repeat(32), '_'.repeat(32), encodeURIComponent('✓')]) {
    const answer = await browser.call('GET', `/conversations?cursor=${cursor}`)
    assert.equal(answer.status, 200, 'what is no cursor of ours is a place like any other')
  }
  assertRefused(await browser.call('GET', '/conversations?assigned=you'), 400, 'bad_request', /^assigned: /)
})

test('a rare match among thousands is found in a bounded number of steps, and so is a name that thousands share', async (t) => {
  const world = await startInbox(t)
  const { browser } = world
  const seeds = await plant(
    world,
    Array.from({ length: 7_000 }, (_, i) => ({
      channel: i % 3_000 === 2_500 ? 'web' : 'msgapp',
      status: 'closed',
      agent: null,
      unread: 0,
      at: i,
      name: `Sam ${i}`,
    })),
  )
  const rare = await readAll(browser, '&assigned=nobody&channel=web', 50)
  assert.deepEqual(rare.ids, inOrder(seeds.filter(({ channel }) => channel === 'web')))
  assert.ok(rare.sizes.length > 1, 'it took more than one look')
  const common = await browser.call('GET', '/conversations?search=sam&limit=100')
  assert.deepEqual(
    common.body.data.map(({ id }: Json) => id),
    inOrder(seeds).slice(0, 100),
  )
  const few = await readAll(browser, '&search=Sam%20699', 4)
  assert.deepEqual(few.ids, inOrder(seeds.filter(({ name }) => name.includes('Sam 699'))))
  const { open, unassigned } = (await browser.call('GET', '/conversations/counts')).body.data
  assert.deepEqual([open, unassigned], [0, 0])
  await world.db`update conversations set status = 'open'`
  const capped = (await browser.call('GET', '/conversations/counts')).body.data
  assert.deepEqual([capped.open, capped.unassigned], [1_000, 1_000])
})

test('a conversation shows when its window closes, its assignee and its last message', main, async (t) => {
  const { connect, browser, me, api, db } = await startInbox(t)
  const provider = await connect()
  await provider.writes({ from: '+14155550100', name: 'Ann', text: 'hello' })
  await provider.writes({ channel: 'social', from: '90000001', username: 'bob', text: 'hi' })
  const rows = (await browser.call('GET', '/conversations')).body.data
  assert.deepEqual(
    rows.map(({ channel }: Json) => channel),
    ['social', 'msgapp'],
  )
  const [social, msgapp] = rows
  for (const row of [social, msgapp]) {
    assert.equal(Date.parse(row.window_closes_at) - Date.parse(row.last_inbound_at), dayMs)
    const last = { direction: 'inbound', content_type: 'text', content_kind: null, status: 'received' }
    assert.deepEqual(row.last_message, last)
    assert.deepEqual([row.assigned_agent, row.unread_count], [null, 1])
  }
  assert.equal(Date.parse(social.late_window_closes_at) - Date.parse(social.last_inbound_at), 7 * dayMs)
  assert.equal(msgapp.late_window_closes_at, null)

  const path = `/conversations/${msgapp.id}`
  const taken = await browser.call('PATCH', path, { assigned_agent_id: me.id, status: 'pending' })
  assert.deepEqual(taken.body.data.assigned_agent, { id: me.id, name: me.name, email: me.email })
  assert.equal((await browser.call('POST', `${path}/read`)).body.data.unread_count, 0)
  assert.deepEqual((await browser.call('GET', path)).body.data, {
    ...taken.body.data,
    unread_count: 0,
  })
  await browser.call('POST', `${path}/messages`, { text: 'hello back' })
  await until('the ticks of the answer', async () => {
    const { last_message: last } = (await browser.call('GET', path)).body.data
    return last.direction === 'outbound' && last.status === 'read'
  })
  const [first] = (await browser.call('GET', '/conversations')).body.data
  assert.equal(first.id, msgapp.id, 'the conversation with the latest message is first')
  // The public API shows what it showed, in its own order.
  const published = (await api.get('/conversations')).body.data
  assert.deepEqual(Object.keys(published[0]).includes('window_closes_at'), false)
  assert.equal(published[0].id, social.id)
  await db`update conversations set last_inbound_at = null where id = ${msgapp.id}`
  assert.equal((await browser.call('GET', path)).body.data.window_closes_at, null)
})

test('a message shows its author, the quoted message, its file, and an explanation of its failure', async (t) => {
  const { connect, browser, me } = await startInbox(t)
  const provider = await connect()
  await provider.writes({ from: '+14155550100', text: 'a question' })
  await provider.writes({ from: '+14155550100', type: 'document', media: { filename: 'bill.pdf' } })
  const [{ id }] = (await browser.call('GET', '/conversations')).body.data
  const thread = async (): Promise<Json[]> => (await browser.call('GET', `/conversations/${id}/messages`)).body.data
  const [file, question] = await until('the file', async () => {
    const messages = await thread()
    return messages[0].media_url && messages
  })
  assert.deepEqual(
    [file.media.filename, file.media.state, file.media.mime_type],
    ['bill.pdf', 'stored', 'application/pdf'],
  )
  assert.ok(file.media.size_bytes > 0)
  assert.deepEqual(
    [question.media, question.sender, question.reply_to, question.error_reason],
    [null, null, null, null],
  )
  const answer = await browser.call('POST', `/conversations/${id}/messages`, {
    text: 'an answer',
    reply_to_message_id: question.id,
  })
  assert.deepEqual(answer.body.data.sender, { id: me.id, name: me.email })
  const brief = { id: question.id, direction: 'inbound', content_type: 'text', content_text: 'a question' }
  assert.deepEqual(answer.body.data.reply_to, brief)
  assert.deepEqual((await thread())[0].reply_to, brief)

  for (const [from, reason] of [
    ['+15005550001', /^This number cannot be reached on the channel\.$/],
    ['+15005550003', /^Something went wrong at the channel\.$/],
    ['+15005550006', /\.$/],
  ] as const) {
    await provider.writes({ from, text: 'hello' })
    const [conversation] = (await browser.call('GET', '/conversations')).body.data
    await browser.call('POST', `/conversations/${conversation.id}/messages`, { text: 'x' })
    const failed = await until(`${from} to fail`, async () => {
      const [last] = (await browser.call('GET', `/conversations/${conversation.id}/messages`)).body.data
      return last.direction === 'outbound' && last.error && last
    })
    assert.match(failed.error_reason, reason, from)
    assert.doesNotMatch(failed.error_reason, /^\d/)
  }
})

test('a template preview looks as the customer sees it, and shows placeholders without a value', async (t) => {
  const { connect, browser, url, workspace } = await startInbox(t)
  const provider = await connect()
  await browser.call('POST', '/templates/refresh')
  const show = async (body: Json, path = '/templates/preview') => (await browser.call('POST', path, body)).body.data
  const none = { header: null, header_media: null, footer: null, buttons: [], cards: [], missing: [] }
  const empty = await show({ name: 'order_update' })
  assert.match(empty.text, /\{\{1\}\}.*\{\{2\}\}/s)
  assert.deepEqual(empty.missing, ['body[0]', 'body[1]', 'buttonParams.0'])
  assert.equal(empty.buttons.length, 1)
  const half = await show({ name: 'order_confirmed', language: 'en_US', params: ['', 'tomorrow {{1}}'] })
  assert.match(half.text, /\{\{1\}\}.*tomorrow \{\{1\}\}/s, 'a value is taken literally')
  assert.deepEqual(half.missing, ['body[0]'])
  const full = await show({ name: 'order_confirmed', params: ['A1', 'tomorrow'] })
  assert.deepEqual(full, { ...none, footer: full.footer, text: full.text })
  assert.doesNotMatch(full.text, /\{\{/)
  const named = await show({ name: 'appointment', params: { bodyNamed: { name: 'Ann' } } })
  assert.match(named.text, /Ann.*\{\{time\}\}/s)
  assert.deepEqual(named.header_media, { format: 'image', url: null })
  assert.deepEqual(named.missing.toSorted(), ['bodyNamed.time', 'headerMediaUrl'])
  const carousel = await show({ name: 'offer_carousel', params: { body: ['Ann'], cards: [{ body: ['Hat'] }] } })
  assert.equal(carousel.cards.length, 2)
  assert.match(carousel.cards[0].text, /Hat/)
  assert.match(carousel.cards[1].text, /\{\{1\}\}/)
  assert.ok(carousel.missing.includes('cards[1].body[0]'))

  await provider.writes({ from: '+14155550100', text: 'hi' })
  const [{ id }] = (await browser.call('GET', '/conversations')).body.data
  const path = `/conversations/${id}/templates/preview`
  assert.deepEqual(await show({ name: 'order_confirmed', params: ['A1', 'tomorrow'] }, path), full)
  const sent = await browser.call('POST', `/conversations/${id}/messages`, {
    type: 'template',
    template: { name: 'order_confirmed', params: ['A1', 'tomorrow'] },
  })
  assert.equal(sent.body.data.content_text, full.text, 'what was shown is what is sent')
  assertRefused(await browser.call('POST', path, { name: 'no_such' }), 400, 'bad_request', /^name: .*no_such/)
  const neighbour = createBrowser(url)
  await neighbour.signIn((await workspace()).owner)
  assertRefused(await neighbour.call('POST', path, { name: 'hello_world' }), 404, 'not_found')
  assertRefused(await neighbour.call('POST', '/templates/preview', { name: 'hello_world' }), 400, 'bad_request')
})
