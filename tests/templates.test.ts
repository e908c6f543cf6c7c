/** Templates of the public API: the channel's list in pages, and the values that each template needs. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { assertBadRequest, assertRefused, dataOf, pluck } from './assertions.ts'
import { assertCheap } from './cpu.ts'
import { listen } from './listen.ts'
import type { Provider } from './provider.ts'
import { type Json, main, start, startSignedIn, withProvider } from './support.ts'

async function createTemplate({ connections }: Provider, template: Json): Promise<void> {
  const { account_id, access_token, base_url, api_version } = connections.msgapp
  const created = await fetch(`${base_url}/${api_version}/${account_id}/message_templates`, {
    method: 'POST',
    headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ language: 'en_US', category: 'UTILITY', ...template }),
  })
  assert.equal(created.status, 200, await created.text())
}

test(
  'templates are listed with the params that a message needs, and a message takes them as they are',
  main,
  async (t) => {
    const { api, provider } = await withProvider(start(t))
    const all = (await api.get('/templates?limit=100')).body.data
    assert.ok(all.length >= 5, 'the copy is empty, so the list is fetched')
    const keyOf = ({ name, language }: Json) => `${name} ${language}`
    assert.deepEqual(all.map(keyOf), all.map(keyOf).toSorted())
    const confirmed = all.find(({ name }: Json) => name === 'order_confirmed')
    assert.deepEqual(confirmed.params, { body: ['{{1}}', '{{2}}'] })
    assert.deepEqual([confirmed.status, confirmed.language], ['APPROVED', 'en_US'])

    let sentCount = 0
    for (const { name, language, status, params } of all) {
      if (status !== 'APPROVED' || params === null) continue
      const template = { name, language, params }
      const sent = await api.post('/messages', { to: `+1415555${3_000 + sentCount}`, type: 'template', template })
      assert.equal(sent.status, 201, `${name}: ${sent.text}`)
      sentCount++
    }
    assert.ok(sentCount >= 5)
    assert.equal((await provider.sent()).length, sentCount)

    const pages: Json[][] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Json = (await api.get(`/templates?limit=3&cursor=${cursor}`)).body
      pages.push(page.data)
      cursor = page.meta.next_cursor
    }
    assert.ok(pages.length > 1 && pages.slice(0, -1).every((page) => page.length === 3))
    assert.deepEqual(pages.flat(), all)
  },
)

test('templates are filtered, and one is read by name and language', async (t) => {
  const { api, connect, workspace } = await start(t)
  assert.deepEqual((await api.get('/templates')).body.data, [], 'without a connection there are none')
  assertRefused(await api.get('/templates/hello_world'), 404, 'not_found', 'template not found')
  const provider = await connect()
  const components = [{ type: 'BODY', text: 'Hola {{name}}, hay noticias.', example: { body_text_named_params: [] } }]
  await createTemplate(provider, { name: 'late_news', language: 'es', parameter_format: 'NAMED', components })
  const { data } = (await api.get('/templates/late_news?language=es')).body
  assert.deepEqual([data.params, data.language], [{ bodyNamed: { name: '{{name}}' } }, 'es'])
  assertRefused(await api.get('/templates/late_news'), 404, 'not_found')
  assertRefused(await api.get('/templates/%00'), 404, 'not_found')
  assertBadRequest(await api.get(`/templates/late_news?language=${'x'.repeat(21)}`), /^language: /)

  const names = async (query: string) => dataOf(await api.get(`/templates?${query}`)).map(({ name }: Json) => name)
  assert.deepEqual(await names('search=TE_new'), ['late_news'])
  assert.deepEqual(await names('language=es'), ['late_news'])
  assert.deepEqual(await names('search=te%25new'), [])
  assert.deepEqual(await names('status=no_such'), [])
  assert.ok((await names('status=approved&language=en_US')).includes('hello_world'))
  assert.equal((await names('cursor=nonsense&limit=1')).length, 1)
  assertRefused(await api.get('/templates', { key: await api.key('messages:read') }), 403, 'forbidden', /messages:send/)
  const { api: stranger } = await workspace()
  assert.deepEqual((await stranger.get('/templates')).body.data, [])
})

test('a channel that does not return its templates is reported, and a stored copy is served without it', async (t) => {
  const { api, provider } = await withProvider(start(t))
  await provider.goDown()
  assertRefused(await api.get('/templates'), 502, 'platform_error', /templates/)
  assertRefused(await api.get('/templates/hello_world'), 502, 'platform_error')
  await provider.comeUp()
  const { data } = (await api.get('/templates')).body
  await provider.goDown()
  assert.deepEqual((await api.get('/templates')).body.data, data)
  assert.equal((await api.get('/templates/hello_world')).status, 200)
  assert.deepEqual((await api.get('/templates?search=nothing')).body.data, [])
  await provider.comeUp()
})

test('a template that cannot be turned into a message is a 400 in every call, so that no caller retries it', async (t) => {
  const { api, provider, browser } = await withProvider(startSignedIn(t))
  const offer = { type: 'LIMITED_TIME_OFFER', limited_time_offer: { text: 'Now', has_expiration: true } }
  await createTemplate(provider, { name: 'offer', components: [{ type: 'BODY', text: 'Our sale.' }, offer] })
  const template = { name: 'offer' }
  const message = { to: '+14155550100', type: 'template', template }
  const broadcast = { name: 'Sale', template, recipients: [{ to: '+14155550100' }] }
  for (const [path, body] of [
    ['/messages', message],
    ['/messages/check', message],
    ['/broadcasts', broadcast],
    ['/broadcasts', { ...broadcast, recipients: [{ to: '+14155550100', params: ['x'] }] }],
    ['/broadcasts/check', broadcast],
  ] as const) {
    assertRefused(await api.post(path, body), 400, 'template_malformed', /offer/)
  }
  const preview = await browser.call('POST', '/templates/preview', { ...template, language: 'en_US' })
  assertRefused(preview, 400, 'template_malformed')
  assert.deepEqual(await provider.sent(), [])
})

test('a list of templates that a provider makes too long is refused, and one template that is too long is skipped', async (t) => {
  const { api, db, connect } = await start(t)
  await connect()
  let pages: ((page: number) => string)[] = []
  let asked = 0
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json').end(pages[Math.min(asked++, pages.length - 1)]?.(asked))
  })
  const graphUrl = await listen(t, server)
  await db`
    update channel_connections set base_url = ${graphUrl}
    where workspace_id = ${api.workspaceId} and channel = 'msgapp'`
  const templateOf = (name: string, components: string) =>
    `{"id":"1","name":"${name}","language":"en_US","status":"APPROVED","components":${components}}`
  const pageOf = (templates: string[], hasNext = true) =>
    `{"data":[${templates}],"paging":{${hasNext ? '"next":"https://graph.test/?after=x"' : ''}}}`
  const bodyOf = (length: number) => `[{"type":"BODY","text":"${'x'.repeat(length)}"}]`
  const list = async (...given: typeof pages) => {
    pages = given
    asked = 0
    return api.get('/templates')
  }

  // 16 MiB of empty lists, which take 200 MB in memory.
  const lists = templateOf('lists', `[${'[],'.repeat(5_000_000)}[]]`)
  await assertCheap('the list', 100, async () =>
    assertRefused(await list(() => pageOf([lists])), 502, 'platform_error'),
  )
  assert.equal(asked, 1)

  const long = bodyOf(60_000)
  const many = (page: number) => pageOf(Array.from({ length: 100 }, (_, i) => templateOf(`t${page}_${i}`, long)))
  assertRefused(await list(many), 502, 'platform_error')
  assert.ok(asked < 5, 'no further page is read')

  const listed = await list(() =>
    pageOf([templateOf('long', bodyOf(65_536)), templateOf('short', bodyOf(1_024))], false),
  )
  assert.deepEqual(pluck(listed.body.data, 'name'), ['short'])
})
