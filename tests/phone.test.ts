/** The built phone page in a real browser, against a fake control API: what it shows, and which calls it makes. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible, fakeMicrophone, resolveBrowser, skip } from './dashboard.ts'
import { until } from './until.ts'

const pageDir = join(import.meta.dirname, '../dist/phone')
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob: https: http:; media-src 'self' blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}
const drawing =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 300"><rect width="400" height="300" fill="#c7b8ea"/><circle cx="200" cy="150" r="80" fill="#5442dc"/></svg>'

type Bubble = Record<string, unknown> & { id: string }
type Phone = {
  channel: 'msgapp' | 'social'
  connection_id?: string
  id: string
  name: string | null
  username: string | null
  messages: Bubble[]
}
type Connection = Record<'connection_id' | 'channel' | 'name' | 'address', string> & { is_default: boolean }

const ann = '+14155550100'
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()

/** A message of the business, unless the test says otherwise. */
const bubble = (id: string, given: Record<string, unknown> = {}): Bubble => ({
  id,
  from: 'business',
  at: minutesAgo(5),
  type: 'text',
  text: `text of ${id}`,
  status: 'read',
  error: null,
  media: null,
  template: null,
  reply_to: null,
  ...given,
})

const phone = (messages: Bubble[] = [], given: Partial<Phone> = {}): Phone => ({
  channel: 'msgapp',
  id: ann,
  name: 'Ann Okafor',
  username: null,
  messages,
  ...given,
})

const card = (at: number) => ({
  header: { type: 'image', url: `/pictures/${at}.svg` },
  body: `Card *${at}*`,
  buttons: [{ index: 0, type: 'URL', text: `See ${at}`, url: `https://shop.test/${at}` }],
})

const richTemplate = bubble('wamid.template', {
  type: 'template',
  text: null,
  template: {
    name: 'offer',
    header: { type: 'image', url: '/pictures/header.svg' },
    body: 'Dear *Ann*, _only_ ~20~ ```15``` <b>euros</b> at https://shop.test/sale.',
    footer: 'Reply STOP to leave',
    buttons: [
      { index: 0, type: 'QUICK_REPLY', text: 'Yes, please', payload: 'YES_4711' },
      { index: 1, type: 'QUICK_REPLY', text: 'No' },
      { index: 2, type: 'URL', text: 'Open', url: 'https://shop.test/4711' },
      { index: 3, type: 'URL', text: 'Evil', url: 'javascript:alert(1)' },
      { index: 4, type: 'COPY_CODE', text: 'Copy code', code: 'SPRING25' },
      { index: 5, type: 'PHONE_NUMBER', text: 'Call us' },
    ],
    cards: [card(1), card(2), card(3)],
  },
})

type Call = {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: Buffer
  json: Record<string, unknown>
}

/** A fake control API: it returns the given phones, records calls, and can drop connections. */
async function startSimulator(t: TestContext, phones: Phone[], workspaces: number, connections: Connection[]) {
  const state = {
    phones,
    connections,
    calls: [] as Call[],
    faults: [] as unknown[],
    isDown: false,
    isStreamDown: false,
    /** Why inbound messages are refused, if they are. */
    refuse: '',
    /** What the answer to an inbound message waits for. */
    delay: Promise.resolve(),
  }
  const streams = new Set<ServerResponse>()
  const waiting: (() => void)[] = []
  const workspace = { workspace_id: 'w1', business_name: 'Acme Support', display_phone_number: '+1 500 555 0100' }
  const all = [workspace, { workspace_id: 'w2', business_name: 'Other Ltd' }].slice(0, workspaces)

  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://simulator.test')
    const json = (value: unknown, status = 200) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    }
    const file = pathname === '/simulator' ? 'index.html' : /^\/simulator\/phone\/([\w./-]+)$/.exec(pathname)?.[1]
    if (file) {
      response.writeHead(200, { 'content-type': types[extname(file)], 'content-security-policy': policy })
      return response.end(readFileSync(join(pageDir, file)))
    }
    if (pathname.startsWith('/pictures/'))
      return response.writeHead(200, { 'content-type': 'image/svg+xml' }).end(drawing)
    if (!pathname.startsWith('/simulator/control/')) return response.writeHead(404).end()
    if (state.isDown) return response.destroy()

    const path = pathname.slice('/simulator/control'.length)
    const body = Buffer.concat(await request.toArray())
    const isJson = request.headers['content-type'] === 'application/json'
    const sent = isJson ? JSON.parse(body.toString()) : {}
    const call = { method: request.method ?? '', path, headers: request.headers, body, json: sent }
    if (path === '/stream') {
      if (state.isStreamDown) return response.destroy()
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('retry: 200\n\n')
      streams.add(response)
      response.on('close', () => streams.delete(response))
      return
    }
    state.calls.push(call)
    for (const wake of waiting.splice(0)) wake()
    if (path === '/phones') {
      const picked = all.find(({ workspace_id }) => workspace_id === searchParams.get('workspace_id')) ?? workspace
      return json({
        data: {
          workspace: picked,
          workspaces: all,
          connections: state.connections,
          phones: picked === workspace ? state.phones : [],
          has_dashboard: true,
        },
      })
    }
    if (path === '/inbound') {
      const nth = state.calls.filter((known) => known.path === path).length
      await state.delay
      return state.refuse
        ? json({ error: { code: 'bad_request', message: state.refuse } }, 400)
        : json({ data: { message_id: `wamid.in.${nth}` } })
    }
    if (path === '/uploads') return json({ data: { id: 'media-1', url: '/pictures/upload.svg' } })
    if (path === '/faults') {
      if (request.method === 'POST') state.faults.push(call.json)
      if (request.method === 'DELETE') state.faults = []
      return json({ data: state.faults })
    }
    return json({ error: { code: 'not_found', message: 'no such call' } }, 404)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo

  return {
    state,
    url: `http://127.0.0.1:${port}`,
    /** Sends an event to every open page. */
    publish(event: 'bubble' | 'status', data: Record<string, unknown>) {
      const text = JSON.stringify({ channel: 'msgapp', phone: ann, name: 'Ann Okafor', ...data })
      for (const stream of streams) stream.write(`event: ${event}\ndata: ${text}\n\n`)
    },
    hangUp() {
      for (const stream of streams) stream.destroy()
    },
    /** The `nth` call to a path, waited for. */
    async called(path: string, { method = 'POST', nth = 1 } = {}): Promise<Call> {
      const delay = AbortSignal.timeout(60_000)
      for (;;) {
        const found = state.calls.filter((call) => call.path === path && call.method === method)[nth - 1]
        if (found) return found
        await new Promise<void>((resolve, reject) => {
          waiting.push(resolve)
          delay.addEventListener('abort', () => reject(new Error(`${method} ${path} was not called ${nth} times`)))
        })
      }
    },
  }
}

