/** The checklist of a new workspace: steps are ticked when they are done, until a member dismisses it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator } from 'playwright-core'
import { assertAccessible, assertFits, openDashboard, resize, skip } from './dashboard.ts'
import { startReceiver } from './receiver.ts'
import { createBrowser, type Json, pluck } from './support.ts'

test('each step of the checklist is ticked live when it is done, and can be dismissed for all members', {
  skip,
}, async (t) => {
  const { page, api, provider, url, owner, db, window } = await openDashboard(t, '/overview')
  const card = page.getByRole('region', { name: 'Get started' })
  const step = (name: string) => card.getByRole('listitem').filter({ hasText: name })
  const ticked = (name: string) => step(name).getByRole('img', { name: 'Completed' }).waitFor()
  await card.getByText('0 of 4 completed').waitFor()
  await card.getByRole('link', { name: 'View channels' }).waitFor()
  assert.match((await step('Send a message').getByRole('link').first().textContent()) ?? '', /Open inbox/)
  await step('Receive a webhook').getByText(`npx ${url}/docs/sdk/parley-sdk.tgz listen`).waitFor()
  await step('Receive a webhook').getByRole('button', { name: 'Copy' }).waitFor()

  await provider.writes({ from: '+14155550100', name: 'Ann Porter', text: 'Anybody there?' })
  await ticked('Receive a message')
  assert.equal((await api.post('/messages', { to: '+14155550101', text: 'Too early' })).status, 400)
  assert.equal((await api.post('/messages', { to: '+14155550100', text: 'Yes!' })).status, 201)
  await ticked('Send a message')
  await card.getByText('2 of 4 completed').waitFor()

  // The test's own keys have no maker, like a demo's: only one that a member made counts.
  await card.getByRole('link', { name: 'Create API key' }).click()
  const member = createBrowser(url, url)
  await member.signIn(owner)
  assert.equal((await member.call('POST', '/keys', { name: 'Shop', scopes: ['messages:send'] })).status, 201)
  await page.goto('/inbox')
  const slim = page.getByRole('region', { name: 'Get started' })
  await slim.getByText('3 of 4 completed').waitFor()
  assert.equal(await slim.getByRole('link').count(), 1, 'what is done has no way to it')
  const edgeOf = (part: Locator) => part.evaluate((element) => element.getBoundingClientRect().right)
  for (const width of [1440, 1000]) {
    await resize(page, width, width === 1000 ? 'dark' : 'light')
    const copy = await edgeOf(slim.getByRole('button', { name: 'Copy' }))
    assert.ok(copy <= (await edgeOf(slim)), `the button that copies the command ends at ${copy} of ${width} pixels`)
  }

  const line = new AbortController()
  const headers = { authorization: `Bearer ${await api.key('webhooks:manage')}` }
  assert.equal((await fetch(`${url}/v1/events/stream`, { headers, signal: line.signal })).status, 200)
  await provider.writes({ from: '+14155550100', text: 'Once more' })
  await slim.getByText('Setup complete').waitFor()
  line.abort()

  await db`update checklists set event_heard_at = null where workspace_id = ${api.workspaceId}`
  const receiver = await startReceiver(t)
  await api.post('/webhooks', { url: receiver.url, events: ['message.received'] })
  await slim.getByText('3 of 4 completed').waitFor()
  await provider.writes({ from: '+14155550100', text: 'And again' })
  await slim.getByText('Setup complete').waitFor()

  // On a phone the list of conversations is all there is, and the overview has it.
  const phone = await window({ width: 390, dark: true })
  await phone.goto('/overview')
  await phone.getByText('Setup complete').waitFor()
  await assertFits(phone)
  await assertAccessible(phone)
  await db`delete from api_keys where workspace_id = ${api.workspaceId} and created_by is not null`
  await phone.reload()
  await phone.getByText('3 of 4 completed').waitFor()

  await phone.getByRole('button', { name: 'Hide checklist' }).click()
  await phone.getByRole('region', { name: 'Get started' }).waitFor({ state: 'detached' })
  await slim.waitFor({ state: 'detached' })
  const { dismissed, items }: Json = (await member.call('GET', '/checklist')).body.data
  assert.equal(dismissed, true)
  assert.deepEqual(pluck(items, 'name'), ['message_sent', 'customer_wrote', 'key_made', 'webhook_delivered'])
})

test('an agent has first steps of their own, and hides them only for themselves', { skip }, async (t) => {
  const { api, provider, url, window, member, page } = await openDashboard(t, '/overview')
  const agent = await member('agent', 'Kim Agent')
  await provider.writes({ from: '+14155550100', name: 'Ann Porter', text: 'Anybody there?' })
  const kim = createBrowser(url, url)
  await kim.signIn(agent)
  const itemsOf = async (): Promise<Json> => (await kim.call('GET', '/checklist')).body.data.items
  const names = ['conversation_taken', 'customer_answered', 'reply_saved', 'notifications_chosen']
  assert.deepEqual(
    pluck(await itemsOf(), 'name', 'done'),
    names.map((name) => [name, false]),
  )

  const theirs = await window({ as: agent })
  await theirs.goto('/overview')
  const card = theirs.getByRole('region', { name: 'Get started' })
  await card.getByText('0 of 4 completed').waitFor()
  assert.equal(await card.getByRole('link', { name: 'Create API key' }).count(), 0)
  await assertAccessible(theirs)
  const [{ id }] = (await api.get('/conversations')).body.data
  const { id: memberId } = (await kim.call('GET', '/session')).body.data.member
  await kim.call('PATCH', `/conversations/${id}`, { assigned_agent_id: memberId })
  await kim.call('POST', `/conversations/${id}/messages`, { text: 'Yes!' })
  await card.getByText('2 of 4 completed').waitFor()
  await kim.call('POST', '/canned-replies', { shortcut: 'hi', text: 'Hello!', is_shared: false })
  await kim.call('PATCH', '/preferences', { notifications: 'mine' })
  await card.getByText('You are ready to answer customers.').waitFor()
  await card.getByRole('button', { name: 'Hide checklist' }).click()
  await card.waitFor({ state: 'detached' })
  // The workspace's own steps are still there for its owner.
  await page.reload()
  await page.getByRole('region', { name: 'Get started' }).getByText('Create an API key').waitFor()
})
