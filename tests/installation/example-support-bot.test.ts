/** `examples/support-bot`: answers on all channels, hands over, and survives kills without a second or a missing answer. */
import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runExample } from '../example.ts'
import { createFolder } from '../folder.ts'
import { type Json, start, until, withProvider } from '../support.ts'

const phone = '+14155550100'
const userId = '90000001'

test('the bot answers buttons and text on all channels, hands over, and survives kills', async (t) => {
  const world = await withProvider(start(t))
  const { api, url, provider } = world
  const folder = createFolder(t)
  const messages = ['messages:send', 'messages:read'] as const
  const key = await api.key(...messages, 'conversations:read', 'conversations:write', 'webhooks:manage')
  const run = () => runExample(t, world, { name: 'support-bot', key, args: [folder] })
  const site = `${url}/web-chat/${provider.connections.web.id}`
  const { data } = (await (await fetch(`${site}/visitors`, { method: 'POST' })).json()) as Json
  const visit = async (body?: Json): Promise<Json> => {
    const response = await fetch(`${site}/messages`, {
      method: body ? 'POST' : 'GET',
      headers: { 'x-visitor-token': data.visitor_token, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    return ((await response.json()) as Json).data
  }
  const conversationOn = async (channel: string): Promise<Json> =>
    (await api.get(`/conversations?channel=${channel}`)).body.data[0]
  /** The texts of a conversation, oldest first; those of the bot with an arrow. */
  const threadOf = async (channel: string): Promise<string[]> => {
    const { id } = await conversationOn(channel)
    const messages = (await api.get(`/conversations/${id}/messages?limit=100`)).body.data.toReversed()
    return messages.map(({ direction, content_text: text }: Json) => (direction === 'inbound' ? text : `> ${text}`))
  }
  const untilThread = (channel: string, ...expected: string[]) =>
    until(
      `the ${channel} thread ${expected.join(' | ')}`,
      async () => (await threadOf(channel)).join('\n') === expected.join('\n'),
      30_000,
    ).catch(async (error) => assert.deepEqual(await threadOf(channel), expected, error.message))
  const lastSent = async (to: string) => (await provider.sent(to)).at(-1)?.message_id
  const menu = '> How can I help you?'
  const hours = '> We are open Monday to Friday, 9:00 to 18:00.'
  const handedOver = '> A colleague of mine will answer you here.'

  const first = run()
  await first.prints('starts at')
  await provider.writes({ from: phone, name: 'Ann', text: 'Hello' })
  await provider.writes({ channel: 'social', from: userId, username: 'ann', text: 'Hi there' })
  await visit({ text: 'Good day' })
  await untilThread('msgapp', 'Hello', menu)
  await untilThread('social', 'Hi there', menu)
  await untilThread('web', 'Good day', menu)

  // Buttons and free text.
  const button = { id: 'hours', title: 'Opening hours' }
  await provider.writes({ from: phone, type: 'button', button, reply_to: await lastSent(phone) })
  await untilThread('msgapp', 'Hello', menu, 'Opening hours', hours)
  const order = { id: 'order', title: 'Where is my order?' }
  const reply_to = await lastSent(userId)
  await provider.writes({ channel: 'social', from: userId, type: 'button', button: order, reply_to })
  const asked = ['Hi there', menu, 'Where is my order?', '> Please send me your order number, such as A-1009.']
  await untilThread('social', ...asked)
  await provider.writes({ channel: 'social', from: userId, text: 'It is a-1009' })
  await untilThread('social', ...asked, 'It is a-1009', '> Your order A-1009 is on its way.')

  // Killed after it read a message; while it is away, more arrive. Each is answered once after the restart.
  await first.kill()
  await provider.writes({ from: phone, text: 'When are you open?' })
  const [shown] = (await visit()) as unknown as Json[]
  await visit({ tap: { message_id: shown.id, id: 'hours' } })
  const second = run()
  await second.prints('continues at')
  await untilThread('msgapp', 'Hello', menu, 'Opening hours', hours, 'When are you open?', hours)
  await untilThread('web', 'Good day', menu, 'Opening hours', hours)

  // Hand over: assigned, labeled, noted, and silent until a member closes the conversation.
  await visit({ text: 'I want to talk to a human' })
  const talk = ['Good day', menu, 'Opening hours', hours, 'I want to talk to a human', handedOver]
  await untilThread('web', ...talk)
  await second.prints('web: handed over to')
  const { id, labels, assigned_agent_id } = await conversationOn('web')
  const [member] = (await api.get('/members')).body.data
  assert.deepEqual([labels.map(({ name }: Json) => name), assigned_agent_id], [['With a person'], member.id])
  const [note] = (await api.get(`/conversations/${id}/notes`)).body.data
  assert.equal(note.text, 'Bot: The customer asked for a person.')
  await visit({ text: 'Are you there?' })
  await provider.writes({ from: phone, text: 'Thanks' })
  const thanks = ['Hello', menu, 'Opening hours', hours, 'When are you open?', hours, 'Thanks', menu]
  await untilThread('msgapp', ...thanks)
  assert.deepEqual(await threadOf('web'), [...talk, 'Are you there?'])
  await second.kill()
  await api.patch(`/conversations/${id}`, { status: 'closed' })
  const third = run()
  await third.prints('web: closed by a member')
  await visit({ text: 'One more thing' })
  await untilThread('web', ...talk, 'Are you there?', 'One more thing', menu)

  // As if it was killed right after the channel accepted an answer: the journal does not have it.
  await third.kill()
  const journal = join(folder, 'journal.jsonl')
  const lines = readFileSync(journal, 'utf8').split('\n').filter(Boolean)
  const end = lines.findLastIndex((line) => line.includes('answered_id'))
  writeFileSync(journal, lines.slice(0, end).join('\n'))
  appendFileSync(journal, '\n{"conversation_id":"cut o')
  await provider.writes({ from: phone, text: 'Hello again' })
  const fourth = run()
  await untilThread('msgapp', ...thanks, 'Hello again', menu)
  await fourth.kill()
  assert.deepEqual(await threadOf('web'), [...talk, 'Are you there?', 'One more thing', menu])
  assert.equal((await threadOf('social')).length, 6)
})
