/** Automations: everything that a run sends, asks and calls, through the simulator. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dataOf } from './assertions.ts'
import { note, say, startAutomated, text } from './automated.ts'
import { startReceiver } from './receiver.ts'
import { type Json, pluck, until } from './support.ts'

const phone = '+14155550100'

const rows = [
  { id: 's', title: 'Small', description: 'For children' },
  { id: 'l', title: 'Large' },
]
const list = { kind: 'list', body: 'Which size?', button: 'Sizes', sections: [{ title: 'All', rows }] }
const buttons = {
  ...{ kind: 'buttons', body: 'What is it about, {{contact.name}}?' },
  buttons: [
    { id: 'sales', title: 'Sales' },
    { id: 'help', title: 'Help' },
  ],
}

test('a run sends every kind of message with the values of the contact', async (t) => {
  const { provider, publish, untilEnded, stepsOf } = await startAutomated(t)
  const media = (type: string, more: Json = {}) => ({
    type,
    media_url: `https://shop.test/{{contact.name}}.bin`,
    ...more,
  })
  const link = { kind: 'link', body: 'Our shop', text: 'Open', url: 'https://shop.test/?for={{contact.name}}' }
  const messages: Json[] = [
    text('Hello {{contact.name|there}} of {{contact.company|no company}}'),
    ...[buttons, list, link].map((interactive) => ({ type: 'interactive', interactive })),
    ...[media('image', { text: 'For {{contact.name}}' }), media('video'), media('audio')],
    media('document', { filename: 'terms.pdf' }),
    { type: 'location', location: { latitude: 52.5, longitude: 13.4, name: 'Shop', address: 'Main street 1' } },
    { type: 'template', template: { name: 'order_confirmed', params: ['{{contact.name}}', 'A-1'] } },
  ]
  const id = await publish('All', {
    trigger: { type: 'message' },
    steps: messages.map((message) => ({ type: 'send', message })),
  })
  await provider.writes({ from: phone, name: 'Ann Bee', text: 'hello' })
  const [run] = await untilEnded(id)
  assert.equal(run?.reason, 'finished', run?.error)
  const sent = pluck(await provider.sent(phone), 'body')
  assert.deepEqual(
    sent.map(({ type, interactive }: Json) => (interactive ? interactive.type : type)),
    ['text', 'button', 'list', 'cta_url', 'image', 'video', 'audio', 'document', 'location', 'template'],
  )
  const [plain, choice, , cta, image, , , file, place, template]: Json[] = sent
  assert.equal(plain.text.body, 'Hello Ann Bee of no company')
  assert.equal(choice.interactive.body.text, 'What is it about, Ann Bee?')
  assert.equal(cta.interactive.action.parameters.url, 'https://shop.test/?for=Ann%20Bee')
  assert.deepEqual([image.image.link, image.image.caption], ['https://shop.test/Ann%20Bee.bin', 'For Ann Bee'])
  assert.deepEqual([file.document.filename, place.location.name], ['terms.pdf', 'Shop'])
  assert.deepEqual(pluck(template.template.components[0].parameters, 'text'), ['Ann Bee', 'A-1'])
  assert.deepEqual(
    (await stepsOf(run?.id)).map(({ outcome }) => outcome),
    [...messages.map(() => 'sent'), 'done'],
  )
})

test('a question understands a tap, a row, a title and a number of a choice, an email address, a date and texts in a row', async (t) => {
  const { provider, publish, untilEnded, makeDue, runsOf } = await startAutomated(t)
  const question = (name: string, type: string, interactive?: Json) => ({
    ...{ type: 'ask', message: interactive ? { type: 'interactive', interactive } : text(`${name}?`) },
    ...{ answer: { type }, save_as: `answers.${name}` },
  })
  const id = await publish('Questions', {
    trigger: { type: 'message', contains: ['start'] },
    steps: [
      question('tap', 'choice', buttons),
      question('row', 'choice', list),
      question('title', 'choice', buttons),
      question('number', 'choice', list),
      question('email', 'email'),
      question('day', 'date'),
      question('texts', 'text'),
      { type: 'wait', for: '1h' },
    ],
  })
  await provider.writes({ from: phone, name: 'Ann', text: 'start' })
  const answers: Json[] = [
    { type: 'button', button: { id: 'help', title: 'Help' } },
    { type: 'list', button: { id: 'l', title: 'Large' } },
    { text: 'sales' },
    { text: '1' },
    { text: 'ann@shop.test' },
    { text: '31/12/2026' },
  ]
  const asked = (count: number) =>
    until(`${count} questions`, async () => {
      const sent = await provider.sent(phone)
      return sent.length === count && sent.at(-1)?.message_id
    })
  for (const [i, answer] of answers.entries()) {
    const last = await asked(i + 1)
    // A reaction to the question is no answer.
    await provider.writes({ from: phone, type: 'reaction', text: '👍', reply_to: last })
    await provider.writes({ from: phone, ...answer })
  }
  await asked(7)
  await provider.writes({ from: phone, text: 'two' })
  await provider.writes({ from: phone, text: 'texts' })
  await until('the pause', async () => (await runsOf(id))[0]?.answers.texts)
  const day = '2026-12-31'
  const expected = {
    tap: 'help',
    row: 'l',
    title: 'sales',
    number: 's',
    email: 'ann@shop.test',
    day,
    texts: 'two\ntexts',
  }
  assert.deepEqual((await runsOf(id))[0]?.answers, expected)
  await makeDue(id)
  assert.equal((await untilEnded(id))[0]?.reason, 'finished')
})

test('a question without an answer in time, or with none that fits, goes on with the steps for that', async (t) => {
  const { provider, publish, untilEnded, untilWaiting, makeDue, untilSent } = await startAutomated(t)
  const id = await publish('Patient', {
    trigger: { type: 'message', contains: ['start'] },
    steps: [
      {
        ...{ type: 'ask', message: text('Your email?'), answer: { type: 'email' }, save_as: 'answers.email' },
        retries: { max: 1, text: 'Please with an @.' },
        timeout: { after: '1h', steps: [say('Write again when you have time.')] },
        on_error: [say('Never mind.')],
      },
      say('Until then, {{answers.email|you}}.'),
    ],
  })
  await provider.writes({ from: phone, text: 'start' })
  await untilWaiting(id)
  await makeDue(id)
  await untilSent(phone, ['Your email?', 'Write again when you have time.', 'Until then, you.'])
  const other = '+14155550102'
  await provider.writes({ from: other, text: 'start' })
  await untilSent(other, ['Your email?'])
  await provider.writes({ from: other, text: 'no' })
  await untilSent(other, ['Your email?', 'Please with an @.'])
  await provider.writes({ from: other, text: 'no!' })
  await untilSent(other, ['Your email?', 'Please with an @.', 'Never mind.', 'Until then, you.'])
  assert.deepEqual(pluck(await untilEnded(id, 2), 'reason'), ['finished', 'finished'])
})

test('a repeated call has the same id; after five attempts, or a response that is no JSON, the error steps run', async (t) => {
  const { provider, publish, untilEnded, makeDue, stepsOf } = await startAutomated(t)
  const receiver = await startReceiver(t)
  const flow = (word: string) => ({
    trigger: { type: 'message', contains: [word] },
    steps: [
      { type: 'call', url: receiver.url, save_as: 'answers.order', on_error: [note('No order.')] },
      say('{{answers.order.status|unknown}}'),
    ],
  })
  const id = await publish('Order', flow('order'))
  const call = async (from: string, attempts: number) => {
    const before = receiver.received.length
    await provider.writes({ from, text: 'order' })
    for (let i = 1; i <= attempts; i++) {
      await until(`attempt ${i}`, async () => {
        await makeDue(id)
        return receiver.received.length >= before + i
      })
    }
    const sent = await until('the message', async () => (await provider.sent(from))[0])
    const ids = new Set(receiver.received.slice(before).map(({ body }) => body.id))
    const [run] = await untilEnded(id)
    const outcomes = (await stepsOf(run?.id)).map(({ type, outcome }) => `${type} ${outcome}`)
    return { text: sent.body.text.body, ids: ids.size, attempts: receiver.received.length - before, outcomes }
  }
  receiver.answers(500, (response) => response.end(JSON.stringify({ status: 'shipped' })))
  assert.deepEqual(await call('+14155550101', 2), {
    ...{ text: 'shipped', ids: 1, attempts: 2 },
    outcomes: ['call repeated', 'call done', 'send sent', 'end done'],
  })
  receiver.answers(500)
  assert.deepEqual(await call('+14155550102', 5), {
    ...{ text: 'unknown', ids: 1, attempts: 5 },
    outcomes: [...Array(4).fill('call repeated'), 'call failed', 'note done', 'send sent', 'end done'],
  })
  receiver.answers((response) => response.end('shipped'))
  assert.deepEqual(await call('+14155550103', 1), {
    ...{ text: 'unknown', ids: 1, attempts: 1 },
    outcomes: ['call failed', 'note done', 'send sent', 'end done'],
  })
})

test('a message that the channel perhaps has is not sent again, is logged so, and a question waits for its answer', async (t) => {
  const { api, provider, publish, untilEnded, stepsOf, textsTo, untilSent } = await startAutomated(t)
  const id = await publish('Number', {
    trigger: { type: 'message', contains: ['start'] },
    steps: [
      say('Hello.'),
      {
        ...{ type: 'ask', message: text('How many?'), answer: { type: 'number' }, save_as: 'answers.count' },
        retries: { max: 1, text: 'A number, please.' },
      },
      say('{{answers.count}}, noted.'),
    ],
  })
  await provider.fault({ to: phone, mode: 'drop_connection_after_accept', count: 3 })
  await provider.writes({ from: phone, text: 'start' })
  await untilSent(phone, ['Hello.', 'How many?'])
  await provider.writes({ from: phone, text: 'many' })
  await untilSent(phone, ['Hello.', 'How many?', 'A number, please.'])
  await provider.writes({ from: phone, text: '12' })
  const [run] = await untilEnded(id)
  assert.equal(run?.reason, 'finished')
  const steps = await stepsOf(run?.id)
  assert.deepEqual(
    steps.map(({ type, outcome, input, reason }) => [type, outcome, input, reason]),
    [
      ['send', 'unknown', null, null],
      ['ask', 'unknown', null, null],
      ['ask', 'unknown', 'many', 'not understood, try 1 of 1'],
      ['ask', 'answered', '12', null],
      ['send', 'sent', null, null],
      ['end', 'done', null, null],
    ],
  )
  assert.deepEqual(await textsTo(phone), ['Hello.', 'How many?', 'A number, please.', '12, noted.'])
  // Each line has its message, whose outcome the reports of the channel settle.
  for (const { message_id } of steps.slice(0, 3)) {
    await until('the report', async () => dataOf(await api.get(`/messages/${message_id}`)).status !== 'pending')
  }
})
