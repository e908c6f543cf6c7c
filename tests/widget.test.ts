/** The chat widget in a real browser, on a page of another origin with hostile styles and a strict policy. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { readableOn } from '../widget/src/color.ts'
import { findLinks } from '../widget/src/links.ts'
import { findMarks } from '../widget/src/marks.ts'
import { assertAccessible, openDashboard, skip } from './dashboard.ts'
import { listen } from './listen.ts'
import { assertStatus, createBrowser, type Json, pluck, start, until } from './support.ts'

type Shop = { url: string; stop(): void }

/**
 * A shop with the widget. Its styles reset everything, its policy allows only what the widget needs, and it contains an empty
 * host element, as a page restored from a snapshot does.
 */
async function openShop(t: TestContext, service: string, siteId: string, html = 'lang="en"'): Promise<Shop> {
  const page = `<!doctype html><html ${html}><head><title>Shop</title><meta name="viewport" content="width=device-width">
    <link rel="stylesheet" href="/hostile.css"></head><body><main><h1>Shop</h1><p id="pressed">none</p>
    <input aria-label="Search"></main><parley-chat data-site="${siteId}"></parley-chat><script src="/shop.js"></script>
    <script src="${service}/widget.js" data-site="${siteId}" async></script>
    <script src="${service}/widget.js" data-site="${siteId}" async></script></body></html>`
  const files: Record<string, [string, string]> = {
    '/': ['text/html', page],
    '/hostile.css': [
      'text/css',
      `* { all: unset !important; font-size: 40px !important } parley-chat, div, button { display: none !important }
      body { perspective: 10px !important; contain: strict !important }`,
    ],
    '/shop.js': ['text/javascript', 'document.onkeydown = ({ key }) => { pressed.textContent = key }'],
  }
  const policy = `default-src 'none'; script-src 'self' ${service}; style-src 'self'; connect-src ${service}; img-src ${service}; require-trusted-types-for 'script'; trusted-types 'none'`
  const server = createServer(({ url = '' }, response) => {
    const [type, body] = files[url] ?? ['text/plain', '']
    response.writeHead(200, { 'content-type': type, 'content-security-policy': policy }).end(body)
  })
  return { url: await listen(t, server), stop: () => server.close() }
}

/** A service, a shop, and a member who replies. */
async function openSite(t: TestContext, widget: Json = {}, html?: string) {
  const world = await openDashboard(t, '/healthz', { as: null })
  const siteId = world.provider.connections.web.id
  const member = createBrowser(world.url, world.url)
  await member.signIn(world.owner)
  const set = async (changes: Json) => {
    assertStatus(await member.call('PATCH', '/channels/web/widget', changes), 200)
  }
  if (Object.keys(widget).length > 0) await set(widget)
  const shop = await openShop(t, world.url, siteId, html)
  const messages = () => world.db<{ id: string; content_text: string; conversation_id: string }[]>`
    select id, content_text, conversation_id from messages
    where workspace_id = ${world.api.workspaceId} and direction = 'inbound' order by id`
  const reply = async (text: string) => {
    const [{ conversation_id } = assert.fail('no visitor has written')] = await messages()
    assertStatus(await member.call('POST', `/conversations/${conversation_id}/messages`, { text }), 201)
  }
  const storedTexts = async () => (await messages()).map(({ content_text }) => content_text)
  return { ...world, siteId, shop, set, reply, storedTexts, member }
}

const partsOf = (page: Page) => ({
  launcher: page.locator('parley-chat .launcher'),
  panel: page.getByRole('dialog'),
  text: page.getByRole('textbox', { name: 'Write a message' }),
  bubbles: page.locator('parley-chat .bubble'),
  badge: page.locator('parley-chat .badge'),
})

const root = "document.querySelector('parley-chat').shadowRoot"
const focused = (page: Page) =>
  page.evaluate<string>(`${root}.activeElement && (${root}.activeElement.className || ${root}.activeElement.tagName)`)
const styleOf = (page: Page, what: string, name: string) =>
  page.evaluate<string>(`getComputedStyle(${root}.querySelector('${what}')).${name}`)

/** Waits until an expression is true. The policy of the shop forbids `page.waitForFunction`, which evaluates a text again in the page. */
const untilTrue = (page: Page, expression: string) =>
  until(expression, () => page.evaluate<boolean>(`Boolean(${expression})`))

const shown = async (page: Page, ...texts: string[]) => {
  const { bubbles } = partsOf(page)
  if (texts.length > 0) await bubbles.nth(texts.length - 1).waitFor()
  await until(`the thread ${texts.join(', ')}`, async () => (await bubbles.allTextContents()).join() === texts.join())
}

