/** The queue of a team as visitors of the web chat and members see it: the position, and the expected time. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { times } from '../common/times.ts'
import { dataOf } from './assertions.ts'
import { createMember, type Json, main, signIn, start, until } from './support.ts'

const origin = 'https://shop.test'

type Visitor = {
  conversationId: string
  says(text: string): Promise<Json>
  /** Opens the stream of a widget in this language, at this process. */
  follow(language?: string, url?: string): Promise<Stream>
}
type Stream = { lines(): unknown[]; line(): unknown; events(): string[] }

/** A site that a team serves, and the workspace's owner. */
async function startQueue(t: TestContext) {
  const world = await start(t, {
    times: { ...times, webChat: { ...times.webChat, queue: { ...times.webChat.queue, pauseMs: 50 } } },
  })
  const siteId = (await world.connect()).connections.web.id
  const lead = await signIn(world)
  const body = { name: 'Support', connection_ids: [siteId] }
  const team = dataOf(await lead.call('POST', '/teams', body), 201)
  const site = (url = world.url) => `${url}/web-chat/${siteId}`
  const post = async (path: string, body: Json, token = '') => {
    const headers = { origin, 'content-type': 'application/json', 'x-visitor-token': token }
    const response = await fetch(`${site()}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    assert.equal(response.status, 201)
    return ((await response.json()) as Json).data
  }
  const visit = async (): Promise<Visitor> => {
    const { visitor_token: token } = await post('/visitors', {})
    const says: Visitor['says'] = (text) => post('/messages', { text }, token)
    const { conversation_id } = await says('Hello?')
    const follow: Visitor['follow'] = (language, url) => {
      const query = new URLSearchParams({ token, ...(language ? { language } : {}) })
      return openStream(t, `${site(url)}/stream?${query}`)
    }
    return { conversationId: conversation_id, says, follow }
  }
  const change = async ({ conversationId }: Visitor, changes: Json) =>
    dataOf(await lead.call('PATCH', `/conversations/${conversationId}`, changes))
  const placeOf = async ({ conversationId }: Visitor): Promise<number | null> =>
    dataOf(await lead.call('GET', `/conversations/${conversationId}/queue`))?.position ?? null
  return { ...world, lead, team, visit, change, placeOf }
}

async function openStream(t: TestContext, url: string): Promise<Stream> {
  const abort = new AbortController()
  t.after(() => abort.abort())
  const response = await fetch(url, { headers: { origin }, signal: abort.signal })
  assert.equal(response.status, 200)
  const received: { event: string; data: Json }[] = []
  const read = async () => {
    let text = ''
    for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const blocks = (text + part).split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const [, event = '', data = ''] = /^event: (.*)\ndata: (.*)$/m.exec(block) ?? []
        if (event) received.push({ event, data: JSON.parse(data) })
      }
    }
  }
  read().catch(() => {})
  const lines = () => received.filter(({ event }) => event === 'queue').map(({ data }) => data)
  return { lines, line: () => lines().at(-1)?.text, events: () => received.map(({ event }) => event) }
}

const untilLine = (stream: Stream, line: string | null) =>
  until(
    () => `the line ${line} instead of ${stream.line()}`,
    async () => stream.line() === line,
  )

test(
  'visitors in the queue of a team see their own position, which follows every change in every process',
  main,
  async (t) => {
    const { twin, lead, visit, change, placeOf } = await startQueue(t)
    const [one, two, three] = [await visit(), await visit(), await visit()]
    const first = await one.follow('en')
    const second = await two.follow('de')
    const third = await three.follow('en', await twin())
    await untilLine(first, 'You are first in the queue.')
    await untilLine(second, 'Sie sind an 2. Stelle der Warteschlange.')
    await untilLine(third, 'You are third in the queue.')
    assert.deepEqual(await Promise.all([placeOf(one), placeOf(two), placeOf(three)]), [1, 2, 3])

    // A member takes the first one.
    const { id } = await createMember(lead, 'agent', { name: 'Ana' })
    await change(one, { assigned_agent_id: id })
    await untilLine(first, null)
    await untilLine(second, 'Sie sind an 1. Stelle der Warteschlange.')
    await untilLine(third, 'You are second in the queue.')
    assert.equal(await placeOf(one), null)
    // A member replies to the second one, whose visitor waits no more.
    dataOf(await lead.call('POST', `/conversations/${two.conversationId}/messages`, { text: 'Yes?' }), 201)
    await untilLine(second, null)
    await untilLine(third, 'You are first in the queue.')
    await two.says('One more question')
    await untilLine(second, 'Sie sind an 2. Stelle der Warteschlange.')
    // Snoozed, then closed.
    await change(three, { snoozed_until: new Date(Date.now() + 3_600_000).toISOString() })
    await untilLine(third, null)
    await untilLine(second, 'Sie sind an 1. Stelle der Warteschlange.')
    await change(two, { status: 'closed' })
    await untilLine(second, null)
    // Returned, then without a team.
    await change(one, { assigned_agent_id: null })
    await one.says('Still there?')
    await untilLine(first, 'You are first in the queue.')
    await change(one, { assigned_team_id: null })
    await untilLine(first, null)

    // Nothing but the line, each once, and nothing of other conversations.
    const lines = first.lines()
    assert.deepEqual(lines, [
      { text: 'You are first in the queue.' },
      { text: null },
      { text: 'You are first in the queue.' },
      { text: null },
    ])
    assert.deepEqual(new Set(third.events()), new Set(['queue']))
  },
)

test('the position is that of the order in which a policy assigns', async (t) => {
  const { db, api, lead, team, visit, placeOf } = await startQueue(t)
  const visitors = [await visit(), await visit(), await visit()]
  const [late, middle, early] = visitors
  for (const [minutes, { conversationId }] of visitors.entries()) {
    await db`
      update conversations set waiting_since = waiting_since - make_interval(mins => ${minutes})
      where workspace_id = ${api.workspaceId} and id = ${conversationId}`
  }
  assert.deepEqual(await Promise.all(visitors.map(placeOf)), [3, 2, 1])
  const ana = await createMember(lead, 'agent')
  await lead.ask('PATCH', `/teams/${team.id}`, { member_ids: [ana.id] })
  await lead.ask('PATCH', `/assignment/teams/${team.id}`, { policy: 'round_robin' })
  await lead.ask('PATCH', `/assignment/members/${ana.id}`, { capacity: 1 })
  await ana.ask('PUT', '/availability', { state: 'available' })
  assert.ok(late && middle && early)
  await until('the first one to be assigned', async () => (await placeOf(early)) === null)
  assert.deepEqual([await placeOf(middle), await placeOf(late)], [1, 2])
})

test('a visitor without a team gets no line, and a script of an earlier version nothing at all', async (t) => {
  const { lead, team, visit } = await startQueue(t)
  const visitor = await visit()
  const early = await visitor.follow()
  await lead.ask('PATCH', `/teams/${team.id}`, { connection_ids: [] })
  const other = await visit()
  const stream = await other.follow('en')
  await untilLine(stream, null)
  assert.deepEqual(stream.lines(), [{ text: null }])
  await visitor.says('marker')
  await until('the marker', async () => early.events().includes('message'))
  assert.deepEqual(early.lines(), [])
})

test('the expected time is that of the last hour, for the position; unknown or closed, only the position is shown', async (t) => {
  const { db, api, lead, team, visit, change, twin } = await startQueue(t)
  const { id } = await createMember(lead, 'agent')
  const takenMinutesAgo = async (minutes: number) => {
    const taken = await visit()
    await change(taken, { assigned_agent_id: id })
    // Waited 100 seconds.
    await db`
      update episodes set opened_at = now() - make_interval(mins => ${minutes}, secs => 100),
        first_assigned_at = now() - make_interval(mins => ${minutes})
      where workspace_id = ${api.workspaceId} and conversation_id = ${taken.conversationId}`
  }
  await takenMinutesAgo(5)
  await takenMinutesAgo(10)
  // Before the last hour.
  await takenMinutesAgo(61)
  const first = await (await visit()).follow('en')
  await untilLine(first, 'You are first in the queue.')

  // Another process has not read the pace yet.
  await takenMinutesAgo(15)
  await visit()
  const third = await (await visit()).follow('en', await twin())
  await untilLine(third, 'You are third in the queue. Expected wait: about 6 minutes.')
  const closed = { name: 'Never', time_zone: 'UTC', periods: [], team_ids: [team.id] }
  await lead.ask('POST', '/schedules', closed, 201)
  const late = await (await visit()).follow('fr', await twin())
  await untilLine(late, 'Votre place dans la file d’attente : 4.')
})
