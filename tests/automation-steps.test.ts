/** Automations: changes and silence as triggers, the steps that change something, what ends a run, and the guards. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signatureOf } from '../common/webhook-request.ts'
import { assertBadRequest, dataOf } from './assertions.ts'
import { note, say, startAutomated, text } from './automated.ts'
import { setPlan } from './internals.ts'
import { startReceiver } from './receiver.ts'
import { type Json, pluck, until } from './support.ts'

const phone = '+14155550100'

test('every event of a conversation and of a contact starts its automation, once', async (t) => {
  const { api, ask, converse, publish, untilEnded, runsOf, settle } = await startAutomated(t)
  const me = (await ask('GET', '/session')).data.member.id
  const conversation = await converse(phone)
  const { id, contact_id } = conversation
  const events: [trigger: Json, cause: () => Promise<unknown>][] = [
    [{ type: 'conversation', event: 'closed' }, () => api.patch(`/conversations/${id}`, { status: 'closed' })],
    [{ type: 'conversation', event: 'opened' }, () => api.patch(`/conversations/${id}`, { status: 'open' })],
    [{ type: 'conversation', event: 'assigned' }, () => api.patch(`/conversations/${id}`, { assigned_agent_id: me })],
    [
      { type: 'conversation', event: 'label_added', label: 'vip' },
      () => api.patch(`/conversations/${id}`, { labels: ['VIP', 'Other'] }),
    ],
    [
      { type: 'conversation', event: 'label_removed', label: 'VIP' },
      () => api.patch(`/conversations/${id}`, { labels: ['Other'] }),
    ],
    [{ type: 'contact', event: 'created' }, () => api.post('/contacts', { phone: '+14155550777', name: 'New' })],
    [
      { type: 'contact', event: 'tag_added', tag: 'Gold' },
      () => api.patch(`/contacts/${contact_id}`, { add_tags: ['gold', 'silver'] }),
    ],
    [
      { type: 'contact', event: 'tag_removed', tag: 'gold' },
      () => api.patch(`/contacts/${contact_id}`, { remove_tags: ['Gold'] }),
    ],
    [
      { type: 'contact', event: 'attribute_changed', attribute: 'plan' },
      () => api.patch(`/contacts/${contact_id}`, { attributes: { plan: 'pro', city: 'Rome' } }),
    ],
  ]
  const ids: string[] = []
  for (const [i, [trigger]] of events.entries()) {
    ids.push(await publish(`Event ${i}`, { trigger, steps: [note(`event ${i}`)] }))
  }
  for (const [, cause] of events) {
    await cause()
    await settle()
  }
  for (const [i, automation] of ids.entries()) {
    const runs = await untilEnded(automation)
    assert.deepEqual([runs.length, runs[0]?.reason], [1, 'finished'], JSON.stringify(events[i]?.[0]))
  }
  // The same values again change nothing.
  await api.patch(`/contacts/${contact_id}`, { attributes: { plan: 'pro' }, add_tags: ['silver'] })
  await api.patch(`/conversations/${id}`, { status: 'open', labels: ['Other'] })
  await settle()
  for (const automation of ids) assert.equal((await runsOf(automation)).length, 1)
})

test('silence of the customer, of the team and the end of the window start an automation once', async (t) => {
  const { api, ask, db, converse, publish, untilEnded, runsOf } = await startAutomated(t)
  const waiting = await converse('+14155550101')
  const replied = await converse('+14155550102')
  const ending = await converse('+14155550103')
  await ask('POST', `/conversations/${replied.id}/messages`, { text: 'Any news?' }, 201)
  await ask('POST', `/conversations/${ending.id}/messages`, { text: 'Any news?' }, 201)
  const silent = (event: string, after: string) => ({
    trigger: { type: 'silence', event, after },
    steps: [note(event)],
  })
  const ids = {
    waiting: await publish('Waiting', silent('waiting', '1h')),
    no_reply: await publish('No reply', silent('no_reply', '2h')),
    window_ends: await publish('Window', silent('window_ends', '3h')),
  }
  // The conversations are a day older, and the automations were last checked before their time came.
  const age = (id: string, column: string, hours: number) =>
    db`update conversations set ${db(column)} = now() - make_interval(hours => ${hours}) - interval '1 minute' where workspace_id = ${api.workspaceId} and id = ${id}`
  await age(waiting.id, 'waiting_since', 1)
  await db`update conversations set inbox_at = now() - interval '121 minutes', last_received_at = now() - interval '150 minutes' where id = ${replied.id}`
  await age(ending.id, 'last_inbound_at', 21)
  await db`update automations set checked_until = now() - interval '10 minutes' where workspace_id = ${api.workspaceId}`
  const expected = { waiting: waiting.id, no_reply: replied.id, window_ends: ending.id }
  for (const [event, id] of Object.entries(ids)) {
    const runs = await untilEnded(id)
    assert.deepEqual(
      runs.map(({ conversation_id }) => conversation_id),
      [expected[event as keyof typeof expected]],
      event,
    )
  }
  await db`update automations set checked_until = now() - interval '10 minutes' where workspace_id = ${api.workspaceId}`
  await until('another check', async () => {
    const rows =
      await db`select from automations where workspace_id = ${api.workspaceId} and checked_until < now() - interval '5 minutes'`
    return rows.length === 0
  })
  for (const id of Object.values(ids)) assert.equal((await runsOf(id)).length, 1)
})

test('silence starts an automation in every conversation whose time comes in the same moment', async (t) => {
  const { api, db, publish } = await startAutomated(t)
  const count = 450
  const trigger = { type: 'silence', event: 'no_reply', after: '2h' }
  const id = await publish('No reply', { trigger, steps: [note('silent')] })
  // As when many snoozed conversations are opened by one statement: the same time, to the microsecond.
  await db`
    with people as (
      insert into contacts (workspace_id, id, phone, name, name_key, created_at, updated_at)
      select ${api.workspaceId}, uuidv7(), '+1415557' || lpad(i::text, 4, '0'), 'Person', 'person', now(), now()
      from generate_series(1, ${count}::int) as i
      returning workspace_id, id
    )
    insert into conversations (workspace_id, id, contact_id, channel, connection_id, status, inbox_at, last_received_at, last_inbound_at,
      created_at, updated_at)
    select p.workspace_id, p.id, p.id, 'msgapp', k.id, 'open', date_trunc('milliseconds', now()) - interval '121 minutes 999 microseconds',
      now() - interval '150 minutes', now() - interval '150 minutes', now(), now()
    from people p
    join channel_connections k on k.workspace_id = p.workspace_id and k.channel = 'msgapp'`
  await db`update automations set checked_until = now() - interval '10 minutes' where workspace_id = ${api.workspaceId}`
  const started = await until('a check that goes on after them', async () => {
    const [row] = await db<{ runs: number }[]>`
      select (select count(*)::int from automation_runs r where r.automation_id = a.id) as runs from automations a
      where a.workspace_id = ${api.workspaceId} and a.id = ${id} and a.checked_until > now() - interval '30 seconds'`
    return row
  })
  assert.equal(started.runs, count)
})

test('a macro is started by hand on several conversations, once per request', async (t) => {
  const { api, ask, converse, publish, untilEnded } = await startAutomated(t)
  const one = await converse('+14155550101')
  const other = await converse('+14155550102')
  const id = await publish('Macro', { trigger: { type: 'manual' }, steps: [say('Started by hand.')] })
  const body = { conversation_ids: [one.id, other.id, '00000000-0000-7000-8000-000000000000'] }
  const started = (await ask('POST', `/automations/${id}/runs`, body, 201)).data
  assert.deepEqual(
    started.map(({ error }: Json) => error),
    [null, null, 'conversation not found'],
  )
  const runs = await untilEnded(id, 2)
  assert.deepEqual(
    runs.map(({ reason }) => reason),
    ['finished', 'finished'],
  )
  const message = await publish('Other', { trigger: { type: 'message' }, steps: [say('no')] })
  assertBadRequest(await api.post(`/automations/${message}/runs`, body), /another trigger than manual/)
})

test('a run sets tags, labels, attributes, status and assignee, and calls a URL with a signature', async (t) => {
  const world = await startAutomated(t)
  const { api, ask, converse, publish, untilEnded, notesOf } = world
  const me = (await ask('GET', '/session')).data.member.id
  const receiver = await startReceiver(t)
  receiver.answers((response) => response.end(JSON.stringify({ status: 'shipped', items: 2 })))
  const { id } = await converse(phone)
  const automation = await publish('Everything', {
    trigger: { type: 'manual' },
    steps: [
      { type: 'call', url: receiver.url, save_as: 'answers.order' },
      {
        type: 'set',
        add_tags: ['Bot'],
        add_labels: ['Seen'],
        attributes: { order: '{{answers.order.status}}' },
        status: 'pending',
        assigned_agent_id: me,
      },
      note('{{contact.name}}: {{answers.order.items}} items'),
      {
        type: 'branch',
        cases: [
          {
            when: {
              match: 'all',
              rules: [
                { field: 'answers.order.status', op: 'is', value: 'shipped' },
                { field: 'tag', op: 'has', value: 'bot' },
              ],
            },
            steps: [say('On its way.')],
          },
        ],
        otherwise: [say('No.')],
      },
    ],
  })
  const { secret } = dataOf(await api.post(`/automations/${automation}/rotate-secret`))
  await api.post(`/automations/${automation}/runs`, { conversation_ids: [id] })
  const [run] = await untilEnded(automation)
  assert.equal(run?.reason, 'finished', run?.error)
  const [called] = receiver.received
  const [, time = '', signature] = /^t=(\d+),v1=(\w+)$/.exec(String(called?.headers['x-service-signature'])) ?? []
  assert.equal(signature, signatureOf(secret, Number(time), called?.raw ?? ''))
  const event: Json = called?.body ?? {}
  assert.deepEqual([event.run.id, event.contact.name, event.conversation_id], [run?.id, 'Ann', id])
  const conversation = dataOf(await api.get(`/conversations/${id}`))
  assert.deepEqual(
    [conversation.status, conversation.assigned_agent_id, conversation.labels[0].name],
    ['pending', me, 'Seen'],
  )
  const contact = dataOf(await api.get(`/contacts/${run?.contact_id}`))
  assert.deepEqual([contact.attributes, contact.tags[0].name], [{ order: 'shipped' }, 'Bot'])
  const [added] = await notesOf(id)
  assert.deepEqual([added?.text, added?.author.type, added?.author.name], ['Ann: 2 items', 'automation', 'Everything'])
  assert.deepEqual(await world.textsTo(phone), ['On its way.'])
})

test('a run assigns a team, reads it in conditions, and fails for a team that was deleted', async (t) => {
  const { api, ask, publish, untilEnded, converse, notesOf } = await startAutomated(t)
  const createTeam = async (name: string): Promise<string> => (await ask('POST', '/teams', { name }, 201)).data.id
  const [sales, support] = [await createTeam('Sales'), await createTeam('Support')]
  const { id } = await converse(phone)
  const start = (automation: string) => api.post(`/automations/${automation}/runs`, { conversation_ids: [id] })
  const isTeam = (op: string, value?: string) => ({ match: 'all', rules: [{ field: 'team', op, value }] })
  const automation = await publish('Route', {
    trigger: { type: 'manual' },
    conditions: isTeam('is_not_set'),
    steps: [
      { type: 'set', assigned_team_id: sales.toUpperCase() },
      {
        type: 'branch',
        cases: [
          { when: isTeam('is_not', sales), steps: [note('not sales')] },
          { when: isTeam('is', sales), steps: [note('sales'), { type: 'hand_over', assigned_team_id: support }] },
        ],
      },
    ],
  })
  await start(automation)
  const [run] = await untilEnded(automation)
  assert.equal(run?.reason, 'handed_over', run?.error)
  assert.deepEqual(pluck(await notesOf(id), 'text'), ['sales'])
  assert.equal(dataOf(await api.get(`/conversations/${id}`)).assigned_team_id, support)
  const timeline = (await ask('GET', `/conversations/${id}/timeline`)).data
  assert.deepEqual(
    timeline.filter(({ kind }: Json) => kind === 'assigned').map(({ details }: Json) => details.team.name),
    ['Support', 'Sales'],
  )

  const leave = await publish('Leave', {
    trigger: { type: 'manual' },
    steps: [{ type: 'set', assigned_team_id: null }],
  })
  await start(leave)
  await untilEnded(leave)
  assert.equal(dataOf(await api.get(`/conversations/${id}`)).assigned_team_id, null)

  await ask('DELETE', `/teams/${sales}`)
  await start(automation)
  const [failed] = await untilEnded(automation, 2)
  assert.deepEqual([failed?.reason, failed?.error], ['failed', 'assigned_team_id: not a team of this workspace'])
})

test('a refused send, a closed window and a used-up plan lead to the error steps, or to the team with a note', async (t) => {
  const { api, db, provider, converse, publish, untilEnded, notesOf, textsTo } = await startAutomated(t)
  const start = (id: string, conversation: string) =>
    api.post(`/automations/${id}/runs`, { conversation_ids: [conversation] })
  const plain = await publish('Plain', { trigger: { type: 'manual' }, steps: [say('Hello.'), say('Never.')] })
  const prepared = await publish('Prepared', {
    trigger: { type: 'manual' },
    steps: [say('Hello.', { on_error: [note('error')] }), note('after')],
  })
  const one = await converse('+14155550101')
  await api.patch(`/conversations/${one.id}`, { status: 'closed' })
  await provider.fault({ to: '+14155550101', mode: 'reject', code: 131026 })
  await start(plain, one.id)
  const [refused] = await untilEnded(plain)
  assert.equal(refused?.reason, 'failed')
  const after = dataOf(await api.get(`/conversations/${one.id}`))
  assert.deepEqual([after.status, after.assigned_agent_id, after.handled_by], ['open', null, 'team'])
  assert.match((await notesOf(one.id))[0]?.text, /^The automation "Plain" stopped: 131026/)

  const two = await converse('+14155550102')
  await db`update conversations set last_inbound_at = now() - interval '25 hours' where workspace_id = ${api.workspaceId} and id = ${two.id}`
  await start(plain, two.id)
  await until('the note', async () => (await notesOf(two.id))[0]?.text.includes('24-hour window'))

  const three = await converse('+14155550103')
  await setPlan(db, api.workspaceId, { messages_per_month: 0, state: 'active' })
  await start(prepared, three.id)
  const [handled] = await untilEnded(prepared)
  assert.equal(handled?.reason, 'finished')
  assert.deepEqual(
    (await notesOf(three.id)).map((one: Json) => one.text),
    ['after', 'error'],
  )
  assert.deepEqual(await textsTo('+14155550103'), [])
})

test('opting out, erasing and merging end or move a run', async (t) => {
  const { api, ask, provider, converse, publish, runsOf, untilEnded, untilWaiting, makeDue, textsTo } =
    await startAutomated(t)
  const question = { type: 'ask', message: text('Your name?'), answer: { type: 'text' }, save_as: 'answers.name' }
  const id = await publish('Ask', {
    trigger: { type: 'message', contains: ['start'] },
    steps: [question, say('Thanks {{answers.name}}.')],
  })
  await provider.writes({ from: phone, text: 'start' })
  await untilWaiting(id)
  await provider.writes({ from: phone, text: 'STOP' })
  const [stopped] = await untilEnded(id)
  assert.equal(stopped?.reason, 'opted_out')

  await provider.writes({ from: '+14155550102', text: 'start' })
  const erased = await untilWaiting(id)
  await ask('DELETE', `/contacts/${erased.contact_id}`)
  assert.ok(!(await runsOf(id)).some((run) => run.id === erased.id))

  const stays = await converse('+14155550104')
  await provider.writes({ from: '+14155550103', text: 'start' })
  const moved = await untilWaiting(id)
  dataOf(await api.post(`/contacts/${stays.contact_id}/merge`, { contact_id: moved.contact_id }))
  const followed = (await runsOf(id)).find((run) => run.id === moved.id)
  assert.deepEqual([followed?.contact_id, followed?.conversation_id], [stays.contact_id, stays.id])
  assert.equal(dataOf(await api.get(`/conversations/${stays.id}`)).handled_by, 'bot')
  await provider.writes({ from: '+14155550103', text: 'Robin' })
  await until('the answer', async () => (await textsTo('+14155550103')).at(-1) === 'Thanks Robin.')

  // The customer does not answer: the conversation is the team's again.
  await provider.writes({ from: '+14155550105', text: 'start' })
  const silent = await untilWaiting(id)
  await makeDue(id)
  await until('the end', async () => (await runsOf(id)).find((run) => run.id === silent.id)?.reason === 'timeout')
  assert.equal(dataOf(await api.get(`/conversations/${silent.conversation_id}`)).handled_by, 'team')
})

test('a new version changes new runs only; pausing stops new runs and, if asked, open ones', async (t) => {
  const { api, ask, provider, publish, runsOf, untilWaiting, textsTo } = await startAutomated(t)
  const flow = (word: string) => ({
    trigger: { type: 'message', contains: ['go'] },
    steps: [
      { type: 'ask', message: text(`${word}?`), answer: { type: 'text' }, save_as: 'answers.x' },
      say(`${word} done.`),
    ],
  })
  const id = await publish('Flow', flow('old'))
  await provider.writes({ from: '+14155550101', text: 'go' })
  await untilWaiting(id)
  await ask('PUT', `/automations/${id}/draft`, flow('new'))
  assert.equal(dataOf(await api.post(`/automations/${id}/publish`)).version, 2)
  await provider.writes({ from: '+14155550102', text: 'go' })
  await until('the new question', async () => (await textsTo('+14155550102'))[0] === 'new?')
  await provider.writes({ from: '+14155550101', text: 'yes' })
  await until('the old end', async () => (await textsTo('+14155550101')).at(-1) === 'old done.')
  dataOf(await api.post(`/automations/${id}/pause`, {}))
  await provider.writes({ from: '+14155550103', text: 'go' })
  await provider.writes({ from: '+14155550102', text: 'yes' })
  await until('the new end', async () => (await textsTo('+14155550102')).at(-1) === 'new done.')
  assert.deepEqual(await textsTo('+14155550103'), [])
  dataOf(await api.post(`/automations/${id}/publish`))
  await provider.writes({ from: '+14155550104', text: 'go' })
  const open = await untilWaiting(id)
  dataOf(await api.post(`/automations/${id}/pause`, { end_runs: true }))
  assert.equal((await runsOf(id)).find((run) => run.id === open.id)?.reason, 'paused')
  assert.equal(dataOf(await api.get(`/conversations/${open.conversation_id}`)).handled_by, 'team')
})

test('two bots that answer each other stop at 25 messages, and automations that cause one another at five', async (t) => {
  const { api, provider, publish, runsOf, untilEnded, textsTo, notesOf, converse } = await startAutomated(t)
  const echo = await publish('Echo', { trigger: { type: 'message' }, steps: [say('beep')] })
  for (let i = 0; i < 27; i++) {
    await provider.writes({ from: phone, text: `beep ${i}` })
    await untilEnded(echo, i + 1)
  }
  assert.equal((await textsTo(phone)).length, 25)
  const runs = await runsOf(echo)
  assert.deepEqual([runs[0]?.reason, runs[2]?.reason], ['limit_messages', 'finished'])
  assert.match((await notesOf(runs[0]?.conversation_id))[0]?.text, /25 messages/)
  await api.post(`/automations/${echo}/pause`, {})

  const tags = ['a', 'b']
  const chain = await Promise.all(
    tags.map((tag, i) =>
      publish(`Tag ${tag}`, {
        trigger: { type: 'contact', event: 'tag_added', tag },
        steps: [
          { type: 'set', remove_tags: [tag] },
          { type: 'set', add_tags: [tags[1 - i]] },
        ],
      }),
    ),
  )
  const { contact_id } = await converse('+14155550109')
  await api.patch(`/contacts/${contact_id}`, { add_tags: ['a'] })
  const all = await until('the chain to end', async () => {
    const found = (await Promise.all(chain.map(runsOf))).flat()
    return found.some(({ reason }) => reason === 'limit_chain') && found
  })
  assert.equal(all.filter(({ reason }) => reason === 'finished').length, 5)
})

test('a run removes labels and tags, unassigns, snoozes, and hands over to a member with a note of the answers', async (t) => {
  const { api, ask, provider, publish, untilEnded, untilWaiting, converse, notesOf } = await startAutomated(t)
  const me = (await ask('GET', '/session')).data.member.id
  const { id, contact_id } = await converse(phone)
  await api.patch(`/conversations/${id}`, { labels: ['New', 'Kept'], assigned_agent_id: me })
  await api.patch(`/contacts/${contact_id}`, { add_tags: ['Lead', 'VIP'], attributes: { plan: 'pro', city: 'Rome' } })
  const question = { type: 'ask', message: text('Which day?'), answer: { type: 'date' }, save_as: 'answers.day' }
  const automation = await publish('Change', {
    trigger: { type: 'manual' },
    steps: [
      {
        ...{ type: 'set', snooze_for: '2h', assigned_agent_id: null, remove_labels: ['new'], remove_tags: ['lead'] },
        attributes: { plan: null },
      },
      question,
      { type: 'hand_over', assigned_agent_id: me, note: 'Call {{contact.name}}.' },
    ],
  })
  await api.post(`/automations/${automation}/runs`, { conversation_ids: [id] })
  await untilWaiting(automation)
  const changed = (await ask('GET', `/conversations/${id}`)).data
  assert.deepEqual([changed.status, changed.assigned_agent_id, changed.handled_by], ['pending', null, 'bot'])
  assert.ok(Date.parse(changed.snoozed_until) > Date.now() + 7_100_000, changed.snoozed_until)
  assert.deepEqual(pluck(changed.labels, 'name'), ['Kept'])
  const contact = dataOf(await api.get(`/contacts/${contact_id}`))
  assert.deepEqual([pluck(contact.tags, 'name'), contact.attributes], [['VIP'], { city: 'Rome' }])
  await api.patch(`/conversations/${id}`, { status: 'closed' })
  await provider.writes({ from: phone, text: '31.12.2026' })
  const [run] = await untilEnded(automation)
  assert.equal(run?.reason, 'handed_over')
  const handed = dataOf(await api.get(`/conversations/${id}`))
  assert.deepEqual([handed.status, handed.assigned_agent_id, handed.handled_by], ['open', me, 'team'])
  assert.equal((await notesOf(id))[0]?.text, 'Call Ann.\n\nday: 2026-12-31')
})