test('on a hostile page a visitor chats in real time, and a reload keeps the thread', { skip }, async (t) => {
  const { page, shop, reply, storedTexts, db, siteId } = await openSite(t)
  await page.goto(shop.url)
  const { launcher, panel, text, badge } = partsOf(page)
  await launcher.waitFor()
  assert.equal(await page.locator('parley-chat').count(), 1)
  const corner = await launcher.boundingBox()
  const place = [corner?.x, corner?.y, corner?.width]
  assert.deepEqual(place, [1280 - 76, 860 - 76, 56], 'the launcher is in the corner of the window')
  assert.equal(await launcher.getAttribute('aria-expanded'), 'false')
  await assertAccessible(page)
  await launcher.click()
  await page.getByRole('dialog', { name: 'Chat with us' }).getByText('Ask us anything.').waitFor()
  assert.equal(await focused(page), 'TEXTAREA')
  const counted = await db`select from visitor_windows where starts_with(key, ${siteId})`
  assert.equal(counted.length, 0, 'opening the panel stores nothing')

  await page.keyboard.type('Is <b>it</b>')
  await page.keyboard.press('Shift+Enter')
  await page.keyboard.type('there?')
  await page.keyboard.press('Enter')
  await shown(page, 'Is <b>it</b>\nthere?')
  assert.equal(await page.locator('#pressed').textContent(), 'none', 'the page receives no key events')
  await until('the message', async () => (await storedTexts())[0] === 'Is <b>it</b>\nthere?')
  await reply('Yes: https://shop.test/a(1)?b="c, or javascript:alert(1).')
  const status = page.locator('parley-chat .root > [role="status"]')
  await status.getByText('Reply: Yes: https://shop.test').waitFor()
  assert.equal(await panel.getByRole('log').getAttribute('aria-live'), 'off', 'each message is announced once')
  const link = panel.getByRole('link')
  assert.equal(await link.getAttribute('href'), 'https://shop.test/a(1)?b=')
  assert.match((await link.getAttribute('rel')) ?? '', /noopener noreferrer/)
  assert.equal(await styleOf(page, 'a', 'fontSize'), '15px')
  await text.fill('Good')
  await page.getByRole('button', { name: 'Send' }).click()
  const thread = ['Is <b>it</b>\nthere?', 'Yes: https://shop.test/a(1)?b="c, or javascript:alert(1).', 'Good']
  await shown(page, ...thread)
  await page.locator('[data-state="pending"]').waitFor({ state: 'detached' })
  await assertAccessible(page)

  // The page replaces its body, as single-page applications do.
  const host = page.locator('parley-chat')
  await page.evaluate(
    "document.body.replaceWith(document.body.cloneNode(true)); document.querySelector('parley-chat').remove()",
  )
  await panel.waitFor()
  await shown(page, ...thread)
  assert.equal(await host.count(), 1)

  await text.press('Escape')
  await panel.waitFor({ state: 'hidden' })
  assert.equal(await focused(page), 'launcher')
  await reply('one')
  await reply('two')
  await badge.getByText('2').waitFor()
  assert.equal(await launcher.getAttribute('aria-label'), 'Open chat, 2 unread messages')
  await page.reload()
  await badge.getByText('2').waitFor()
  await launcher.press('Enter')
  await shown(page, ...thread, 'one', 'two')
  await badge.waitFor({ state: 'hidden' })
  assert.equal(await page.getByRole('button', { name: 'Close chat' }).count(), 1, 'one button closes the panel')
  await text.fill('And\nis it\nopen?')
  const { height } = (await text.boundingBox()) ?? {}
  await page.reload()
  await panel.waitFor()
  assert.equal(await text.inputValue(), 'And\nis it\nopen?', 'a message that was begun')
  await until('its height', async () => (await text.boundingBox())?.height === height)
  await text.fill('')
  await until('the thread after the reload', async () => (await page.locator('parley-chat .bubble').count()) === 5)
  assert.equal(await badge.isVisible(), false)
  await page.evaluate("document.body.replaceWith(document.createElement('body'))")
  await host.waitFor({ state: 'detached' })
})

test('a visitor attaches files by button, paste and drop, and sees those of the member', { skip }, async (t) => {
  const { page, shop, member, db, api } = await openSite(t)
  await page.goto(shop.url)
  const { launcher, bubbles, text } = partsOf(page)
  await launcher.click()
  const image = { name: 'broken table.png', mimeType: 'image/png', buffer: Buffer.from(png, 'base64') }
  await page.locator('parley-chat input[type=file]').setInputFiles(image)
  await page.getByRole('img', { name: 'broken table.png' }).waitFor()
  const give = (event: string, how: string, content = "'a,b'") => `(() => {
    const data = new DataTransfer()
    data.items.add(new File([${content}], 'list.csv', { type: 'text/csv' }))
    const ${event} = new ${how}('${event}', { bubbles: true, cancelable: true, clipboardData: data, dataTransfer: data })
    ${root}.querySelector('textarea').dispatchEvent(${event})
  })()`
  await page.evaluate(give('paste', 'ClipboardEvent'))
  await bubbles.nth(1).getByRole('link', { name: 'list.csv' }).waitFor()
  await page.evaluate(give('drop', 'DragEvent'))
  await bubbles.nth(2).getByRole('link', { name: 'list.csv' }).waitFor()
  const stored = await db<{ conversation_id: string; content_type: string }[]>`
    select conversation_id, content_type from messages where workspace_id = ${api.workspaceId} order by id`
  assert.deepEqual(pluck(stored, 'content_type'), ['image', 'document', 'document'])
  await assertAccessible(page)

  // A type that could run is refused; the visitor may go on.
  const program = { name: 'setup.exe', mimeType: 'application/x-msdownload', buffer: Buffer.from('MZ\u0090') }
  await page.locator('parley-chat input[type=file]').setInputFiles(program)
  await page.getByText('Not sent').waitFor()
  await page.evaluate(give('drop', 'DragEvent', 'new Uint8Array(10 * 1024 * 1024 + 1)'))
  await page.getByText('A file may have at most 10 MB.').waitFor()
  await text.fill('Can you _see_ it?')
  await text.press('Enter')
  await page.locator('parley-chat em', { hasText: 'see' }).waitFor()

  const reply = { type: 'image', media_url: `${shop.url}/`, text: 'Like *this* one?' }
  const path = `/conversations/${stored[0]?.conversation_id}/messages`
  assert.equal((await member.call('POST', path, { ...reply, type: 'document' })).status, 201)
  await page.getByRole('link', { name: 'File', exact: true }).waitFor()
  await page.locator('parley-chat strong', { hasText: 'this' }).waitFor()
})

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FAAhKDveksOjmAAAAAElFTkSuQmCC'

