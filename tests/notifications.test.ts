/** Preferences of a member, and what the member's browser notifies about. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBadRequest } from './assertions.ts'
import { type Browser, createMember, type Member, signIn } from './browser.ts'
import { type Json, main, start, until, withProvider } from './support.ts'

/** Calls as a member. Returns the data of a call that must succeed. */
async function ask(member: Browser, method: string, path: string, body?: Json): Promise<Json> {
  const answer = await member.call(method, path, body)
  assert.ok(answer.status < 300, answer.text)
  return answer.body.data
}

test('preferences have defaults, keep what a change does not name, and belong to one member', main, async (t) => {
  const world = await start(t)
  const owner = await signIn(world)
  const ben = await createMember(owner, 'agent', { name: 'Ben' })
  const defaults = { notifications: 'all', sound: true, quiet_hours: null, density: 'compact' }
  assert.deepEqual(await ask(owner, 'GET', '/preferences'), defaults)
  const quiet_hours = { from: '22:00', to: '07:30' }
  assert.deepEqual(await ask(owner, 'PATCH', '/preferences', { quiet_hours }), { ...defaults, quiet_hours })
  await ask(owner, 'PATCH', '/preferences', { notifications: 'mine', sound: false, unknown: 1 })
  const changed = { ...defaults, quiet_hours, notifications: 'mine', sound: false }
  assert.deepEqual(await ask(owner, 'GET', '/preferences'), changed)
  assert.deepEqual(await ask(ben, 'GET', '/preferences'), defaults)
  assert.deepEqual(await ask(owner, 'PATCH', '/preferences', { quiet_hours: null }), { ...changed, quiet_hours: null })

  for (const body of [
    { notifications: 'some' },
    { density: 'huge' },
    { sound: 'loud' },
    { quiet_hours: { from: '24:00', to: '07:00' } },
    { quiet_hours: { from: '22:00' } },
  ]) {
    assertBadRequest(await owner.call('PATCH', '/preferences', body))
  }
})

test(
  'a browser is notified once of each customer message that matches the preference, never of our own',
  main,
  async (t) => {
    const world = await withProvider(start(t))
    const { provider } = world
    const owner = await signIn(world)
    const ben = await createMember(owner, 'agent', { name: 'Ben' })
    const [ann, cleo] = ['+14155550100', '+14155550101']
    const seen = new Set<string>()
    let cursor = ''
    /** The new notifications of Ben, as a browser finds them. */
    const news = async () => {
      const answer = await ask(ben, 'GET', `/notifications${cursor ? `?after=${cursor}` : ''}`)
      cursor = answer.cursor
      const items = answer.items.filter(({ id }: Json) => !seen.has(id))
      for (const { id } of items) seen.add(id)
      return items.map(({ kind, contact, author, text }: Json) => [kind, contact.name, author, text].filter(Boolean))
    }
    await provider.writes({ from: ann, name: 'Ann', text: 'before the first cursor' })
    assert.deepEqual(await news(), [])
    seen.add((await ask(ben, 'GET', `/notifications?after=${cursor}`)).items[0].id)

    await provider.writes({ from: ann, name: 'Ann', text: 'one' })
    await provider.writes({ from: ann, name: 'Ann', text: 'two' })
    await provider.writes({ from: cleo, name: 'Cleo', text: 'three' })
    assert.deepEqual(await news(), [
      ['message', 'Ann', 'two'],
      ['message', 'Cleo', 'three'],
    ])
    assert.deepEqual(await news(), [])
    await world.api.post('/messages', { to: ann, type: 'text', text: 'automated' })
    assert.deepEqual(await news(), [])

    const conversations = await ask(ben, 'GET', '/conversations')
    const idOf = (name: string): string => conversations.find(({ contact }: Json) => contact.name === name).id
    await ask(ben, 'PATCH', '/preferences', { notifications: 'mine' })
    await ask(owner, 'PATCH', `/conversations/${idOf('Ann')}`, { assigned_agent_id: ben.id })
    await provider.writes({ from: cleo, text: 'not assigned' })
    await provider.writes({ from: ann, text: 'assigned' })
    assert.deepEqual(await news(), [['message', 'Ann', 'assigned']])

    // What the member has open in a visible page needs no notification, nor what was read.
    const page = { page_id: 'b'.repeat(32), conversation_id: idOf('Ann') }
    await ask(ben, 'POST', '/presence', { ...page, state: 'open' })
    await provider.writes({ from: ann, text: 'visible' })
    assert.deepEqual(await news(), [])
    await ask(ben, 'POST', `/conversations/${idOf('Ann')}/read`)
    await ask(ben, 'POST', '/presence', { ...page, state: 'closed' })
    assert.deepEqual(await news(), [])

    await ask(ben, 'PATCH', '/preferences', { notifications: 'mentions' })
    await provider.writes({ from: ann, text: 'only mentions' })
    await ask(owner, 'POST', `/conversations/${idOf('Cleo')}/notes`, { text: 'Look, @Ben', mentions: [ben.id] })
    const [mention] = await news()
    assert.deepEqual([mention[0], mention[1], mention.at(-1)], ['mention', 'Cleo', 'Look, @Ben'])
    await ask(ben, 'PATCH', '/preferences', { notifications: 'none' })
    await ask(owner, 'POST', `/conversations/${idOf('Ann')}/notes`, { text: 'And @Ben', mentions: [ben.id] })
    assert.deepEqual(await news(), [])
  },
)

test('the end of a snooze notifies the assigned member, and members who want everything', async (t) => {
  const world = await withProvider(start(t))
  const { provider } = world
  const owner = await signIn(world)
  const ben = await createMember(owner, 'agent', { name: 'Ben' })
  await provider.writes({ from: '+14155550110', name: 'Ann Porter', text: 'Please call me tomorrow' })
  const [{ id }] = await ask(owner, 'GET', '/conversations')
  await ask(owner, 'POST', `/conversations/${id}/read`)
  await ask(ben, 'PATCH', '/preferences', { notifications: 'mine' })
  const { cursor } = await ask(ben, 'GET', '/notifications')
  const list = async (who: Member) => (await ask(who, 'GET', `/notifications?after=${cursor}`)).items
  const snooze = async (changes: Json) => {
    const snoozed_until = new Date(Date.now() + 3_600_000).toISOString()
    await ask(owner, 'PATCH', `/conversations/${id}`, { snoozed_until, ...changes })
    await world.db`
      update conversations set snoozed_until = now() where workspace_id = ${world.api.workspaceId} and id = ${id}`
  }
  await snooze({})
  const [item] = await until('the end of the snooze', async () => {
    const items = await list(owner)
    return items.length > 0 && items
  })
  assert.deepEqual([item.kind, item.contact.name, item.text], ['snooze', 'Ann Porter', 'Please call me tomorrow'])
  assert.deepEqual(await list(ben), [], 'it is not assigned to Ben')
  await snooze({ assigned_agent_id: ben.id })
  const [mine] = await until('the end of the second one', async () => {
    const items = await list(ben)
    return items.length > 0 && items
  })
  assert.deepEqual([mine.kind, mine.conversation_id], ['snooze', id])
  assert.notEqual(mine.id, item.id)
  await ask(ben, 'PATCH', `/conversations/${id}`, { status: 'closed' })
  assert.deepEqual(await list(ben), [])
})
