/**
 * Who sees what: a member who sees only some conversations finds nothing of the others. The table below has every call of members, with how
 * it is checked or why it shows nothing of conversations. A new call fails the test until it has a line here.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { assertBadRequest, assertRefused, assertStatus, dataOf, pluck } from './assertions.ts'
import { type Browser, createMember, type Member, signIn } from './browser.ts'
import { newId } from './internals.ts'
import { type Json, main, start, until, withProvider } from './support.ts'

/** In every text of the conversation that the members must not find. */
const secret = 'zebrafinch'
const phones = { foreign: '+14155550101', team: '+14155550102', own: '+14155550103', teamTaken: '+14155550104' }

type Foreign = {
  conversation: string
  contact: string
  message: string
  scheduled: string
  run: string
  automation: string
}
type Ids = Foreign & { visible: Json; broadcast: string }

/** The queries of a list, whose answers must have nothing foreign. */
type Check = { queries: (ids: Ids) => string[] } | { refused: (ids: Ids) => [path: string, body?: Json] } | string

const listed = (...queries: string[]): Check => ({ queries: () => queries })
const noConversations = (reason: string): Check => `shows no conversation: ${reason}`
const personal = noConversations('data of the member alone')
const settings = noConversations('settings of the workspace')
const figures = noConversations('totals of the workspace, without names or texts')
const ownFigures = noConversations('the member’s own figures')
const addressBook = noConversations('contacts are an address book that all members share')