test('a visitor taps buttons and rows by mouse and keyboard, opens a link, and sees a location', {
  skip,
}, async (t) => {
  const { page, shop, api } = await openSite(t)
  await page.goto(shop.url)
  const { launcher, panel, text, bubbles } = partsOf(page)
  await launcher.click()
  await text.fill('Hello')
  await page.keyboard.press('Enter')
  const { id } = await until('the conversation', async () => (await api.get('/conversations')).body.data[0])
  const send = async (body: Json) => {
    assertStatus(await api.post(`/conversations/${id}/messages`, body), 201)
  }
  const newestReplyId = async () =>
    (await api.get(`/conversations/${id}/messages?limit=1`)).body.data[0].interactive_reply_id
  const choices = [
    { id: 'keep', title: 'Keep it' },
    { id: 'cancel', title: 'Cancel it' },
  ]
  const question = { kind: 'buttons', header: 'Order A-1', body: 'Keep *it*?', footer: 'Acme', buttons: choices }
  await send({ type: 'interactive', interactive: question })
  const keep = panel.getByRole('button', { name: 'Keep it' })
  await keep.waitFor()
  await assertAccessible(page)
  await keep.focus()
  await page.keyboard.press('Enter')
  await until('the tap', async () => (await newestReplyId()) === 'keep')
  assert.equal(await bubbles.last().textContent(), 'Keep it')
  assert.equal(await keep.getAttribute('aria-pressed'), 'true')
  assert.equal(await focused(page), 'choice', 'the focus stays on the button')
  await panel.getByRole('button', { name: 'Cancel it' }).click({ force: true })
  const rows = [{ id: 'm9', title: '09:00', description: '30 min' }]
  const list = { kind: 'list', body: 'Pick a slot', button: 'Slots', sections: [{ title: 'Monday', rows }] }
  await send({ type: 'interactive', interactive: list })
  await panel.getByText('Slots').click()
  await panel.getByRole('button', { name: '09:00' }).click()
  await until('the row', async () => (await newestReplyId()) === 'm9')
  const url = 'https://shop.test/track'
  await send({ type: 'interactive', interactive: { kind: 'link', body: 'Your parcel', text: 'Track', url } })
  assert.equal(await panel.getByRole('link', { name: 'Track' }).getAttribute('href'), url)
  await send({ type: 'location', location: { latitude: 1.5, longitude: -2, name: 'Shop', address: '1 Main St' } })
  assert.match((await panel.getByRole('link', { name: 'Shop' }).getAttribute('href')) ?? '', /mlat=1\.5&mlon=-2/)
  await assertAccessible(page)

  // The choice is remembered: a reload shows it, and no second tap is possible.
  await page.reload()
  await keep.waitFor()
  const states = [await keep.getAttribute('aria-pressed'), await keep.getAttribute('aria-disabled')]
  assert.deepEqual(states, ['true', 'true'])
  const taps = (await api.get(`/conversations/${id}/messages`)).body.data.filter(
    (one: Json) => one.interactive_reply_id,
  )
  assert.equal(taps.length, 2)
})

test('visitor and member see each other type and read, and the visitor sees who replies', { skip }, async (t) => {
  const { page, window, shop, storedTexts, member } = await openSite(t)
  await member.call('PATCH', '/profile', { name: 'Ann Miller' })
  await page.goto(shop.url)
  const { launcher, panel, text } = partsOf(page)
  await launcher.click()
  await text.fill('Is it there?')
  await text.press('Enter')
  await until('the message', async () => (await storedTexts()).length === 1)
  const owner = await window()
  await owner.goto('/inbox')
  await owner.getByText('Is it there?').first().click()
  await panel.getByText('Seen', { exact: true }).waitFor()
  const box = owner.getByRole('textbox', { name: 'Reply' })
  await box.pressSequentially('It')
  await panel.getByText('Ann is typing…').waitFor()
  await text.pressSequentially('And')
  await owner.locator('.inbox-visitor-typing').getByText('is typing…').waitFor()
  await text.fill('')
  await owner.locator('.inbox-visitor-typing').getByText('is typing…').waitFor({ state: 'hidden' })
  await box.fill('It is.')
  await box.press('Enter')
  await shown(page, 'Is it there?', 'It is.')
  await panel.getByText('Ann is typing…').waitFor({ state: 'hidden' })
  assert.equal(await page.locator('parley-chat .sender').textContent(), 'AAnn')
  // The row in the list shows the status of the newest message, too.
  await owner.getByRole('log', { name: 'Messages' }).locator('[data-status="read"]').waitFor()
  await assertAccessible(page)
  await assertAccessible(owner)
})