async function open(
  t: TestContext,
  phones: Phone[],
  { width = 1440, height = 900, workspaces = 1, connections = [] as Connection[], dark = false } = {},
) {
  const simulator = await startSimulator(t, phones, workspaces, connections)
  const browser = await resolveBrowser()
  const colorScheme = dark ? 'dark' : 'light'
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: 'reduce' })
  t.after(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  /** What the browser complained of: console errors, uncaught ones, breaches of the content security policy. */
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  await page.goto(`${simulator.url}/simulator`)
  await page.locator('.phone').first().waitFor()
  return { ...simulator, page, complaints }
}

const phoneOf = (page: Page, name = 'Ann Okafor') => page.getByRole('region', { name })
const message = (page: Page, id: string) => page.locator(`[data-id="${id}"]`)

test('a template is shown as the customer sees it', { skip }, async (t) => {
  const { page, complaints } = await open(t, [phone([richTemplate])])
  const shown = message(page, 'wamid.template')

  assert.equal(
    await shown.locator('.bubble .text').textContent(),
    'Dear Ann, only 20 15 <b>euros</b> at https://shop.test/sale.',
  )
  const marks = shown.locator('.bubble .text :is(strong, em, s, code)')
  assert.deepEqual(await marks.allTextContents(), ['Ann', 'only', '20', '15'])
  await shown.locator('.bubble .framed img').first().waitFor()
  await shown.getByText('Reply STOP to leave').waitFor()
  const link = shown.getByRole('link', { name: 'Open', exact: true })
  assert.equal(await link.getAttribute('href'), 'https://shop.test/4711')
  assert.match((await link.getAttribute('rel')) ?? '', /noopener/)
  assert.equal(await shown.getByRole('link', { name: 'Evil' }).count(), 0)
  assert.equal(await page.locator('[href^="javascript:"]').count(), 0)

  const cards = shown.locator('.slide')
  assert.equal(await cards.count(), 3)
  assert.equal(await cards.nth(1).getByRole('link', { name: 'See 2' }).getAttribute('href'), 'https://shop.test/2')
  const isThirdSeen = () =>
    cards
      .nth(2)
      .evaluate(
        (element: {
          getBoundingClientRect(): { right: number }
          parentElement: { getBoundingClientRect(): { right: number } }
        }) => element.getBoundingClientRect().right <= element.parentElement.getBoundingClientRect().right,
      )
  assert.equal(await isThirdSeen(), false)
  await shown.getByRole('button', { name: 'Next card' }).click()
  await shown.getByRole('button', { name: 'Next card' }).click()
  await shown.locator('button:disabled[aria-label="Next card"]').waitFor()
  await until('the third card', isThirdSeen)

  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await shown.getByRole('button', { name: 'Copy code' }).click()
  await page.getByText('Code SPRING25 copied').waitFor()
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'SPRING25')
  assert.deepEqual(complaints, [])
})