/** All calls of members below `/conversations/{id}` are checked without a line: each must be 404. */
const checks: Record<string, Check> = {
  'GET /assignment/members': noConversations('how many conversations each member has'),
  'GET /assignment/teams': noConversations('how long the queue of each team is'),
  'GET /automation-runs/:id': { queries: ({ run }) => [`/automation-runs/${run}`] },
  'GET /automations': settings,
  'GET /automations/:id': settings,
  'POST /automations/:id/dry-run': { refused: ({ automation }) => [`/automations/${automation}/dry-run`, {}] },
  'GET /automations/:id/runs': { queries: ({ automation }) => [`/automations/${automation}/runs`] },
  'POST /automations/:id/runs': 'checked below: a foreign conversation is not found',
  'GET /automations/:id/versions': settings,
  'GET /automations/fields': settings,
  'GET /automations/macros': settings,
  'GET /availability': personal,
  'PUT /availability': personal,
  'POST /availability/input': personal,
  'GET /broadcasts': figures,
  'POST /broadcasts': noConversations('the new broadcast'),
  'DELETE /broadcasts/:id': noConversations('only its id'),
  'GET /broadcasts/:id': figures,
  'PATCH /broadcasts/:id': figures,
  'POST /broadcasts/:id/again': figures,
  'POST /broadcasts/:id/cancel': figures,
  'PATCH /broadcasts/:id/draft': figures,
  'POST /broadcasts/:id/pause': figures,
  'GET /broadcasts/:id/recipients': { queries: ({ broadcast }) => [`/broadcasts/${broadcast}/recipients`] },
  'POST /broadcasts/:id/resume': figures,
  'POST /broadcasts/:id/send': figures,
  'GET /broadcasts/:id/source': settings,
  'POST /broadcasts/:id/start': figures,
  'GET /broadcasts/:id/timeline': figures,
  'POST /broadcasts/drafts': settings,
  'GET /broadcasts/fields': settings,
  'POST /broadcasts/preview': addressBook,
  'POST /broadcasts/test': noConversations('the message that the member has just sent'),
  'GET /canned-replies': settings,
  'POST /canned-replies': settings,
  'DELETE /canned-replies/:id': settings,
  'PUT /canned-replies/:id': settings,
  'GET /channels': settings,
  'GET /channels/:id/widget': settings,
  'GET /channels/web/widget': settings,
  'GET /checklist': personal,
  'POST /checklist/dismiss': personal,
  'GET /contacts': {
    queries: ({ contact }) => ['/contacts', `/contacts?search=${secret}`, `/contacts?ids=${contact}`],
  },
  'POST /contacts': addressBook,
  'GET /contacts/:id': { queries: ({ contact }) => [`/contacts/${contact}`] },
  'PATCH /contacts/:id': addressBook,
  'POST /contacts/:id/conversations': 'checked below: a foreign conversation is refused',
  'GET /contacts/:id/duplicates': { queries: ({ contact }) => [`/contacts/${contact}/duplicates`] },
  'GET /contacts/:id/history': { queries: ({ contact }) => [`/contacts/${contact}/history`] },
  'POST /contacts/:id/merge': 'checked below: contacts with foreign conversations are refused',
  'GET /contacts/:id/notes': { queries: ({ contact }) => [`/contacts/${contact}/notes`] },
  'POST /contacts/:id/notes': 'checked below: 404',
  'DELETE /contacts/:id/notes/:note_id': 'checked below: 404',
  'GET /contacts/:id/ratings': { queries: ({ contact }) => [`/contacts/${contact}/ratings`] },
  'GET /contacts/:id/visit': { queries: ({ contact }) => [`/contacts/${contact}/visit`] },
  'GET /contacts/count': addressBook,
  'POST /contacts/tags': addressBook,
  'GET /conversations': {
    queries: ({ contact }) =>
      [
        ...['', '?status=open', '?sort=oldest', '?sort=waiting', '?unread=true', '?no_reply=true', '?handled_by=team'],
        ...['?assigned=nobody', '?team=nobody', '?waiting_minutes=1', '?label=Zebra', '?tag=Zebra', '?channel=msgapp'],
        ...[`?search=${encodeURIComponent('Foreign')}`, `?contact_id=${contact}`, '?active_days=7&limit=1'],
      ].map((query) => `/conversations${query}`),
  },
  'POST /conversations/bulk': 'checked below: a foreign conversation is not found',
  'GET /conversations/counts': 'checked below: counts only what the member sees',
  'GET /deliveries/:id': { refused: ({ message }) => [`/deliveries/${message}`] },
  'GET /drafts': listed('/drafts'),
  'GET /events': { refused: () => ['/events'] },
  'GET /events/:id': { refused: ({ message }) => [`/events/${message}`] },
  'GET /inbox/counts': 'checked below: counts only what the member sees',
  'GET /keys': settings,
  'GET /labels': settings,
  'POST /labels': settings,
  'PATCH /labels/:id': settings,
  'GET /labels/counts': 'checked below: counts only what the member sees',
  'GET /members': settings,
  'GET /mentions': listed('/mentions', '/mentions?unread=true'),
  'POST /mentions/read': noConversations('the number of the member’s own mentions'),
  'GET /notifications': 'checked below, with the stream',
  'GET /overview': { refused: () => ['/overview'] },
  'GET /preferences': personal,
  'PATCH /preferences': personal,
  'POST /presence': noConversations('whether the member’s own presence changed'),
  'PATCH /profile': personal,
  'DELETE /profile/second-factor': personal,
  'GET /profile/second-factor': personal,
  'POST /profile/second-factor': personal,
  'POST /profile/second-factor/confirm': personal,
  'POST /profile/second-factor/recovery-codes': personal,
  'GET /reports/:name': ownFigures,
  'GET /reports/:name/episodes': listed(
    ...['opened', 'waiting_now'].map((figure) => `/reports/overview/episodes?figure=${figure}`),
  ),
  'GET /reports/:name/table.csv': ownFigures,
  'GET /reports/availability': ownFigures,
  'GET /reports/availability/spans': ownFigures,
  'GET /reports/availability/table.csv': ownFigures,
  'GET /reports/satisfaction': ownFigures,
  'GET /reports/satisfaction/ratings': listed('/reports/satisfaction/ratings?figure=asked'),
  'GET /reports/satisfaction/table.csv': ownFigures,
  'GET /reports/targets': ownFigures,
  'GET /reports/targets/outcomes': listed(
    ...['met', 'missed'].map((figure) => `/reports/targets/outcomes?figure=${figure}`),
  ),
  'GET /reports/targets/table.csv': ownFigures,
  'GET /requests': { refused: () => ['/requests'] },
  'GET /requests/:id': { refused: ({ message }) => [`/requests/${message}`] },
  'GET /satisfaction': settings,
  'GET /schedules': settings,
  'DELETE /scheduled-messages/:id': 'checked below: 404',
  'GET /scheduled-messages/:id': 'checked below: 404',
  'PATCH /scheduled-messages/:id': 'checked below: 404',
  'POST /scheduled-messages/:id/send': 'checked below: 404',
  'GET /search': listed(`/search?q=${secret}`, `/search?q=${secret.slice(0, 4)}&limit=1`),
  'GET /search/notes': listed(`/search/notes?q=${secret}`),
  'GET /segments': addressBook,
  'POST /segments': addressBook,
  'DELETE /segments/:id': addressBook,
  'GET /segments/:id': addressBook,
  'PATCH /segments/:id': addressBook,
  'DELETE /segments/:id/contacts': addressBook,
  'GET /segments/:id/contacts': addressBook,
  'POST /segments/:id/contacts': addressBook,
  'POST /segments/count': addressBook,
  'GET /segments/fields': addressBook,
  'DELETE /session': personal,
  'GET /session': personal,
  'DELETE /sessions': personal,
  'GET /sessions': personal,
  'DELETE /sessions/:id': personal,
  'GET /stream': 'checked below',
  'GET /tags': addressBook,
  'DELETE /tags/:id': addressBook,
  'PATCH /tags/:id': addressBook,
  'GET /targets': settings,
  'GET /targets/fields': settings,
  'GET /teams': settings,
  'GET /templates': settings,
  'POST /templates/preview': settings,
  'POST /uploads': personal,
  'GET /views': settings,
  'POST /views': settings,
  'DELETE /views/:id': settings,
  'PATCH /views/:id': settings,
  'GET /webhooks': settings,
  'GET /webhooks/:id/deliveries': { refused: ({ message }) => [`/webhooks/${message}/deliveries`] },
  'GET /workspace': settings,
}