test('a visitor in the queue of a team sees the position, which is announced, until a member takes the conversation', {
  skip,
}, async (t) => {
  const { page, window, shop, siteId, member, storedTexts, api } = await openSite(t, {}, 'lang="de"')
  const team = { name: 'Support', connection_ids: [siteId] }
  assertStatus(await member.call('POST', '/teams', team), 201)
  const write = async (visitor: Page, message: string) => {
    await visitor.goto(shop.url)
    await visitor.locator('parley-chat .launcher').click()
    const box = visitor.getByRole('textbox', { name: 'Nachricht schreiben' })
    await box.fill(message)
    await box.press('Enter')
    await until('the message', async () => (await storedTexts()).includes(message))
  }
  const earlier = await window({ as: null })
  await write(earlier, 'Ist jemand da?')
  await page.clock.install()
  await write(page, 'Hallo?')
  const lineOf = (visitor: Page) => visitor.locator('parley-chat .log ~ p:not([hidden])')
  const status = page.locator('parley-chat [role="status"].visually-hidden')
  await until(
    'the line',
    async () => (await lineOf(page).allTextContents()).join() === 'Sie sind an 2. Stelle der Warteschlange.',
  )
  await until(
    'its announcement',
    async () => (await status.textContent()) === 'Sie sind an 2. Stelle der Warteschlange.',
  )
  await assertAccessible(page)

  const list = async () => (await api.get('/conversations')).body.data as Json[]
  const [me] = (await member.call('GET', '/members')).body.data
  const [second, first] = await list()
  const take = async ({ id }: Json = {}) =>
    assertStatus(await member.call('PATCH', `/conversations/${id}`, { assigned_agent_id: me.id }), 200)
  await take(first)
  await lineOf(earlier).waitFor({ state: 'hidden' })
  await until(
    'the line',
    async () => (await lineOf(page).allTextContents()).join() === 'Sie sind an 1. Stelle der Warteschlange.',
  )
  // A queue that moves fast is announced after a pause.
  assert.equal(await status.textContent(), 'Sie sind an 2. Stelle der Warteschlange.')
  await page.clock.fastForward(30_000)
  await until(
    'the next announcement',
    async () => (await status.textContent()) === 'Sie sind an 1. Stelle der Warteschlange.',
  )
  await take(second)
  await lineOf(page).waitFor({ state: 'hidden' })
})

/** A shop whose server signs who its customers are. */
async function openSignedSite(t: TestContext) {
  const site = await openSite(t)
  const { body } = await site.member.call('POST', '/channels/web/identity-secret')
  const sign = (sub: string, exp = Math.floor(Date.now() / 1_000) + 600) => {
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const signed = `${encode({ alg: 'HS256' })}.${encode({ sub, exp, name: sub })}`
    return `${signed}.${createHmac('sha256', body.data.secret).update(signed).digest('base64url')}`
  }
  return { ...site, sign }
}

