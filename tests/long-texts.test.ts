/** Messages as long as callers and providers can make them: they delay neither the digest nor other calls. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { assertCheap } from './cpu.ts'
import { newId } from './internals.ts'
import { assertBadRequest, type Browser, type Json, signIn, start, until, type World, withProvider } from './support.ts'

const phone = '+14155550100'

async function startLong(t: TestContext, options?: Parameters<typeof start>[1]) {
  const world = await withProvider(start(t, options))
  const browser = await signIn(world)
  const { provider } = world
  await provider.writes({ from: phone, name: 'Ann', text: 'begin' })
  const [conversation] = (await world.api.get('/conversations')).body.data
  return { ...world, browser, provider, conversationId: conversation.id as string }
}

const storeTexts = ({ api, db }: World, conversationId: string, ids: readonly string[], text: string) => db`
  insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, status, created_at)
  select ${api.workspaceId}, ${conversationId}, id, 'inbound', 'customer', 'text', ${text}, 'received', now()
  from unnest(${[...ids]}::uuid[]) as i (id)`

const search = async (browser: Browser, q: string, more = ''): Promise<Json> => {
  const answer = await browser.call('GET', `/search?q=${encodeURIComponent(q)}${more}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

const newIds = (count: number) => Array.from({ length: count }, () => newId())

test('a value of a template that the name of the contact makes too long is refused, and skipped in a broadcast', async (t) => {
  const { api, connect } = await start(t)
  await connect()
  const template = { name: 'order_confirmed', contact_fields: true, params: ['{{contact.name}}'.repeat(256), 'A'] }
  const send = { to: phone, name: '中'.repeat(500), type: 'template', template }
  for (const path of ['/messages', '/messages/check']) {
    const answer = await api.post(path, send)
    assertBadRequest(answer)
    assert.match(answer.text, /template\.params: a value has more than 4096 characters/)
  }
  assert.equal((await api.post('/messages/check', { ...send, name: '中'.repeat(16) })).status, 200)
  const recipients = [
    { to: phone, name: 'Ann' },
    { to: '+14155550101', name: '中'.repeat(17) },
  ]
  const { id } = (await api.post('/broadcasts', { name: 'Long', template, recipients })).body.data
  await until('the broadcast', async () => (await api.get(`/broadcasts/${id}`)).body.data.status === 'sent')
  const { sent_count, skipped_count } = (await api.get(`/broadcasts/${id}`)).body.data
  assert.deepEqual({ sent_count, skipped_count }, { sent_count: 1, skipped_count: 1 })
})

test('the digest passes a text of 128,000 characters without spaces, and texts of more than it takes at once', async (t) => {
  const world = await startLong(t)
  const { browser, provider, conversationId } = world
  await storeTexts(world, conversationId, [newId()], '中'.repeat(128_000))
  await storeTexts(world, conversationId, newIds(110), `${'東'.repeat(32_000)}${'京'.repeat(32_000)}`)
  await provider.writes({ from: phone, text: 'needle' })
  await until('the text after them', async () => (await search(browser, 'needle')).data.length === 1)
  assert.equal((await search(browser, '東東', '&limit=100')).data.length, 100)
  assert.equal((await search(browser, '京京')).data.length, 0)
})

test('a message that cannot be digested does not stop the others', async (t) => {
  const world = await startLong(t, { alone: 'adds a trigger to a table of all workspaces' })
  const { api, db, browser, provider, conversationId } = world
  const bad = newId()
  await db.unsafe(`
    create function refuse_words() returns trigger language plpgsql as $$ begin
      if new.id = '${bad}' and new.words is not null then raise exception 'cannot be stored'; end if;
      return new;
    end $$;
    create trigger refuse_words before insert or update on message_words for each row execute function refuse_words()`)
  await storeTexts(world, conversationId, newIds(20), 'before')
  await storeTexts(world, conversationId, [bad], 'between')
  await storeTexts(world, conversationId, newIds(20), 'after')
  await provider.writes({ from: phone, text: 'needle' })
  await until('the text after it', async () => (await search(browser, 'needle')).data.length === 1)
  assert.equal((await search(browser, 'before')).data.length, 20)
  assert.equal((await search(browser, 'after')).data.length, 20)
  assert.equal((await search(browser, 'between')).data.length, 0)
  const [today] = await db<{ inbound: number }[]>`
    select sum(inbound)::int as inbound from message_periods where workspace_id = ${api.workspaceId}`
  assert.equal(today?.inbound, 43)
})

test('a search reads only the beginning of long texts, and continues where its time ended', async (t) => {
  const world = await startLong(t)
  const { api, db, browser, conversationId } = world
  const digested = (id = '') =>
    until('the digest', async () => {
      const rows = await db`select from message_words where workspace_id = ${api.workspaceId} and id = ${id}`
      return rows.length > 0
    })
  // The index is asked for twelve words. Only the oldest text has the thirteenth.
  const words = 'a b c d e f g h i j k l'
  await storeTexts(world, conversationId, [newId()], `${words} m`)
  const ids = newIds(120)
  await storeTexts(world, conversationId, ids, `${words} ${'中'.repeat(65_000)}`)
  await digested(ids.at(-1))
  const spend = async (call: () => Promise<Json>): Promise<Json> => {
    const pages: Json[] = []
    await assertCheap('the search', 300, async () => pages.push(await call()))
    return pages[0]
  }
  assert.equal((await spend(() => search(browser, '中', '&limit=100'))).data.length, 100)
  // Each look of the search at the clock takes 100 ms, so that every page ends early. The loops of the shared service must not see it.
  let spentMs = 0
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => {
    if (!new Error().stack?.includes('/insights/search')) return now()
    spentMs += 100
    return now() + spentMs
  })
  const found: string[] = []
  let pages = 0
  let cursor = ''
  do {
    pages++
    const page = await spend(() => search(browser, `${words} m`, `&limit=100${cursor && `&cursor=${cursor}`}`))
    found.push(...page.data.map(({ message }: Json) => message.content_text))
    cursor = page.meta.next_cursor ?? ''
  } while (cursor)
  assert.deepEqual(found, [`${words} m`])
  assert.ok(pages > 5, `${pages} pages`)
})

test('a page of messages with large contents is shorter, and its cursor continues', async (t) => {
  const world = await startLong(t)
  const { api, db, browser, conversationId } = world
  const ids = newIds(30)
  // As a callback of a provider may have it: 256 KiB.
  await db`
    insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content, status, created_at)
    select ${api.workspaceId}, ${conversationId}, id, 'inbound', 'customer', 'unsupported',
      jsonb_build_object('order', repeat('x', 240000)), 'received', now()
    from unnest(${ids}::uuid[]) as i (id)`
  const pages: Record<string, (query: string) => Promise<Json>> = {
    'the API': (query) => api.get(`/conversations/${conversationId}/messages?${query}`),
    'the dashboard': (query) => browser.call('GET', `/conversations/${conversationId}/messages?${query}`),
  }
  for (const [name, read] of Object.entries(pages)) {
    const seen: string[] = []
    let cursor = ''
    do {
      const { text, body } = await read(`limit=100&cursor=${cursor}`)
      assert.ok(text.length < 1.5 * 1024 * 1024, `${name}: a page of ${text.length} bytes`)
      seen.push(...body.data.map(({ id }: Json) => id))
      cursor = body.meta.next_cursor ?? ''
    } while (cursor)
    assert.deepEqual(seen.slice(0, -1), ids.toReversed(), name)
    assert.equal((await read('limit=3')).body.data.length, 3, name)
  }
})