/** The calls that an agent or a viewer may make. */
function listCalls(): string[] {
  const routes = readFileSync('server/ROUTES.md', 'utf8').split('## Calls of the dashboard')[1] ?? ''
  return [...routes.matchAll(/^(\w+) +\/app\/api(\S+) +\S+ +(.+)$/gm)].flatMap(([, method, path, access = '']) =>
    /\b(member|writer|agent|viewer)\b/.test(access) ? [`${method} ${path}`] : [],
  )
}

const belowConversation = (call: string) => call.split(' ')[1]?.startsWith('/conversations/:id') === true

/** The texts that a member's stream receives. */
function openStream(t: TestContext, url: string, browser: Browser): { text(): string; isOpen(): boolean } {
  let text = ''
  let isOpen = true
  const headers = { cookie: browser.cookie() }
  const asking = request(`${url}/app/api/stream`, { headers, agent: false }, (response) => {
    response.setEncoding('utf8').on('data', (part) => (text += part))
    response.on('close', () => (isOpen = false)).on('error', () => {})
  })
  asking.on('error', () => {}).end()
  t.after(() => asking.destroy())
  return { text: () => text, isOpen: () => isOpen }
}

async function startRestricted(t: TestContext) {
  const world = await withProvider(start(t))
  const { provider, api, db } = world
  const owner = await signIn(world)
  const agent = await createMember(owner, 'agent')
  const other = await createMember(owner, 'agent', { name: 'Other Agent' })
  const viewer = await createMember(owner, 'viewer')
  const make = async (path: string, body: Json) => dataOf(await owner.call('POST', path, body), 201)
  const sales = await make('/teams', { name: 'Sales', member_ids: [agent.id, other.id] })
  const support = await make('/teams', { name: 'Support', member_ids: [other.id] })
  const find = async (name: string): Promise<Json> =>
    dataOf(await owner.call('GET', `/conversations?search=${encodeURIComponent(name)}`))[0]
  const write = async (from: string, name: string, text: string, change: Json) => {
    await provider.writes({ from, name, text })
    const conversation = await find(name)
    dataOf(await owner.call('PATCH', `/conversations/${conversation.id}`, change))
    return conversation
  }
  const hidden = { assigned_team_id: support.id, labels: ['Zebra'] }
  const foreign = await write(phones.foreign, 'Foreign Fay', `The ${secret} sings`, hidden)
  const team = await write(phones.team, 'Team Tom', 'hello from the team', { assigned_team_id: sales.id })
  const own = await write(phones.own, 'Own Olga', 'hello to the agent', { assigned_agent_id: agent.id })
  const taken = await write(phones.teamTaken, 'Taken Tim', 'hello to the other', {
    ...{ assigned_team_id: sales.id, assigned_agent_id: other.id },
  })
  const path = `/conversations/${foreign.id}`
  await make(`${path}/messages`, { text: `Our ${secret} answers` })
  await make(`${path}/notes`, { text: `A ${secret} for @you`, mentions: [agent.id, viewer.id] })
  await make(`/contacts/${foreign.contact_id}/notes`, { text: `Feeds a ${secret}` })
  await db`
    insert into ratings (workspace_id, message_id, episode_id, conversation_id, contact_id, state, asked_at, rating, rated_at, comment,
      created_at)
    select workspace_id, ${newId()}, episode_id, id, contact_id, 'rated', now(), 2, now(), ${`A ${secret} rates`}, now()
    from conversations where workspace_id = ${api.workspaceId} and id = ${foreign.id}`
  const later = { text: `The ${secret} later`, send_at: new Date(Date.now() + 3_600_000).toISOString() }
  const scheduled = await make(`${path}/scheduled-messages`, later)
  const definition = { trigger: { type: 'manual' }, steps: [{ type: 'note', text: `${secret} step` }] }
  // The definition is the automation's, and all members may read it.
  definition.steps = [{ type: 'note', text: 'a step' }]
  const automation = await make('/automations', { name: 'By hand', definition })
  dataOf(await owner.call('POST', `/automations/${automation.id}/publish`, {}))
  const [run] = await make(`/automations/${automation.id}/runs`, { conversation_ids: [foreign.id] })
  const news = { name: 'News', template: { name: 'hello_world' }, recipients: [{ to: phones.foreign }] }
  const broadcast = dataOf(await api.post('/broadcasts', news), 202)
  await until('the index of messages and the broadcast', async () => {
    const [left] = await db<{ is_done: boolean }[]>`
      select (select count(*) from message_words where workspace_id = ${api.workspaceId}) >= 6
        and (select status = 'sent' from broadcasts where id = ${broadcast.id}) as is_done`
    return left?.is_done
  })
  const [message] = dataOf(await owner.call('GET', `${path}/messages`))
  const ids: Ids = {
    ...{ conversation: foreign.id, contact: foreign.contact_id, message: message.id, scheduled: scheduled.id },
    ...{ run: run.run_id, automation: automation.id, broadcast: broadcast.id, visible: { team, own, taken } },
  }
  const restrict = async (change: Json) => dataOf(await owner.call('PATCH', '/workspace', change))
  return { ...world, owner, agent, other, viewer, sales, support, ids, restrict, write }
}