test('a page opens and closes the chat, and a signed-in customer has one conversation on all devices', {
  skip,
}, async (t) => {
  const { page, window, shop, sign, storedTexts } = await openSignedSite(t)
  const say = async (device: Page, message: string) => {
    const { text, bubbles } = partsOf(device)
    await text.fill(message)
    await text.press('Enter')
    await bubbles.filter({ hasText: message }).waitFor()
    await until(message, async () => (await storedTexts()).includes(message))
  }
  const identify = (device: Page, token: string | null) =>
    device.evaluate<string>(
      `parleyChat.identify(${JSON.stringify(token)}).then(() => 'accepted', ({ message }) => message)`,
    )
  const { panel } = partsOf(page)
  await page.goto(shop.url)
  await untilTrue(page, 'window.parleyChat')
  await page.evaluate('parleyChat.open()')
  await panel.waitFor()
  assert.equal(await focused(page), 'TEXTAREA')
  await page.evaluate('parleyChat.open(); parleyChat.close()')
  await panel.waitFor({ state: 'hidden' })
  await page.evaluate('parleyChat.open()')
  await say(page, 'anonymous')

  assert.equal(await identify(page, sign('ann')), 'accepted')
  await shown(page)
  await say(page, 'from one device')
  const other = await window({ as: null })
  await other.goto(shop.url)
  await untilTrue(other, 'window.parleyChat')
  assert.equal(await identify(other, sign('ann')), 'accepted')
  await other.evaluate('parleyChat.open()')
  await shown(other, 'from one device')
  await say(other, 'from the other')
  await shown(page, 'from one device', 'from the other')

  // A refused identity shows nothing of the customer before, and a page that does not identify shows the anonymous visitor.
  assert.match(await identify(page, sign('ben', 1)), /^identity token: it has expired/)
  await shown(page, 'anonymous')
  assert.match(await identify(page, `${sign('ann')}x`), /^identity token: wrong signature/)
  assert.equal(await identify(page, sign('ann')), 'accepted')
  await shown(page, 'from one device', 'from the other')
  await partsOf(page).text.fill('Confidential')
  const stored = await page.evaluate<string>('JSON.stringify(localStorage)')
  assert.doesNotMatch(stored, /Confidential/)
  assert.equal(stored.match(/\\"token\\":/g)?.length, 1, 'only the anonymous session is stored')
  await page.reload()
  await shown(page, 'anonymous')
  assert.equal(await identify(page, null), 'accepted', 'without a customer nothing changes')
  await shown(page, 'anonymous')
  assert.equal(await identify(page, sign('ben')), 'accepted')
  await shown(page)
  assert.equal(await identify(page, null), 'accepted')
  await shown(page)
  await page.reload()
  await panel.waitFor()
  await shown(page)

  // A session that has ended asks the page for another token.
  await page.evaluate(`tokens = ['${sign('ann')}', '${sign('ann')}']; parleyChat.identify(() => tokens.shift())`)
  await shown(page, 'from one device', 'from the other')
  const refused = { status: 401, headers: { 'access-control-allow-origin': '*' }, body: '{}' }
  await page.route('**/messages?*', (route) => route.fulfill(refused), { times: 1 })
  await page.evaluate('parleyChat.close(); parleyChat.open()')
  await untilTrue(page, 'tokens.length === 0')
  await say(page, 'after the renewal')
})

test('a second person at the browser sees nothing of the customer before', { skip }, async (t) => {
  const { page, shop, sign, siteId, storedTexts } = await openSignedSite(t)
  const { panel, text, launcher } = partsOf(page)
  const identify = (token: string | null, device = page) =>
    device.evaluate(`parleyChat.identify(${JSON.stringify(token)})`)
  const isEmpty = async (device: Page) =>
    (await device.locator('parley-chat .bubble').count()) === 0 &&
    (await partsOf(device).text.inputValue()) === '' &&
    !(await device.locator('parley-chat .root').textContent())?.includes('secret of ann')
  await page.goto(shop.url)
  await launcher.click()
  await identify(sign('ann'))
  await text.fill('secret of ann')
  await text.press('Enter')
  await until('the message', async () => (await storedTexts()).includes('secret of ann'))
  await text.fill('draft of ann')
  await identify(sign('ann'))
  assert.equal(await text.inputValue(), 'draft of ann', 'another token of the same customer keeps the draft')

  // The service does not answer: what ann wrote is hidden before it does.
  const release = Promise.withResolvers<void>()
  await page.route('**/identity', async (route) => {
    await release.promise
    await route.continue()
  })
  const ben = identify(sign('ben'))
  await until('an empty panel', () => isEmpty(page))
  assert.ok(await panel.isVisible(), 'the panel stays open')
  release.resolve()
  await ben
  await until('the panel of ben', () => isEmpty(page))

  // A sign-out reaches the other tabs.
  const tab = await page.context().newPage()
  await tab.goto(shop.url)
  await partsOf(tab).launcher.click()
  for (const device of [page, tab]) {
    await identify(sign('ann'), device)
    await shown(device, 'secret of ann')
  }
  await identify(null, page)
  for (const device of [page, tab]) await until('the sign-out', () => isEmpty(device))
  await tab.close()

  // An application replaces the body, with the tag of another person or of none.
  const replaceBody = (token: string) =>
    page.evaluate(`{
      const body = document.createElement('body')
      const tag = document.createElement('script')
      Object.assign(tag.dataset, { site: '${siteId}', identity: '${token}' })
      body.append(tag)
      document.body.replaceWith(body)
    }`)
  await replaceBody(sign('ann'))
  await shown(page, 'secret of ann')
  await replaceBody(sign('ben'))
  await until('the panel of ben', () => isEmpty(page))
  await replaceBody(sign('ann'))
  await shown(page, 'secret of ann')
  await replaceBody('')
  await until('the panel of an anonymous visitor', () => isEmpty(page))
})

