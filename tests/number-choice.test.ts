/** What members send from a number that they choose: tests, previews, broadcasts and new conversations. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBadRequest, assertStatus, dataOf, pluck } from './assertions.ts'
import { type Json, main, startSignedIn, until, withProvider } from './support.ts'

test('templates, sending rate and messages are those of the number that a member chooses', main, async (t) => {
  const { browser, provider, addNumber, get, ask } = await withProvider(startSignedIn(t))
  const sales = await addNumber('Sales', { messagesPerSecond: 10 })
  const { account_id, access_token, base_url, api_version } = sales
  const created = await fetch(`${base_url}/${api_version}/${account_id}/message_templates`, {
    method: 'POST',
    headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'sales_only',
      language: 'en_US',
      category: 'MARKETING',
      components: [{ type: 'BODY', text: 'Only from sales' }],
    }),
  })
  assert.equal(created.status, 200, await created.text())
  assertStatus(await browser.call('POST', '/templates/refresh'), 200)
  const first = provider.connections.msgapp
  const accountsOf = async (name: string) =>
    pluck(
      (await get('/templates')).filter((template: Json) => template.name === name),
      'account',
    )
  assert.deepEqual(await accountsOf('sales_only'), [account_id])
  assert.deepEqual(new Set(await accountsOf('hello_world')), new Set([first.account_id, account_id]))

  const template = { name: 'sales_only', language: 'en_US' }
  const preview = (account?: string) => browser.call('POST', '/templates/preview', { ...template, account })
  assert.equal(dataOf(await preview(account_id)).text, 'Only from sales')
  assertBadRequest(await preview(first.account_id), /no template sales_only/)

  const recipients = Array.from({ length: 25 }, (_, i) => ({ to: `+141555501${String(i).padStart(2, '0')}` }))
  const check = (from?: string, name = 'hello_world') =>
    browser.call('POST', '/broadcasts/preview', { template: { name }, recipients, from })
  assert.equal(dataOf(await check(sales.id)).duration_seconds, 3, '25 messages at 10 a second')
  assert.equal(dataOf(await check()).duration_seconds, 1, 'the default number sends 80 a second')
  assert.equal(dataOf(await check(sales.id, 'sales_only')).sendable, 25)
  assertBadRequest(await check(first.id, 'sales_only'), /sales_only/)
  assertBadRequest(await check('0199c1d2-7a10-7c31-8e02-4d5e6f708192'), /^from: /)

  const sendersOf = async (to: string) => pluck(await provider.sent(to), 'connection_id')
  const tried = { template, to: '+14155550200', from: sales.id }
  const message = dataOf(await browser.call('POST', '/broadcasts/test', tried), 201)
  assert.deepEqual(await sendersOf('+14155550200'), [sales.id])
  assertBadRequest(await browser.call('POST', '/broadcasts/test', { ...tried, from: first.id }), /sales_only/)

  // The preview of a template in a conversation is that of its number.
  const path = `/conversations/${message.conversation_id}/templates/preview`
  assert.equal(dataOf(await browser.call('POST', path, template)).text, 'Only from sales')

  // A draft keeps the number, and sends with it.
  const draft = dataOf(
    await browser.call('POST', '/broadcasts/drafts', {
      name: 'Sale',
      template,
      recipients: [{ to: '+14155550300' }],
      from: sales.id,
    }),
    201,
  )
  const source = await get(`/broadcasts/${draft.id}/source`)
  assert.equal(source.from, sales.id)
  const body = { name: 'Sale', template, recipients: [{ to: '+14155550300' }], from: source.from }
  const { data: sent } = await ask('POST', `/broadcasts/${draft.id}/send`, body, 202)
  assert.equal(sent.connection_id, sales.id)
  await until('the broadcast', async () => (await provider.sent('+14155550300')).length > 0)
  assert.deepEqual(await sendersOf('+14155550300'), [sales.id])

  // A scheduled one may get another number.
  const at = new Date(Date.now() + 3_600_000).toISOString()
  const later = { ...body, template: { name: 'hello_world' }, scheduled_at: at }
  const { data: scheduled } = await ask('POST', '/broadcasts', later, 202)
  const changed = dataOf(await browser.call('PATCH', `/broadcasts/${scheduled.id}`, { from: first.id }))
  assert.equal(changed.connection_id, first.id)
})

test('a number that is connected again continues its conversations, with the default version of the API', async (t) => {
  const { browser, provider, addNumber, get } = await withProvider(startSignedIn(t))
  const { id, account_id, phone_number_id, access_token, app_secret, base_url } = await addNumber('Sales')
  await provider.writes({ connection_id: id, from: '+14155550100', text: 'Hello' })
  assertStatus(await browser.call('DELETE', `/channels/${id}`), 200)
  const settings = { account_id, phone_number_id, access_token, app_secret, base_url }
  const again = dataOf(
    await browser.call('POST', '/channels', { channel: 'msgapp', name: 'Sales 2', ...settings }),
    201,
  )
  assert.deepEqual([again.id, again.name, again.api_version], [id, 'Sales 2', 'v25.0'])
  const [conversation] = await get('/conversations')
  assert.equal(conversation.connection.name, 'Sales 2')
  // The address of the operator's simulator is private: the connection still may use it.
  const reply = await browser.call('POST', `/conversations/${conversation.id}/messages`, { text: 'Hello again' })
  assert.equal((await provider.sent('+14155550100')).at(-1)?.body.text.body, 'Hello again', reply.text)
})
