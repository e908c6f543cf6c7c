/** Automations: the main promises through callbacks and the simulator's phone, and what stops a run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dataOf } from './assertions.ts'
import { echo, say, startAutomated, text } from './automated.ts'
import { holdTransaction } from './database.ts'
import { type Json, main, pluck, until } from './support.ts'

const phone = '+14155550100'

test('a message with a word is answered once, by an automated message', main, async (t) => {
  const { api, provider, publish, untilSent, untilEnded } = await startAutomated(t)
  const id = await publish('Hours', {
    trigger: { type: 'message', contains: ['opening hours', 'open'] },
    steps: [say('Hello {{contact.name|there}}, we are open from 9 to 5.')],
  })
  await provider.writes({ from: phone, name: 'Ann', text: 'What are your OPENING  hours?' })
  await untilSent(phone, ['Hello Ann, we are open from 9 to 5.'])
  const [run] = await untilEnded(id)
  assert.equal(run?.reason, 'finished')
  const messages = (await api.get(`/conversations/${run?.conversation_id}/messages`)).body.data
  assert.deepEqual([messages[0].sender_type, messages[0].direction], ['bot', 'outbound'])
  assert.equal(run?.message_id, messages[1].id)
  const detail = dataOf(await api.get(`/automation-runs/${run?.id}`))
  assert.deepEqual(detail.definition.trigger, { type: 'message', contains: ['opening hours', 'open'] })
  assert.deepEqual(
    detail.steps.map(({ path, type, outcome }: Json) => [path, type, outcome]),
    [
      ['steps[0]', 'send', 'sent'],
      ['steps', 'end', 'done'],
    ],
  )
})

test('a bot asks, understands the answers, branches and hands over', main, async (t) => {
  const { api, provider, publish, untilSent, untilEnded } = await startAutomated(t)
  const choices = {
    kind: 'buttons',
    body: 'What is it about?',
    buttons: [
      { id: 'sales', title: 'Sales' },
      { id: 'help', title: 'Help' },
    ],
  }
  const id = await publish('Menu', {
    trigger: { type: 'message', when: 'first_since_closed' },
    steps: [
      {
        type: 'ask',
        message: { type: 'interactive', interactive: choices },
        answer: { type: 'choice' },
        save_as: 'answers.topic',
      },
      {
        type: 'ask',
        message: text('How many seats?'),
        answer: { type: 'number', min: 1 },
        save_as: 'contact.attributes.seats',
        retries: { max: 1, text: 'A number please.' },
      },
      {
        type: 'branch',
        cases: [
          {
            when: { match: 'all', rules: [{ field: 'answers.topic', op: 'is', value: 'sales' }] },
            steps: [say('{{answers.seats}} seats, noted.'), { type: 'hand_over', note: 'A lead.' }],
          },
        ],
      },
    ],
  })
  await provider.writes({ from: phone, name: 'Ann', text: 'hi' })
  await untilSent(phone, ['What is it about?'])
  const [conversation] = (await api.get('/conversations')).body.data
  assert.equal(conversation.handled_by, 'bot')
  await provider.writes({ from: phone, type: 'button', button: { id: 'sales', title: 'Sales' } })
  await untilSent(phone, ['What is it about?', 'How many seats?'])
  await provider.writes({ from: phone, text: 'many' })
  await untilSent(phone, ['What is it about?', 'How many seats?', 'A number please.'])
  await provider.writes({ from: phone, text: '12' })
  await untilSent(phone, ['What is it about?', 'How many seats?', 'A number please.', '12 seats, noted.'])
  const [run] = await untilEnded(id)
  assert.deepEqual([run?.reason, run?.answers], ['handed_over', { topic: 'sales', seats: 12 }])
  const contact = dataOf(await api.get(`/contacts/${run?.contact_id}`))
  assert.deepEqual(contact.attributes, { seats: 12 })
  assert.equal(dataOf(await api.get(`/conversations/${run?.conversation_id}`)).handled_by, 'team')
})

test('a reply of a member, an echo and the button end a run; a send of the API does not', async (t) => {
  const { ask, api, provider, publish, untilSent, runsOf, conversationOf } = await startAutomated(t)
  const id = await publish('Follow up', {
    trigger: { type: 'message', contains: ['price'] },
    steps: [say('One moment.'), { type: 'wait', for: '1h' }, say('Are you still there?')],
  })
  const phones = ['+14155550101', '+14155550102', '+14155550103', '+14155550104']
  for (const from of phones) {
    await provider.writes({ from, text: 'price?' })
    await untilSent(from, ['One moment.'])
  }
  const [replied = '', echoed = '', taken = '', called = ''] = (await Promise.all(phones.map(conversationOf))).map(
    ({ id }) => id,
  )
  await ask('POST', `/conversations/${replied}/messages`, { text: 'I answer.' }, 201)
  await api.post(`/conversations/${called}/messages`, { text: 'from a program' })
  await ask('POST', `/conversations/${taken}/take-over`)
  await echo(provider, phones[1] ?? '', 'wamid.echo')
  const reasons = await until('the ends', async () => {
    const runs = await runsOf(id)
    const found = [replied, echoed, taken, called].map((one) => runs.find((run) => run.conversation_id === one)?.reason)
    return found.filter((reason) => reason === 'person').length === 3 && found
  })
  assert.deepEqual(reasons, ['person', 'person', 'person', null])
})

test('a message that is not decided yet starts nothing after a member has taken over', async (t) => {
  const { api, ask, db, provider, publish, textsTo, untilSent, runsOf } = await startAutomated(t)
  const question = { type: 'ask', message: text('Your name?'), answer: { type: 'text' }, save_as: 'answers.name' }
  const id = await publish('Name', { trigger: { type: 'message' }, steps: [question] })
  const [customer, other] = ['+14155550101', '+14155550102']
  await provider.writes({ from: customer, text: 'hello' })
  await untilSent(customer, ['Your name?'])
  const [run] = await runsOf(id)
  // The lock of the process that decides for the workspace.
  const release = await holdTransaction(db, `select pg_advisory_xact_lock(7263561, hashtext('${api.workspaceId}'))`)
  await provider.writes({ from: customer, text: 'Is anyone there?' })
  await ask('POST', `/conversations/${run?.conversation_id}/take-over`)
  await release()
  // A later message of another customer is decided after it.
  await provider.writes({ from: other, text: 'hello' })
  await untilSent(other, ['Your name?'])
  assert.deepEqual(await textsTo(customer), ['Your name?'])
  const ofCustomer = (await runsOf(id)).filter(({ conversation_id }) => conversation_id === run?.conversation_id)
  assert.deepEqual(pluck(ofCustomer, 'reason'), ['person'])
})

test('an answer that arrives before the channel has confirmed the question is read', async (t) => {
  const { provider, publish, textsTo, untilSent } = await startAutomated(t)
  const question = { type: 'ask', message: text('Your name?'), answer: { type: 'text' }, save_as: 'answers.name' }
  await publish('Name', {
    trigger: { type: 'message', contains: ['start'] },
    steps: [question, say('Thanks {{answers.name}}.')],
  })
  await provider.fault({ to: phone, mode: 'delay', delay_ms: 700 })
  await provider.writes({ from: phone, text: 'start' })
  await until('the question', async () => (await textsTo(phone)).length === 1)
  await provider.writes({ from: phone, text: 'Robin' })
  await untilSent(phone, ['Your name?', 'Thanks Robin.'])
})

test('deleting an automation ends its runs, and of two bots that a merge brings together one ends', async (t) => {
  const { api, provider, publish, runsOf, untilEnded, untilWaiting, conversationOf } = await startAutomated(t)
  const question = { type: 'ask', message: text('Your name?'), answer: { type: 'text' }, save_as: 'answers.name' }
  const definition = { trigger: { type: 'message', contains: ['start'] }, steps: [question, say('Thanks.')] }
  const id = await publish('Ask', definition)
  const phones = ['+14155550101', '+14155550102']
  for (const from of phones) await provider.writes({ from, text: 'start' })
  await until('both to wait', async () => (await runsOf(id)).filter(({ state }) => state === 'waiting').length === 2)
  const [stays, goes] = await Promise.all(phones.map(conversationOf))
  dataOf(await api.post(`/contacts/${stays?.contact_id}/merge`, { contact_id: goes?.contact_id }))
  const runs = await runsOf(id)
  assert.deepEqual(pluck(runs, 'reason').toSorted(), ['merged', null])
  const open = await untilWaiting(id)
  assert.equal(open.conversation_id, stays?.id)
  await provider.writes({ from: phones[1], text: 'Robin' })
  await untilEnded(id, 2)

  const other = await publish('Other', { ...definition, trigger: { type: 'message', contains: ['other'] } })
  await provider.writes({ from: '+14155550103', text: 'other' })
  const waiting = await untilWaiting(other)
  dataOf(await api.delete(`/automations/${other}`))
  assert.equal((await api.get(`/automation-runs/${waiting.id}`)).status, 404)
  assert.equal(dataOf(await api.get(`/conversations/${waiting.conversation_id}`)).handled_by, 'team')
  assert.deepEqual((await provider.sent('+14155550103')).length, 1)
})