test('an image that loads late does not hide the end of the thread', { skip }, async (t) => {
  const { page, shop, storedTexts, member, url, db, api } = await openSite(t)
  await page.setViewportSize({ width: 1280, height: 420 + 160 })
  const release = Promise.withResolvers<void>()
  const picture = Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="400"><rect width="300" height="400"/></svg>',
  )
  await page.route('**/late.svg', async (route) => {
    await release.promise
    await route.fulfill({ contentType: 'image/svg+xml', body: picture })
  })
  await page.goto(shop.url)
  const { launcher, text } = partsOf(page)
  await launcher.click()
  for (const line of ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight']) {
    await text.fill(line)
    await text.press('Enter')
  }
  await until('the messages', async () => (await storedTexts()).length === 8)
  const [{ conversation_id } = assert.fail()] = await db<{ conversation_id: string }[]>`
    select conversation_id from messages where workspace_id = ${api.workspaceId} limit 1`
  const reply = { type: 'image', media_url: `${url}/late.svg` }
  assertStatus(await member.call('POST', `/conversations/${conversation_id}/messages`, reply), 201)
  const image = page.locator('parley-chat img')
  await image.waitFor({ state: 'attached' })
  release.resolve()
  await until('the image', async () => ((await image.boundingBox())?.height ?? 0) > 100)
  const bottomOf = async (selector: string) => {
    const { y = 0, height = 0 } = (await page.locator(`parley-chat ${selector}`).boundingBox()) ?? {}
    return y + height
  }
  await until('the whole image', async () => (await bottomOf('img')) <= (await bottomOf('.thread')))
})

test('messages written offline wait in order and are sent once when the connection is back', { skip }, async (t) => {
  const { page, shop, storedTexts, reply, url, siteId } = await openSite(t)
  await page.goto(shop.url)
  const { launcher, text } = partsOf(page)
  await launcher.click()
  const say = async (message: string) => {
    await text.fill(message)
    await text.press('Enter')
  }
  await say('first')
  await until('the first', async () => (await storedTexts()).length === 1)
  await page.context().setOffline(true)
  await page.getByText('You are offline.').waitFor()
  await say('second')
  await say('third')
  await page.locator('[data-state="pending"]').nth(1).waitFor()
  await reply('meanwhile')
  await page.context().setOffline(false)
  await shown(page, 'first', 'meanwhile', 'second', 'third')
  await page.locator('[data-state="pending"]').first().waitFor({ state: 'detached' })
  assert.deepEqual(await storedTexts(), ['first', 'second', 'third'])

  // The service stores the message, but the response is lost and the page reloads.
  let lost = 0
  await page.route(`${url}/web-chat/${siteId}/messages`, async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    lost++
    await route.fetch()
    await route.abort()
  })
  await say('fourth')
  await until('the fourth', async () => lost > 0 && (await storedTexts()).length === 4)
  await page.unrouteAll({ behavior: 'wait' })
  await page.reload()
  await shown(page, 'first', 'meanwhile', 'second', 'third', 'fourth')
  await until('an empty queue', () =>
    page.evaluate<boolean>(`JSON.parse(localStorage['parley-chat:${siteId}']).queue.length === 0`),
  )
  assert.deepEqual(await storedTexts(), ['first', 'second', 'third', 'fourth'])

  // With a full storage the message is still sent.
  await page.evaluate("Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') }")
  await say('fifth')
  await shown(page, 'first', 'meanwhile', 'second', 'third', 'fourth', 'fifth')
  await until('the fifth', async () => (await storedTexts()).at(-1) === 'fifth')
})

test('members configure the appearance and the allowed sites, and the widget follows', { skip }, async (t) => {
  const { page, window, shop, siteId, url, member } = await openSite(t)
  const owner = await window()
  await owner.goto('/settings/channels')
  await owner.getByText('Appearance and allowed websites').click()
  await owner.getByLabel('Title').fill('Ask the potter')
  await owner.getByLabel('Greeting').fill(`مرحبا ${'welcome '.repeat(36)}`)
  await owner.getByLabel('Color').fill('#ffd400')
  await owner.getByText('Left', { exact: true }).click()
  await owner.getByLabel('Ask for name and email').selectOption('required')
  const preview = owner.getByRole('region', { name: 'Preview' })
  assert.equal(await preview.locator('parley-chat h2').textContent(), 'Ask the potter')
  assert.equal(await preview.locator('parley-chat .root').getAttribute('data-side'), 'left')
  await preview.locator('parley-chat input[type=email]').waitFor()
  assert.equal(await styleOf(owner, 'header', 'backgroundColor'), 'rgb(255, 212, 0)')
  const [outer, inner] = [await preview.boundingBox(), await preview.locator('parley-chat .panel').boundingBox()]
  assert.ok(outer && inner && inner.x >= outer.x && inner.y >= outer.y, 'the panel is inside the preview')
  assert.ok(inner.x + inner.width <= outer.x + outer.width && inner.y + inner.height <= outer.y + outer.height)
  const sites = owner.getByLabel('Allowed websites')
  await sites.fill('shop.test/path')
  await owner.getByRole('button', { name: 'Save changes' }).click()
  await owner.getByRole('alert').filter({ hasText: 'Must be the URL of a site' }).waitFor()
  await sites.fill(`${shop.url}/\nHTTPS://Shop.Test`)
  await owner.getByRole('button', { name: 'Save changes' }).click()
  await owner.getByText('Saved').waitFor()
  assert.equal(await sites.inputValue(), `${shop.url}\nhttps://shop.test`)
  await assertAccessible(owner)

  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto(shop.url)
  const { launcher, panel, text } = partsOf(page)
  await launcher.waitFor()
  assert.equal((await launcher.boundingBox())?.x, 20)
  await launcher.click()
  await page.getByRole('dialog', { name: 'Ask the potter' }).getByText('مرحبا').waitFor()
  const box = await panel.boundingBox()
  assert.deepEqual([box?.x, box?.y, box?.width, box?.height], [0, 0, 390, 844])
  for (const height of [844, 360]) {
    await page.setViewportSize({ width: 390, height })
    await until(`the panel to be ${height} high`, async () => (await panel.boundingBox())?.height === height)
    const send = await page.getByRole('button', { name: 'Send' }).boundingBox()
    const isInside = send && send.x + send.width <= 390 && send.y + send.height <= height
    assert.ok(isInside, 'the send button is inside the panel')
    await assertAccessible(page)
  }
  await page.getByRole('button', { name: 'Send' }).press('Tab')
  assert.equal(await focused(page), 'close', 'the focus stays in the panel')
  await page.keyboard.press('Shift+Tab')
  assert.equal(await focused(page), 'send')
  await text.fill('hello')
  await page.getByLabel('Email').fill('ann@example.com')
  for (const name of ['', ' ']) {
    await page.getByLabel('Name').fill(name)
    await text.press('Enter')
    assert.equal(await page.locator('parley-chat .bubble').count(), 0, 'the name is required')
  }
  await page.getByLabel('Name').fill('Ann')
  await page.getByLabel('Email').press('Enter')
  await shown(page, 'hello')
  await page.getByLabel('Email').waitFor({ state: 'hidden' })
  const [conversation] = await until('the contact', async () => {
    const { data } = (await member.call('GET', '/conversations')).body
    return data.length > 0 && data
  })
  assert.deepEqual([conversation.contact.name, conversation.contact.email], ['Ann', 'ann@example.com'])

  // The refusal logs an error in the page's console, so it gets a browser context of its own.
  const context = await page.context().browser()?.newContext()
  const elsewhere = (await context?.newPage()) ?? assert.fail()
  t.after(() => context?.close())
  const other = await openShop(t, url, siteId)
  const refused = elsewhere.waitForEvent('requestfailed', (request) => /\/settings\?/.test(request.url()))
  await elsewhere.goto(other.url)
  await refused
  await elsewhere.locator('parley-chat').waitFor({ state: 'detached' })
})

