/** Search over everything that was said: soon, in the own workspace only, and never what was taken back. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Answer, assertRefused } from './assertions.ts'
import { type Browser, createBrowser, signIn } from './browser.ts'
import { newId } from './internals.ts'
import { assertBadRequest, type Json, main, start, until, type World, withProvider } from './support.ts'

const phone = '+14155550100'

const search = (browser: Browser, q: string, more = ''): Promise<Answer> =>
  browser.call('GET', `/search?q=${encodeURIComponent(q)}${more}`)

const textsOf = ({ body }: Answer): string[] => body.data.map(({ message }: Json) => message.content_text)

/** A signed-in member, and a wait for everything written so far to be digested. */
async function startSearching(t: TestContext) {
  const world = await start(t)
  const browser = await signIn(world)
  return { ...world, browser, digested: () => untilDigested(world) }
}

const untilDigested = ({ api, db }: World) =>
  until('the digest', async () => {
    const [left] = await db<{ count: number }[]>`
      select (select count(*) from messages where workspace_id = ${api.workspaceId})::int
        - (select count(*) from message_words where workspace_id = ${api.workspaceId})::int
        + (select count(*) from message_revisits where workspace_id = ${api.workspaceId})::int as count`
    return left?.count === 0
  })

const envelope = (message: Json) => ({
  object: 'whatsapp_business_account',
  entry: [
    {
      changes: [
        {
          field: 'messages',
          value: {
            messaging_product: 'whatsapp',
            messages: [{ from: phone.slice(1), timestamp: String(Math.floor(Date.now() / 1000)), ...message }],
          },
        },
      ],
    },
  ],
})