const assertBlind = (text: string, { conversation, scheduled }: Foreign, call: string) => {
  for (const word of [secret, conversation, scheduled])
    assert.ok(!text.includes(word), `${call} shows ${word}: ${text}`)
}

test('every call of members is in the table', () => {
  const calls = listCalls()
  assert.ok(calls.length > 100, `${calls.length}`)
  assert.deepEqual(
    calls.filter((call) => !belowConversation(call) && !(call in checks)),
    [],
    'add a line to the table of this test: how it is checked, or why it shows nothing of conversations',
  )
  assert.deepEqual(
    Object.keys(checks).filter((call) => !calls.includes(call)),
    [],
  )
})

test('a restricted agent or viewer finds nothing foreign in any call', main, async (t) => {
  const world = await startRestricted(t)
  const { owner, agent, viewer, ids, restrict } = world
  const names = async (member: Member, query = '') =>
    pluck(pluck(dataOf(await member.call('GET', `/conversations${query}`)), 'contact'), 'name').sort()
  assert.equal((await names(agent)).length, 4)
  for (const [member, role, sees, expected] of [
    [agent, 'agents_see', 'teams', ['Own Olga', 'Taken Tim', 'Team Tom']],
    [agent, 'agents_see', 'own', ['Own Olga', 'Team Tom']],
    [viewer, 'viewers_see', 'teams', []],
    [viewer, 'viewers_see', 'own', []],
  ] as const) {
    await restrict({ [role]: sees })
    assert.equal(dataOf(await member.call('GET', '/session')).sees, sees)
    const all = [...expected]
    for (const query of ['', '?status=open', '?sort=waiting', '?sort=oldest', '?channel=msgapp', '?no_reply=true']) {
      assert.deepEqual(await names(member, query), all, `${role} ${sees} ${query}`)
    }
    assert.deepEqual(await names(member, '?search=hello'), [])
    assert.deepEqual(
      await names(member, '?team=nobody'),
      all.filter((name) => name === 'Own Olga'),
    )
    assert.deepEqual(
      await names(member, `?team=${world.sales.id},${world.support.id}`),
      all.filter((name) => name !== 'Own Olga'),
    )
    const counts = dataOf(await member.call('GET', '/conversations/counts'))
    const mine = member === agent ? 1 : 0
    assert.deepEqual([counts.open, counts.mine], [all.length, mine])
    assert.equal(counts.unassigned, all.includes('Team Tom') ? 1 : 0)
    const sidebar = dataOf(await member.call('GET', '/inbox/counts'))
    assert.deepEqual(sidebar.labels, [])
    assert.equal(
      sidebar.teams.find(({ id }: Json) => id === world.support.id),
      undefined,
    )
    const labels = dataOf(await member.call('GET', '/labels/counts'))
    assert.deepEqual(pluck(labels, 'conversation_count'), [0])
    await walk(member, ids)
  }
  // Owners, and members of other roles, still see all.
  assert.equal((await names(owner)).length, 4)
  await restrict({ agents_see: 'all' })
  assert.equal((await names(agent)).length, 4)
})