test('the widget works without storage and without a stream, right to left and in dark mode', {
  skip,
}, async (t) => {
  const { window, shop, reply, storedTexts } = await openSite(t, { color: '#101010' }, 'lang="ar" dir="rtl"')
  const page = await window({ as: null, dark: true, width: 390, height: 700 })
  await page.addInitScript("Object.defineProperty(window, 'localStorage', { get() { throw new Error('blocked') } })")
  const refused = { status: 429, headers: { 'access-control-allow-origin': '*' } }
  await page.route('**/stream?*', (route) => route.fulfill(refused))
  // The service restarts while the page opens.
  let requests = 0
  await page.route('**/settings?*', (route) =>
    requests++ ? route.continue() : route.fulfill({ ...refused, status: 503 }),
  )
  await page.clock.install()
  await page.goto(shop.url)
  const { launcher, bubbles } = partsOf(page)
  await page.locator('parley-chat').waitFor({ state: 'detached' })
  await page.clock.fastForward(2_000)
  await launcher.click()
  await page.getByRole('dialog', { name: 'تحدث معنا' }).waitFor()
  const text = page.getByRole('textbox', { name: 'اكتب رسالة' })
  await text.fill('مرحبا')
  await text.press('Enter')
  await until('the message', async () => (await storedTexts()).length === 1)
  await reply('hello')
  await shown(page, 'مرحبا', 'hello')
  const box = await page.getByRole('dialog').boundingBox()
  assert.deepEqual([box?.x, box?.width], [0, 390])
  const edge = async (index: number) => (await bubbles.nth(index).boundingBox())?.x ?? 0
  assert.ok((await edge(0)) < (await edge(1)), 'own messages are on the left')
  assert.equal(await styleOf(page, '.row:not(.own) .bubble', 'direction'), 'ltr')
  assert.equal(await styleOf(page, '.own .bubble', 'direction'), 'rtl')
  await assertAccessible(page)
})