test('a message is found within moments by any of its words, inbound or outbound', main, async (t) => {
  const { api, url, owner, workspace, provider, browser, digested } = await withProvider(startSearching(t))
  await provider.writes({ from: phone, name: 'Ann', text: 'Où est ma COMMANDE numéro 4711, s’il vous plaît?' })
  await provider.writes({ from: phone, type: 'image', media: { caption: 'the broken vase' } })
  await api.post('/messages', { to: phone, text: 'We will replace the vase tomorrow.' })
  const filled = { type: 'template', template: { name: 'order_confirmed', params: ['Ann', 'A-90210'] } }
  await api.post('/messages', { to: '+14155550101', ...filled })
  const site = `${url}/web-chat/${provider.connections.web.id}`
  const visitor: Json = await (await fetch(`${site}/visitors`, { method: 'POST' })).json()
  await fetch(`${site}/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-visitor-token': visitor.data.visitor_token },
    body: JSON.stringify({ text: '明日東京で会いましょう' }),
  })
  const long = `${'padding '.repeat(80)}needle ${'padding '.repeat(80)}`
  await provider.writes({ from: phone, text: long })
  await digested()

  for (const [q, count] of [
    ['commande', 1],
    ['COMMANDE 4711', 1],
    ['ou numero plait', 1],
    ['4711', 1],
    ['471', 1],
    ['711', 0],
    ['vase', 2],
    ['vase broken', 1],
    ['va broken', 0],
    ['broken va', 1],
    ['90210', 1],
    ['東京', 1],
    ['京東', 0],
    ['nothing', 0],
  ] as const) {
    const answer = await search(browser, q)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.body.data.length, count, `${q}: ${answer.text}`)
  }
  const [newest, older] = (await search(browser, 'vase')).body.data
  assert.deepEqual([newest.message.direction, older.message.direction], ['outbound', 'inbound'])
  assert.deepEqual([newest.conversation.contact.name, newest.conversation.contact.phone], ['Ann', phone])
  assert.equal(older.message.content_type, 'image')
  assert.equal(older.snippet, 'the broken vase')
  const [{ snippet }] = (await search(browser, 'needle')).body.data
  assert.match(snippet, /^…(padding )+needle( padding)+/)
  assert.ok(snippet.length < 130, snippet)

  const theirs = createBrowser(url)
  await theirs.signIn((await workspace()).owner)
  for (const q of ['commande', 'va', '90210']) assert.deepEqual((await search(theirs, q)).body.data, [])
  assertRefused(await search(createBrowser(url), 'vase'), 401, 'unauthorized')
  assert.ok(owner)
})

test('an edited message is found by its new words, a revoked or erased one by none', async (t) => {
  const { api, db, provider, browser, digested } = await withProvider(startSearching(t))
  const changed = await provider.writes({ from: phone, text: 'meet me at nyne' })
  const revoked = await provider.writes({ from: phone, text: 'a regrettable remark' })
  const other = '+14155550109'
  await provider.writes({ from: other, text: 'forget all about me' })
  await digested()
  assert.equal((await search(browser, 'nyne')).body.data.length, 1)

  const edit = { original_message_id: changed, message: { type: 'text', text: { body: 'meet me at nine' } } }
  await provider.callback(envelope({ id: 'wamid.e', type: 'edit', edit }))
  await provider.callback(envelope({ id: 'wamid.r', type: 'revoke', revoke: { original_message_id: revoked } }))
  // At once, whatever the index still says.
  assert.deepEqual((await search(browser, 'nyne')).body.data, [])
  assert.deepEqual((await search(browser, 'regrettable')).body.data, [])
  await until('the new word', async () => (await search(browser, 'nine')).body.data.length === 1)

  const contacts = (await api.get(`/contacts?search=${encodeURIComponent(other)}`)).body.data
  await db`delete from contacts where workspace_id = ${api.workspaceId} and id = ${contacts[0].id}`
  assert.deepEqual((await search(browser, 'forget')).body.data, [])
  await digested()
  const rows = await db<{ words: string | null }[]>`
    select words::text as words from message_words where workspace_id = ${api.workspaceId}`
  assert.equal(rows.length, 2)
  assert.doesNotMatch(JSON.stringify(rows), /forget|regrettable|nyne/)
})

test('pages have no gaps and no repeats, over slices and with equal words', async (t) => {
  const { api, db, connect, browser, digested } = await startSearching(t)
  await (await connect()).writes({ from: phone, text: 'begin' })
  const [conversation] = (await api.get('/conversations')).body.data
  // Slices of seven, as if each had been full.
  const ids = Array.from({ length: 60 }, () => newId())
  await db`
    insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, status,
      created_at)
    select ${api.workspaceId}, ${conversation.id}, id, 'inbound', 'customer', 'text', 'common word ' || place, 'received', now()
    from unnest(${ids}::uuid[]) with ordinality as g (id, place)`
  await digested()
  const cuts = ids.filter((_, i) => i % 7 === 6)
  await db`
    insert into message_slices (workspace_id, from_id, slice, last_id, message_count)
    select ${api.workspaceId}, id, 100 + place, id, 7 from unnest(${cuts}::uuid[]) with ordinality as g (id, place)`
  await db`
    update message_words w set words = array_to_tsvector(array[s.slice || '.common', s.slice || '.word'])
    from messages m, lateral (
      select slice from message_slices s where s.workspace_id = m.workspace_id and s.from_id <= m.id
      order by from_id desc limit 1
    ) s
    where w.id = m.id and m.content_text like 'common%'`
  for (const limit of [1, 7, 10, 60, 100]) {
    const seen: string[] = []
    let cursor = ''
    do {
      const { body } = await search(browser, 'comm', `&limit=${limit}${cursor && `&cursor=${cursor}`}`)
      seen.push(...body.data.map(({ message }: Json) => message.id))
      cursor = body.meta.next_cursor ?? ''
    } while (cursor)
    assert.deepEqual(seen, ids.toReversed(), `${limit} a page`)
  }
  // A message that is written now goes on from there.
  await (await connect()).writes({ from: phone, text: 'common again' })
  await digested()
  assert.equal(textsOf(await search(browser, 'common', '&limit=1'))[0], 'common again')
})

test('a note is found by its words, in a thread and about a contact, until it is deleted', async (t) => {
  const world = await withProvider(startSearching(t))
  const { provider, browser, workspace } = world
  await provider.writes({ from: phone, name: 'Ann', text: 'Hello' })
  const [{ id, contact_id: contactId }] = (await browser.call('GET', '/conversations')).body.data
  const inThread = await browser.call('POST', `/conversations/${id}/notes`, { text: 'Ask the Café about the refund' })
  await browser.call('POST', `/contacts/${contactId}/notes`, { text: 'Refunds only with a receipt' })
  const find = (by: Browser, q: string, more = '') => by.call('GET', `/search/notes?q=${encodeURIComponent(q)}${more}`)
  const found = async (q: string) => (await find(browser, q)).body.data.map(({ snippet }: Json) => snippet)
  assert.deepEqual(await found('refund'), ['Refunds only with a receipt', 'Ask the Café about the refund'])
  assert.deepEqual(await found('CAFE'), ['Ask the Café about the refund'])
  assert.deepEqual(await found('refund absent'), [])
  assert.deepEqual(await found('?'), [])
  const [about, thread] = (await find(browser, 'refund')).body.data
  assert.deepEqual([about.conversation, about.contact.id], [null, contactId])
  assert.deepEqual([thread.conversation.id, thread.contact.name], [id, 'Ann'])
  const first = await find(browser, 'refund', '&limit=1')
  const next = await find(browser, 'refund', `&limit=1&cursor=${first.body.meta.next_cursor}`)
  assert.deepEqual([first.body.data[0].id, next.body.data[0].id], [about.id, thread.id])
  assertBadRequest(await find(browser, ' '), /^q: /)
  assert.deepEqual((await find(await signIn(world, (await workspace()).owner), 'refund')).body.data, [])
  await browser.call('DELETE', `/conversations/${id}/notes/${inThread.body.data.id}`)
  assert.deepEqual(await found('cafe'), [])
})

test('no query causes a 500', async (t) => {
  const { connect, browser, digested } = await startSearching(t)
  await (await connect()).writes({ from: phone, text: `it's a 100% (test) & more | less: * \\ "quoted" <b>` })
  await digested()
  for (const q of [
    ...[`'`, `''`, `\\`, `\\'`, ':*', '*', '&', '!', '|', '<->', '(', ')', '%', '_', '#', '.', '-', '"', '0.', "#.'"],
    ...['👍', '👨‍👩‍👧‍👦', '\u0000', 'a\u0000b', '\ud800', '\u202e', '\u0301'],
    ...['x', '東', 'é'].map((letter) => letter.repeat(200)),
    ...['a b '.repeat(50), `${"test':* ".repeat(20)}`, "') or true --", '100% & !test', '1.test', '#.test', '🇩🇪1️⃣'],
  ]) {
    const answer = await browser.call('GET', `/search?q=${encodeURIComponent(q.toWellFormed())}`)
    assert.ok([200, 400].includes(answer.status), `${q}: ${answer.text}`)
  }
  assert.equal((await search(browser, `(test) & "quoted":*`)).body.data.length, 1)
  assert.equal((await search(browser, '!test | less')).body.data.length, 1)
  for (const q of ['', '   ', '\t', 'x'.repeat(201)]) assertBadRequest(await search(browser, q), /^q: /)
  assertBadRequest(await browser.call('GET', '/search'))
  assertBadRequest(await browser.call('GET', '/search?q=a&q=b'))
})