/** Makes every call of the table, and every call below the foreign conversation. */
async function walk(member: Member, ids: Ids): Promise<void> {
  for (const call of listCalls()) {
    const [method = '', path = ''] = call.split(' ')
    if (belowConversation(call)) {
      const target = path.replace(':id', ids.conversation).replace(':note_id', ids.message)
      const body = method === 'GET' || method === 'DELETE' ? undefined : bodyOf(path)
      const answer = await member.call(method, target, body)
      // A viewer is refused before.
      assert.ok([403, 404].includes(answer.status), `${call}: ${answer.status} ${answer.text}`)
      if (method === 'GET') assert.equal(answer.status, 404, call)
      assertBlind(answer.text, ids, call)
      continue
    }
    const check = checks[call]
    if (check === undefined || typeof check === 'string') continue
    if ('refused' in check) {
      const [target, body] = check.refused(ids)
      assertRefused(await member.call(method, target, body), 403, 'forbidden')
      continue
    }
    for (const query of check.queries(ids)) {
      const answer = await member.call(method, query)
      assert.ok([200, 404].includes(answer.status), `${query}: ${answer.text}`)
      assertBlind(answer.text, ids, query)
    }
  }
}

const bodyOf = (path: string): Json =>
  ({
    '/conversations/:id': { status: 'closed' },
    '/conversations/:id/draft': { text: 'x' },
    '/conversations/:id/messages': { text: 'x' },
    '/conversations/:id/notes': { text: 'x' },
    '/conversations/:id/scheduled-messages': { text: 'x', send_at: new Date(Date.now() + 3_600_000).toISOString() },
    '/conversations/:id/templates/preview': { name: 'hello_world' },
  })[path] ?? {}