test('the widget is one small script that any site may load, cached for minutes and revalidated', async (t) => {
  const { url, connect } = await start(t, {
    pages: true,
    demoSite: async (db) =>
      (await db<{ id: string }[]>`select id from channel_connections where channel = 'web'`)[0]?.id,
  })
  const answer = await fetch(`${url}/widget.js`)
  const script = await answer.text()
  assert.ok(gzipSync(script).length < 14 * 1024, `${gzipSync(script).length} bytes`)
  assert.doesNotMatch(script, /innerHTML|\beval\(|new Function|^(?:var|let|const) |document\.write/)
  assert.match(answer.headers.get('content-type') ?? '', /^text\/javascript/)
  assert.match(answer.headers.get('cache-control') ?? '', /^public, max-age=\d{1,3}$/)
  assert.equal(answer.headers.get('cross-origin-resource-policy'), 'cross-origin')
  const etag = answer.headers.get('etag') ?? ''
  const again = await fetch(`${url}/widget.js`, { headers: { 'if-none-match': etag } })
  assert.deepEqual([again.status, await again.text()], [304, ''])

  const { id } = (await connect()).connections.web
  const demo = await fetch(`${url}/widget-demo`)
  assert.match(await demo.text(), new RegExp(`<script src="/widget.js" data-site="${id}" async></script>`))
  assert.doesNotMatch(demo.headers.get('content-security-policy') ?? '', /unsafe|\*/)
  const { url: plain } = await start(t, { pages: true })
  assert.equal((await fetch(`${plain}/widget-demo`)).status, 404)
})

test('the widget has the colors of the kit and the icons of lucide', async () => {
  const css = readFileSync('widget/src/widget.css', 'utf8')
  const tokens = readFileSync('ui/tokens.css', 'utf8')
  const values = Map.groupBy(css.matchAll(/^ +(--[\w-]+): (#\w+) !important;$/gm), ([, name]) => name)
  assert.ok(values.size >= 9)
  for (const [name, [light, dark] = []] of values)
    assert.ok(tokens.includes(`${name}: light-dark(${light?.[2]}, ${dark?.[2]});`), name)

  const { paths }: Json = await import(new URL('../widget/src/dom.ts', import.meta.url).href)
  for (const [name, drawn] of Object.entries<string[]>(paths)) {
    const icon = readFileSync(`node_modules/lucide-react/dist/esm/icons/${name}.mjs`, 'utf8')
    const paths = [...icon.matchAll(/\bd: "([^"]+)"/g)].map(([, d]) => d)
    assert.deepEqual(paths, drawn)
  }
})

test('only http and https URLs in a text become links', () => {
  const linksOf = (text: string) => findLinks(text).flatMap(({ href }) => href ?? [])
  for (const [text, links] of [
    [
      'see https://a.test/x, (http://b.test) or HTTPS://C.test/(y).',
      ['https://a.test/x', 'http://b.test/', 'https://c.test/(y)'],
    ],
    ['javascript:alert(1) data:text/html,x ftp://a.test //a.test a.test', []],
    ['https:// http://[x http://"onclick=', []],
    ['https://a.test/"onmouseover="x', ['https://a.test/']],
  ] as const) {
    assert.deepEqual(linksOf(text), links, text)
    const parts = findLinks(text).map((part) => part.text)
    assert.equal(parts.join(''), text)
  }
})

test('formatting marks at the edges of words are shown as in the messaging app', () => {
  const tagged = (text: string) =>
    findMarks(text)
      .map((part) => (part.tag ? `<${part.tag} ${part.text}>` : part.text))
      .join('')
  for (const [text, shown] of [
    ['*bold* _it_ ~no~ `x`', '<strong bold> <em it> <s no> <code x>'],
    ['2*3*4 snake_case_name', '2*3*4 snake_case_name'],
    ['* not * and *', '* not * and *'],
    ['(*yes*)', '(<strong yes>)'],
    ['*one\ntwo*', '*one\ntwo*'],
  ] as const) {
    assert.equal(tagged(text), shown)
  }
})

test('text on the accent color is readable for every color', () => {
  assert.deepEqual(['#ffffff', '#ffd400', '#5442dc', '#000000', '#777777'].map(readableOn), [
    ...['#000000', '#000000', '#ffffff', '#ffffff', '#000000'],
  ])
})

test('after a gap in the stream the thread restarts with the replayed messages and lists the rest from the cursor', async (t) => {
  const message = (id: string) => ({
    ...{ id, direction: 'inbound', content_text: id, media_url: null, status: 'received', deleted_at: null },
    created_at: new Date().toISOString(),
  })
  const source: Json = Object.assign(new EventTarget(), { close() {}, readyState: 1 })
  const cursors: (string | undefined)[] = []
  const api = {
    openStream: () => source,
    listMessages: async (_token: string, cursor?: string) => {
      cursors.push(cursor)
      return { ok: true, data: [message('3')], nextCursor: null }
    },
  }
  const state = { token: 'token', queue: [] }
  const store = { read: () => state, update: () => state, onExternalChange() {} }
  const globals = { document: Object.assign(new EventTarget(), { hidden: false }), addEventListener() {} }
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true })
    t.after(() => Reflect.deleteProperty(globalThis, name))
  }
  // Imported by URL: this file is type-checked without the DOM types.
  const { createChat }: Json = await import(new URL('../widget/src/chat.ts', import.meta.url).href)
  const chat = createChat({ api, store, onChange() {}, onReply() {} })
  t.after(chat.stop)
  const shown = () => chat.view().messages.map(({ text }: Json) => text)
  chat.start()
  source.onmessage(new MessageEvent('message', { data: JSON.stringify(message('1')) }))
  assert.deepEqual(shown(), ['1'])
  source.dispatchEvent(new MessageEvent('gap', { data: '{"next_cursor":"older than 4"}' }))
  source.onmessage(new MessageEvent('message', { data: JSON.stringify(message('4')) }))
  assert.deepEqual([shown(), chat.view().hasEarlier], [['4'], true])
  await chat.loadEarlier()
  assert.deepEqual([shown(), cursors], [['3', '4'], ['older than 4']])
})