test('ticks follow the reports and never go back, and a failure shows its reason', { skip }, async (t) => {
  const { page, publish } = await open(t, [
    phone([bubble('a', { status: 'accepted' }), bubble('b', { status: 'sent' })]),
  ])
  const tick = (id: string) => message(page, id).locator('.tick')
  assert.equal(await tick('a').textContent(), 'Accepted, not sent yet')

  publish('status', { id: 'a', status: 'sent', error: null })
  await tick('a').getByText('Sent').waitFor({ state: 'attached' })
  publish('status', { id: 'a', status: 'read', error: null })
  publish('status', { id: 'a', status: 'delivered', error: null })
  publish('status', { id: 'b', status: 'failed', error: { code: 131026, message: 'Message undeliverable' } })

  await message(page, 'b').getByText('Not delivered. This number cannot be reached').waitFor()
  await message(page, 'b').getByText('131026 Message undeliverable').waitFor()
  assert.equal(await tick('a').textContent(), 'Read')
})

test('a message that arrives is shown, announced, and counted where it is not seen', { skip }, async (t) => {
  const others = Array.from({ length: 6 }, (_, at) =>
    phone([bubble(`o${at}`, { at: minutesAgo(5 + at) })], { id: `+1415555011${at}`, name: `Person ${at}` }),
  )
  const { page, publish } = await open(t, [phone([bubble('first', { at: minutesAgo(1) })]), ...others])

  publish('bubble', { bubble: bubble('second', { text: 'hello *you*', at: minutesAgo(0), status: 'accepted' }) })

  assert.equal(await message(page, 'second').locator('.text').textContent(), 'hello you')
  await page.locator('#announcer').getByText('To Ann Okafor: hello you').waitFor({ state: 'attached' })
  publish('bubble', { phone: '+14155550115', name: 'Person 5', bubble: bubble('unseen', { at: minutesAgo(0) }) })
  const chip = page.getByRole('button', { name: 'Person 5 1 unread' })
  await chip.click()
  await page.getByRole('button', { name: /Person 5$/ }).waitFor()
  await page.getByLabel('Write as Person 5').and(page.locator(':focus')).waitFor()
})

test('a customer the page does not know gets a phone when a message comes', { skip }, async (t) => {
  const { page, publish } = await open(t, [phone([bubble('a')])])

  const written = bubble('b', { from: 'customer', status: 'delivered' })
  publish('bubble', { channel: 'social', phone: '178400', name: 'Bo', username: 'bo', bubble: written })

  await phoneOf(page, 'Bo').waitFor()
  assert.match((await phoneOf(page, 'Bo').getAttribute('data-channel')) ?? '', /social/)
  await page.getByRole('button', { name: 'Bo', exact: true }).waitFor()
})

test('a tapped quick reply is sent with its payload and the message it answers', { skip }, async (t) => {
  const { page, called, publish } = await open(t, [phone([richTemplate])])

  await page.getByRole('button', { name: 'Yes, please' }).click()

  const { json } = await called('/inbound')
  assert.deepEqual(json, {
    workspace_id: 'w1',
    channel: 'msgapp',
    from: ann,
    name: 'Ann Okafor',
    type: 'button',
    text: 'Yes, please',
    button: { id: 'YES_4711', title: 'Yes, please' },
    reply_to: 'wamid.template',
  })
  publish('bubble', {
    bubble: bubble('wamid.in.1', {
      from: 'customer',
      type: 'button',
      text: 'Yes, please',
      status: 'delivered',
      reply_to: 'wamid.template',
      at: minutesAgo(0),
    }),
  })
  await message(page, 'wamid.in.1').waitFor()
  await page.locator('.tap.tapped', { hasText: 'Yes, please' }).waitFor()
  assert.equal(await page.locator('.from-customer').count(), 1)

  await page.getByRole('button', { name: 'No', exact: true }).click()
  assert.deepEqual((await called('/inbound', { nth: 2 })).json.button, { id: 'No', title: 'No' })
})

for (const first of ['the answer', 'the stream'])
  test(`what is written back is sent once and shown once, ${first} being first`, { skip }, async (t) => {
    const { page, state, called, publish } = await open(t, [phone([bubble('a')])])
    const write = phoneOf(page).getByRole('textbox')
    const { promise, resolve } = Promise.withResolvers<void>()
    if (first === 'the stream') state.delay = promise

    await write.fill('one\ntwo')
    await write.press('Enter')

    const { json } = await called('/inbound')
    assert.deepEqual([json.type, json.text, json.from], ['text', 'one\ntwo', ann])
    await until('an empty field', async () => (await write.inputValue()) === '')
    if (first === 'the answer') await page.locator('.from-customer[data-status=delivered]').waitFor()
    const given = { from: 'customer', text: 'one\ntwo', status: 'delivered', at: minutesAgo(0) }
    publish('bubble', { bubble: bubble('wamid.in.1', given) })
    await message(page, 'wamid.in.1').waitFor()
    assert.equal(await page.locator('.from-customer').count(), 1)
    resolve()
    publish('bubble', { bubble: bubble('wamid.in.1', { ...given, text: 'edited' }) })
    await phoneOf(page).getByText('edited').waitFor()
    assert.equal(await page.locator('.from-customer').count(), 1)
  })