test('a restricted agent changes nothing foreign, and gets the conversations that the agent starts', async (t) => {
  const { agent, owner, ids, restrict } = await startRestricted(t)
  await restrict({ agents_see: 'own' })
  const { conversation, contact, visible } = ids
  const change = { ids: [conversation, visible.team.id], status: 'closed' }
  const [refused, done] = dataOf(await agent.call('POST', '/conversations/bulk', change))
  assert.deepEqual([refused.id, refused.error.code, done.id], [conversation, 'not_found', visible.team.id])
  assert.equal(dataOf(await owner.call('GET', `/conversations/${conversation}`)).status, 'open')
  const start = { conversation_ids: [conversation] }
  const [run] = dataOf(await agent.call('POST', `/automations/${ids.automation}/runs`, start), 201)
  assert.deepEqual([run.run_id, run.error], [null, 'conversation not found'])
  for (const [method, path, body] of [
    ['GET', `/scheduled-messages/${ids.scheduled}`],
    ['PATCH', `/scheduled-messages/${ids.scheduled}`, { text: 'x' }],
    ['DELETE', `/scheduled-messages/${ids.scheduled}`],
    ['POST', `/scheduled-messages/${ids.scheduled}/send`, {}],
    ['POST', `/contacts/${contact}/notes`, { text: 'x' }],
    ['DELETE', `/contacts/${contact}/notes/${ids.message}`],
  ] as const) {
    assertRefused(await agent.call(method, path, body), 404, 'not_found')
  }
  const merge = { contact_id: contact }
  assertRefused(await agent.call('POST', `/contacts/${visible.own.contact_id}/merge`, merge), 403, 'forbidden')
  const template = { template: { name: 'hello_world' } }
  assertRefused(await agent.call('POST', `/contacts/${contact}/conversations`, template), 403, 'forbidden')
  const person = dataOf(await agent.call('POST', '/contacts', { phone: '+14155550199', name: 'New Nora' }), 201)
  const started = dataOf(await agent.call('POST', `/contacts/${person.id}/conversations`, template), 201)
  const row = dataOf(await agent.call('GET', `/conversations/${started.conversation_id}`))
  assert.equal(row.assigned_agent_id, agent.id)
  // A conversation that the member passes on is gone afterwards.
  const passed = await agent.call('PATCH', `/conversations/${row.id}`, { assigned_agent_id: null })
  assertStatus(passed, 200)
  assertRefused(await agent.call('GET', `/conversations/${row.id}`), 404, 'not_found')
  assertBadRequest(await owner.call('PATCH', '/workspace', { agents_see: 'some' }), /agents_see/)
})

test('streams and notifications of a restricted agent have nothing foreign, and begin again when the setting changes', async (t) => {
  const { url, provider, agent, owner, ids, restrict, support } = await startRestricted(t)
  const unrestricted = openStream(t, url, agent)
  await until('the stream', () => unrestricted.text().includes('event: ready'))
  await restrict({ agents_see: 'teams' })
  await until('the end of the stream', () => !unrestricted.isOpen())
  const stream = openStream(t, url, agent)
  await until('the stream', () => stream.text().includes('event: presence'))
  const { cursor } = dataOf(await agent.call('GET', '/notifications'))
  const page = { page_id: 'a'.repeat(32), conversation_id: ids.conversation, typing: 'reply', state: 'open' }
  dataOf(await owner.call('POST', '/presence', page))
  const mention = { text: `Another ${secret}`, mentions: [agent.id] }
  dataOf(await owner.call('POST', `/conversations/${ids.conversation}/notes`, mention), 201)
  await provider.writes({ from: phones.foreign, text: `One more ${secret}` })
  await provider.writes({ from: phones.own, text: 'the marker' })
  await until('the marker', () => stream.text().includes('the marker'))
  dataOf(await owner.call('POST', '/presence', { ...page, conversation_id: ids.visible.own.id }))
  await until('the presence', () =>
    stream.text().includes(`"conversation_id":"${ids.visible.own.id}","typing":"reply"`),
  )
  assert.ok(!stream.text().includes(secret), stream.text())
  assert.ok(!stream.text().includes('Foreign Fay'))
  assert.ok(!stream.text().includes(`"conversation_id":"${ids.conversation}"`))
  const { items } = dataOf(await agent.call('GET', `/notifications?after=${cursor}`))
  const notified = pluck(items, 'conversation_id')
  assert.deepEqual([notified.includes(ids.visible.own.id), notified.includes(ids.conversation)], [true, false])
  // What becomes foreign leaves the open pages.
  const moved = { assigned_team_id: support.id, assigned_agent_id: null }
  dataOf(await owner.call('PATCH', `/conversations/${ids.visible.own.id}`, moved))
  await until('the removal', () => stream.text().includes(`"removed":["${ids.visible.own.id}"]`))
})