test('a message that was not sent shows the reason and can be sent again', { skip }, async (t) => {
  const { page, state, called } = await open(t, [phone([bubble('a')])])
  state.refuse = 'the service did not take it'
  await phoneOf(page).getByRole('textbox').fill('hello')
  await phoneOf(page).getByRole('button', { name: 'Send', exact: true }).click()
  await phoneOf(page).getByText('Not sent. the service did not take it').waitFor()

  state.refuse = ''
  await phoneOf(page).getByRole('button', { name: 'Try again' }).click()

  assert.equal((await called('/inbound', { nth: 2 })).json.text, 'hello')
  await phoneOf(page).getByText('Not sent.').waitFor({ state: 'detached' })
})

test('a picture is uploaded and sent with its caption', { skip }, async (t) => {
  const { page, called, complaints } = await open(t, [phone([bubble('a')])])
  await phoneOf(page)
    .locator('input[type=file]')
    .setInputFiles({ name: 'cat.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(drawing) })
  await phoneOf(page).getByText('cat.svg').waitFor()
  await phoneOf(page).getByRole('textbox').fill('my cat')

  await phoneOf(page).getByRole('textbox').press('Enter')

  const sent = await called('/uploads')
  const head = [sent.headers['content-type'], sent.headers['x-simulator']]
  assert.deepEqual([...head, sent.body.toString()], ['image/svg+xml', '1', drawing])
  const { json } = await called('/inbound')
  assert.equal(json.type, 'image')
  const file = { id: 'media-1', url: '/pictures/upload.svg', mime_type: 'image/svg+xml', filename: 'cat.svg' }
  assert.deepEqual(json.media, { ...file, caption: 'my cat' })
  await page.locator('.from-customer img').waitFor()
  assert.deepEqual(complaints, [])
})

test('a dropped file is attached; locations and sample voice notes can be sent', { skip }, async (t) => {
  const { page, called } = await open(t, [phone([bubble('a')])])
  await page.evaluate(`{
    const data = new DataTransfer()
    data.items.add(new File(['%PDF'], 'bill.pdf', { type: 'application/pdf' }))
    document.querySelector('.handset').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
  }`)
  await phoneOf(page).getByRole('button', { name: 'Send', exact: true }).click()
  assert.equal((await called('/inbound')).json.type, 'document')

  await phoneOf(page).getByRole('button', { name: 'Attach' }).click()
  await page.getByRole('menuitem', { name: 'Ferry Building' }).click()
  const place = (await called('/inbound', { nth: 2 })).json
  assert.equal(place.type, 'location')
  assert.deepEqual(Object.keys(place.location ?? {}).sort(), ['address', 'latitude', 'longitude', 'name'])

  await phoneOf(page).getByRole('button', { name: 'Attach' }).click()
  await page.getByRole('menuitem', { name: 'Sample voice note' }).click()
  const note = (await called('/inbound', { nth: 3 })).json
  assert.deepEqual([note.type, note.media], ['audio', { mime_type: 'audio/ogg' }])
})

test('a voice note is recorded with a microphone, and a sample is sent without one', { skip }, async (t) => {
  const withMicrophone = await open(t, [phone([bubble('a')])])
  await withMicrophone.page.evaluate(fakeMicrophone)
  await withMicrophone.page.getByRole('button', { name: 'Record a voice note' }).click()
  await withMicrophone.page.getByRole('timer').getByText('0:01').waitFor()
  await withMicrophone.page.getByRole('button', { name: 'Send the voice note' }).click()
  const sent = await withMicrophone.called('/uploads')
  assert.match(sent.headers['content-type'] ?? '', /^audio\/(ogg|mp4|webm)$/)
  assert.ok(sent.body.length > 500)
  assert.equal((await withMicrophone.called('/inbound')).json.type, 'audio')
  assert.deepEqual(withMicrophone.complaints, [])

  const without = await open(t, [phone([bubble('a')])])
  await without.page.getByRole('button', { name: 'Record a voice note' }).click()
  assert.deepEqual((await without.called('/inbound')).json.media, { mime_type: 'audio/ogg' })
})

test('a message can be quoted and reacted to with the keyboard alone', { skip }, async (t) => {
  const { page, called, publish } = await open(t, [
    phone([bubble('a', { text: 'first' }), bubble('b', { text: 'second' })]),
  ])
  const name = 'document.activeElement.getAttribute("aria-label") ?? document.activeElement.dataset.id'
  const tabTo = async (wanted: string) => {
    for (let presses = 0; presses < 40; presses++) {
      if ((await page.evaluate(name)) === wanted) return
      await page.keyboard.press('Tab')
    }
    assert.fail(`${wanted} is not reached with Tab`)
  }

  await tabTo('b')
  await page.keyboard.press('ArrowUp')
  await tabTo('React')
  await page.keyboard.press('Enter')
  await page.getByRole('group', { name: 'React with' }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  const reaction = (await called('/inbound')).json
  assert.deepEqual([reaction.type, reaction.text, reaction.reply_to], ['reaction', '❤️', 'a'])
  const heart = { message_id: 'a', emoji: '❤️' }
  const reacted = bubble('r', { from: 'customer', type: 'reaction', text: '❤️', reaction: heart, at: minutesAgo(0) })
  publish('bubble', { bubble: reacted })
  await message(page, 'a').locator('.reaction').waitFor()
  assert.equal(await message(page, 'r').count(), 0)

  await tabTo('Reply')
  await page.keyboard.press('Enter')
  await page.keyboard.type('about that')
  await page.keyboard.press('Enter')
  const answer = (await called('/inbound', { nth: 2 })).json
  assert.deepEqual([answer.text, answer.reply_to], ['about that', 'a'])
})

test('a lost stream is opened again, and missed messages are loaded', { skip }, async (t) => {
  const { page, state, hangUp, publish } = await open(t, [phone([bubble('a')])])
  state.isDown = true
  hangUp()
  await page.getByRole('status').getByText('Connection lost. Reconnecting…').waitFor()
  state.phones[0]?.messages.push(bubble('missed', { at: minutesAgo(0) }))

  state.isDown = false

  // The notice stays only for some seconds.
  await Promise.all([message(page, 'missed').waitFor(), page.getByText('Connection restored').waitFor()])
  publish('bubble', { bubble: bubble('later', { at: minutesAgo(0) }) })
  await message(page, 'later').waitFor()
})

test('without the simulator the page shows an error, and loads the phones on retry', { skip }, async (t) => {
  const { page, state } = await open(t, [phone([bubble('a')])])
  state.isDown = true
  await page.clock.install()
  await page.reload()
  // The page waits some seconds for the stream.
  await until('the error', async () => {
    await page.clock.fastForward(10_000)
    return page.getByRole('alert').getByText('The phones could not be loaded').isVisible()
  })

  // Without a stream, the page does not retry by itself.
  state.isStreamDown = true
  state.isDown = false
  await page.getByRole('button', { name: 'Try again' }).click()

  await message(page, 'a').waitFor()
  await page.getByRole('alert').waitFor({ state: 'detached' })
})

test('an empty page has one phone, which shows how to send it a message', { skip }, async (t) => {
  const { page, url } = await open(t, [])

  const call = (await page.locator('.first-steps pre').textContent()) ?? ''
  assert.ok(call.includes(`curl ${url}/v1/messages`))
  const body = /-d '(.+)'$/s.exec(call)?.[1] ?? ''
  assert.deepEqual(JSON.parse(body), { to: ann, type: 'template', template: { name: 'hello_world' } })
  assert.match((await page.locator('.first-steps').textContent()) ?? '', /data\/demo\.json/)
})

test('a customer can be added on either channel and writes first', { skip }, async (t) => {
  const { page, called } = await open(t, [phone([bubble('a')])])
  await page.getByRole('button', { name: 'Add customer' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add customer' })
  assert.match(await dialog.getByRole('textbox', { name: 'Number' }).inputValue(), /^\+1\d{3}55501\d\d$/)
  await dialog.getByRole('textbox', { name: 'Number' }).fill('12')
  await dialog.getByRole('button', { name: 'Add customer' }).click()
  await dialog.getByText('Enter a + and 7 to 15 digits').waitFor()

  await dialog.getByText('Social').click()
  await dialog.getByRole('textbox', { name: 'User id' }).fill('178499')
  await dialog.getByLabel('Username').fill('@bo.b')
  await dialog.getByLabel('Name', { exact: true }).fill('Bo B')
  await dialog.getByRole('button', { name: 'Add customer' }).click()
  await page.keyboard.type('hi')
  await page.keyboard.press('Enter')

  const { json } = await called('/inbound')
  const sender = { workspace_id: 'w1', channel: 'social', from: '178499', username: 'bo.b', name: 'Bo B' }
  assert.deepEqual(json, { ...sender, type: 'text', text: 'hi' })
  await page.reload()
  await phoneOf(page, 'Bo B').waitFor()
})

const sales = {
  connection_id: 'sales',
  channel: 'msgapp',
  name: 'Sales',
  address: '+15550001111',
  is_default: true,
}
const support = { ...sales, connection_id: 'support', name: 'Support', address: '+15550002222', is_default: false }
const brand = { ...sales, connection_id: 'brand', channel: 'social', name: 'Brand', address: 'acme' }

const numberChoice = (page: Page) => page.getByLabel('Number that Ann Okafor writes to')

test('a phone chooses the number it writes to, and has a chat with each', { skip }, async (t) => {
  const chats = [
    phone([bubble('old', { at: minutesAgo(9) })], { connection_id: 'support' }),
    phone([bubble('new', { at: minutesAgo(1) })], { connection_id: 'sales' }),
  ]
  const { page, called, publish, complaints } = await open(t, chats, { connections: [sales, support, brand] })
  assert.equal(await page.locator('.phone').count(), 1)
  assert.equal(await numberChoice(page).inputValue(), 'sales', 'the chat with the newest message')
  await message(page, 'new').waitFor()
  assert.equal(await message(page, 'old').count(), 0)

  await numberChoice(page).selectOption({ label: 'Support · +15550002222' })
  await message(page, 'old').waitFor()
  assert.equal(await message(page, 'new').count(), 0)
  await page.getByRole('textbox', { name: 'Write as Ann Okafor' }).fill('hi')
  await page.keyboard.press('Enter')
  const { json } = await called('/inbound')
  const sender = { workspace_id: 'w1', channel: 'msgapp', connection_id: 'support', from: ann, name: 'Ann Okafor' }
  assert.deepEqual(json, { ...sender, type: 'text', text: 'hi' })
  const written = bubble('wamid.in.1', { from: 'customer', text: 'hi', at: minutesAgo(0), status: 'delivered' })
  publish('bubble', { connection_id: 'support', bubble: written })
  await message(page, 'wamid.in.1').waitFor()

  publish('bubble', { connection_id: 'sales', bubble: bubble('another', { text: 'from sales', at: minutesAgo(0) }) })
  await page.locator('.write-to').getByText('1 new in other chats').waitFor()
  await page.locator('#announcer').getByText('To Ann Okafor, from Sales: from sales').waitFor({ state: 'attached' })
  assert.equal(await message(page, 'another').count(), 0)
  const options = ['Sales · +15550001111 (1 new)', 'Support · +15550002222']
  assert.deepEqual(await numberChoice(page).locator('option').allTextContents(), options)
  await assertAccessible(page)
  assert.deepEqual(await page.evaluate(findFaults), [])

  await numberChoice(page).focus()
  await numberChoice(page).selectOption('sales')
  await message(page, 'another').waitFor()
  assert.equal(await message(page, 'wamid.in.1').count(), 0)
  assert.equal(await page.getByText('new in other chats').count(), 0)
  await numberChoice(page).and(page.locator(':focus')).waitFor()
  await page.setViewportSize({ width: 390, height: 740 })
  const overflowing = `[...document.querySelectorAll('.chat-head, .write-to, body, html')]
    .filter((element) => element.scrollWidth > element.clientWidth + 1).map((element) => element.outerHTML.slice(0, 300))`
  await until('the page to fit', async () => ((await page.evaluate(overflowing)) as string[]).length === 0)
  assert.deepEqual(complaints, [])
})

test('with one number of each channel there is no choice, until another number writes', { skip }, async (t) => {
  const chat = phone([bubble('a')], { connection_id: 'sales' })
  const { page, called, publish, state } = await open(t, [chat], { connections: [sales, brand] })
  assert.equal(await page.locator('.write-to').count(), 0)
  await page.locator('.chat-head').getByText('+1 500 555 0100').waitFor()
  await page.getByRole('textbox', { name: 'Write as Ann Okafor' }).fill('hi')
  await page.keyboard.press('Enter')
  const { json } = await called('/inbound')
  const sender = { workspace_id: 'w1', channel: 'msgapp', from: ann, name: 'Ann Okafor' }
  assert.deepEqual(json, { ...sender, type: 'text', text: 'hi' })

  state.connections = [sales, support, brand]
  const first = bubble('first', { at: minutesAgo(0) })
  state.phones = [chat, phone([first], { connection_id: 'support' })]
  publish('bubble', { connection_id: 'support', bubble: first })
  await page.locator('.write-to').getByText('1 new in other chats').waitFor()
  await numberChoice(page).selectOption('support')
  await message(page, 'first').waitFor()
})

test('a customer without a number has a username and writes with a user id', { skip }, async (t) => {
  const { page, called } = await open(t, [phone([bubble('a')])])
  await page.getByRole('button', { name: 'Add customer' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add customer' })
  await dialog.getByLabel('Customer without a number').check()
  assert.equal(await dialog.getByRole('textbox', { name: 'Number' }).count(), 0)
  await dialog.getByRole('textbox', { name: 'Username' }).fill(' ')
  await dialog.getByRole('button', { name: 'Add customer' }).click()
  await dialog.getByText('Enter a username.').waitFor()
  await assertAccessible(page)
  await dialog.getByRole('textbox', { name: 'Username' }).fill('@bo.b')
  await dialog.getByRole('button', { name: 'Add customer' }).click()
  await phoneOf(page, 'bo.b').getByText('@bo.b').waitFor()
  await phoneOf(page, 'bo.b').getByText('The customer writes first').waitFor()
  await phoneOf(page, 'bo.b').getByRole('button', { name: 'Copy the user id' }).waitFor()

  await page.getByRole('textbox', { name: 'Write as bo.b' }).fill('hi')
  await page.keyboard.press('Enter')
  const { user_id, ...rest } = (await called('/inbound')).json
  assert.match(String(user_id), /^US\.\d{20}$/)
  assert.deepEqual(rest, { workspace_id: 'w1', channel: 'msgapp', username: 'bo.b', type: 'text', text: 'hi' })
  await page.reload()
  await phoneOf(page, 'bo.b').waitFor()
})

test('a fault can stop one of several numbers', { skip }, async (t) => {
  const { page, called } = await open(t, [phone([bubble('a')])], { connections: [sales, support] })
  await page.getByRole('button', { name: 'Test tools' }).click()
  const panel = page.getByRole('complementary', { name: 'Test tools' })
  await panel.getByLabel('Fault', { exact: true }).selectOption('http_500')
  await panel.getByLabel('Sender').selectOption('support')
  await panel.getByRole('button', { name: 'Add fault' }).click()
  assert.deepEqual((await called('/faults')).json, { mode: 'http_500', connection_id: 'support' })
  await panel.getByText('from Support · to all numbers · until cleared').waitFor()
})

test('magic numbers open phones, and faults are added and cleared', { skip }, async (t) => {
  const { page, called, state } = await open(t, [phone([bubble('a')])])
  await page.getByRole('button', { name: 'Test tools' }).click()
  const panel = page.getByRole('complementary', { name: 'Test tools' })
  for (const number of ['1', '2', '3', '4', '5', '6', '9'])
    assert.equal(await panel.getByText(`+1500555000${number}`).count(), 1)
  await panel.getByRole('button', { name: /Open the phone Unreachable/ }).click()
  await phoneOf(page, 'Unreachable').waitFor()

  await panel.getByLabel('Fault', { exact: true }).selectOption('reject')
  await panel.getByRole('combobox', { name: 'Number' }).fill('+1 415 555 0100')
  await panel.getByLabel('Error code').fill('131047')
  await panel.getByLabel('Sends').fill('2')
  await panel.getByRole('button', { name: 'Add fault' }).click()

  assert.deepEqual((await called('/faults')).json, { mode: 'reject', to: ann, code: 131047, count: 2 })
  await panel.getByText(`to ${ann} · code 131047 · next 2 sends`).waitFor()
  await panel.getByRole('button', { name: 'Clear faults' }).click()
  await called('/faults', { method: 'DELETE' })
  await panel.getByText('code 131047').waitFor({ state: 'detached' })
  assert.deepEqual(state.faults, [])
  await page.keyboard.press('Escape')
  await panel.waitFor({ state: 'hidden' })
})

test('several workspaces can be chosen from', { skip }, async (t) => {
  const { page } = await open(t, [phone([bubble('a')])], { workspaces: 2 })

  await page.getByLabel('Workspace').selectOption('Other Ltd')

  await page.locator('.chat-head').getByText('Other Ltd').waitFor()
  assert.equal(new URL(page.url()).searchParams.get('workspace_id'), 'w2')
  assert.equal(await message(page, 'a').count(), 0)
  assert.equal(await page.getByRole('link', { name: 'Dashboard' }).getAttribute('href'), '/inbox')
})

test('of thousands of phones a dozen are shown, the others are found by name or number', { skip }, async (t) => {
  const many = Array.from({ length: 3000 }, (_, at) =>
    phone([bubble(`m${at}`, { at: minutesAgo(at + 1) })], {
      id: `+1415${String(5_000_000 + at)}`,
      name: `Person ${at}`,
    }),
  )
  const { page, publish } = await open(t, many)
  assert.equal(await page.locator('.phone').count(), 12)
  publish('bubble', { phone: '+14155002500', name: 'Person 2500', bubble: bubble('far', { at: minutesAgo(0) }) })

  await page.getByRole('button', { name: '2988 more 1 unread' }).click()
  await page.getByLabel('Find a customer').fill('5002500')
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /Person 2500/ })
    .click()

  await message(page, 'far').waitFor()
  assert.equal(await page.locator('.phone').count(), 13)
})

const everything: Phone[] = [
  phone([
    bubble('day', { at: minutesAgo(3 * 24 * 60), text: 'from another day' }),
    richTemplate,
    bubble('word', { text: `${'unbreakable'.repeat(30)} https://example.com/${'path/'.repeat(40)}` }),
    bubble('rtl', { text: 'مرحبا، كيف يمكنني مساعدتك اليوم؟', from: 'customer', status: 'delivered' }),
    bubble('picture', {
      type: 'image',
      text: 'a picture',
      media: { url: '/pictures/a.svg', mime_type: 'image/svg+xml', filename: null },
    }),
    bubble('lost', {
      type: 'image',
      text: null,
      media: { url: '/nowhere.png', mime_type: 'image/png', filename: null },
    }),
    bubble('film', {
      type: 'video',
      text: null,
      media: { url: 'https://example.com/film.mp4', mime_type: 'video/mp4', filename: null },
    }),
    bubble('voice', {
      type: 'audio',
      text: null,
      media: { url: '/pictures/note.ogg', mime_type: 'audio/ogg', filename: null },
    }),
    bubble('far voice', {
      type: 'audio',
      text: null,
      media: { url: 'https://example.com/note.ogg', mime_type: 'audio/ogg', filename: null },
    }),
    bubble('paper', {
      type: 'document',
      text: 'the bill',
      media: { url: '/pictures/bill.pdf', mime_type: 'application/pdf', filename: `${'long-name-'.repeat(9)}.pdf` },
    }),
    bubble('sticker', {
      type: 'sticker',
      text: null,
      media: { url: '/pictures/s.svg', mime_type: 'image/webp', filename: null },
    }),
    bubble('place', {
      type: 'location',
      text: null,
      location: { latitude: 48.85, longitude: 2.35, name: 'Cafe', address: 'Rue 1' },
    }),
    bubble('people', { type: 'contacts', text: null, contacts: [{ name: 'Bo', phone: '+14155550177' }] }),
    bubble('odd', { type: 'unsupported', text: null }),
    bubble('quote', { from: 'customer', status: 'delivered', reply_to: 'place' }),
    bubble('bad', { status: 'failed', error: { code: 131000, message: 'Something went wrong' } }),
  ]),
  phone([bubble('s', { text: 'plain *stars* stay' })], {
    channel: 'social',
    id: '178400',
    name: null,
    username: 'bo.b',
  }),
]

/** What axe does not find: controls and areas without a name, an id twice, links that give away the window, inline handlers. */
const findFaults = `{
    const named = (element) => {
      const by = (element.getAttribute('aria-labelledby') ?? '').split(' ').map((id) => document.getElementById(id)?.textContent ?? '').join('')
      const labels = [...(element.labels ?? [])].map((label) => label.textContent).join('')
      return (by || element.getAttribute('aria-label') || labels || element.textContent || '').trim() !== ''
    }
    const controls = [...document.querySelectorAll('button, a, input, select, textarea, dialog, nav, aside, [role=menu], section, [tabindex="0"]')]
    const ids = [...document.querySelectorAll('[id]')].map((element) => element.id)
    ;[
      ...controls.filter((element) => !named(element)).map((element) => 'no name: ' + element.outerHTML.slice(0, 120)),
      ...[...document.querySelectorAll('img:not([alt])')].map((element) => 'no alt: ' + element.outerHTML.slice(0, 120)),
      ...ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => 'twice: ' + id),
      ...[...document.querySelectorAll('a[target=_blank]:not([rel~=noopener])')].map((element) => 'opener: ' + element.outerHTML),
      ...[...document.querySelectorAll('[style]')].filter((element) => element.closest('[onclick]')).map(() => 'inline handler'),
    ]
  }`

for (const dark of [false, true])
  test(`every kind of message is shown without complaint, ${dark ? 'dark' : 'light'}`, { skip }, async (t) => {
    const { page, complaints } = await open(t, everything, { dark })

    assert.equal(await page.locator('.message').count(), 17)
    assert.equal(await message(page, 's').locator('.text').textContent(), 'plain *stars* stay')
    await message(page, 'lost').scrollIntoViewIfNeeded()
    await message(page, 'lost').getByText('The picture could not be loaded').waitFor()
    assert.equal(await message(page, 'film').getByRole('link').getAttribute('href'), 'https://example.com/film.mp4')
    const direction = `getComputedStyle(document.querySelector('[data-id="rtl"] .text')).direction`
    assert.equal(await page.evaluate(direction), 'rtl')
    await message(page, 'quote')
      .getByRole('button', { name: /quoted message of Acme/ })
      .click()
    await message(page, 'place').and(page.locator(':focus')).waitFor()
    await message(page, 'people').getByRole('button', { name: 'Open the phone of Bo' }).click()
    await phoneOf(page, 'Bo on Messages').waitFor()
    await page.getByRole('button', { name: 'Test tools' }).click()
    await assertAccessible(page)
    assert.deepEqual(await page.evaluate(findFaults), [])
    assert.deepEqual(complaints, [])
  })

for (const width of [360, 768])
  test(`nothing is cut off at ${width} pixels`, { skip }, async (t) => {
    const { page } = await open(t, everything, { width, height: 740 })

    const overflowing = `[...document.querySelectorAll('.scroller, .bubble, .slide, .composer, .tag, .top, .first-steps, body, html')]
      .filter((element) => element.scrollWidth > element.clientWidth + 1).map((element) => element.outerHTML.slice(0, 300))`
    assert.deepEqual(await page.evaluate(overflowing), [])
    const widest = `Math.max(...[...document.querySelectorAll('.phone')].map((phone) => phone.offsetWidth))`
    assert.ok((await page.evaluate<number>(widest)) <= width)
    await page.getByRole('button', { name: 'bo.b', exact: true }).click()
    await page.locator('.customer[aria-current]', { hasText: 'bo.b' }).waitFor()
    await message(page, 's').waitFor()
    await page.getByRole('button', { name: 'Test tools' }).click()
    assert.deepEqual(await page.evaluate(overflowing), [])
  })
