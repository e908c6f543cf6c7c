/**
 * kill -9 at the worst moment of each engine: the service as a real process, the channel as another one. Whatever the channel accepted
 * is in the database once and gets its outcome; nothing is sent twice, and nothing is lost. `tests/installation` has more kills.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nowhere, startPrograms } from './crashing.ts'
import { createImporter } from './importing.ts'
import { pastId } from './internals.ts'
import { type Received, startReceiver } from './receiver.ts'
import { createBrowser, file, pluck, until } from './support.ts'

const hello = { type: 'template', template: { name: 'hello_world' } }

/** Claims of a dead process end after a quarter of their time. With less, a busy machine would not kill it in time. */
const programs = startPrograms(file, { env: { PARLEY_TEST_TIME_DIVISOR: '4' } })

test('killed during a send: a message the channel accepted is settled by its reports, any other stays pending, and no retry sends twice', async () => {
  const { simulator, services, workspace } = await programs
  const [service] = services
  const { provider, reportTo, newKey, post, listOutbound } = await workspace()
  const [taken, lost, early] = ['+14155550101', '+14155550102', '+14155550103']
  const key = await newKey()
  // The template is cached first, so that only the send is in flight.
  assert.equal((await post(key, 'first', { to: '+14155550100', ...hello }))?.status, 201)
  await reportTo(nowhere)
  await provider.fault({ to: taken, mode: 'delay', delay_ms: 60_000 })
  await provider.fault({ to: early, mode: 'delay', delay_ms: 60_000 })
  await provider.fault({ to: lost, mode: 'hang' })
  const sendOnce = (name: string, to: string) => post(key, name, { to, ...hello })
  const waiting = [sendOnce('taken', taken), sendOnce('early', early), sendOnce('lost', lost)]
  await until('the channel to hold them', async () => {
    const rows = await listOutbound()
    const held = [...(await provider.sent(taken)), ...(await provider.sent(early))]
    return rows.length === 4 && held.length === 2
  })

  await service.kill()

  assert.deepEqual(await Promise.all(waiting), [undefined, undefined, undefined])
  const pending = (await listOutbound()).filter(({ phone }) => [taken, early, lost].includes(phone))
  assert.deepEqual(pluck(pending, 'status', 'external_id'), [
    ['pending', null],
    ['pending', null],
    ['pending', null],
  ])
  // The channel dies as well, and remembers.
  await simulator.kill()
  await Promise.all([simulator.start(), service.start()])
  const [accepted, ...more] = await provider.sent(taken)
  assert.equal(more.length, 0)
  const beforeReports = sendOnce('early', early)
  const neverTaken = sendOnce('lost', lost)
  await reportTo(service.url)

  const rowOf = async (to: string) => (await listOutbound()).find(({ phone }) => phone === to)
  const settled = await until('the reports', async () => {
    const row = await rowOf(taken)
    return row?.status === 'read' && row
  })
  assert.equal(settled.external_id, accepted?.message_id)
  assert.equal(accepted?.body.biz_opaque_callback_data, settled.id)
  // The repeat that began before the reports knows the outcome only if they came within its timeout.
  assert.ok([201, 502].includes((await beforeReports)?.status ?? 0))
  const repeated = await sendOnce('taken', taken)
  assert.deepEqual(
    [repeated?.status, repeated?.body.data?.message_id, repeated?.body.data?.msgapp_message_id],
    [201, settled.id, settled.external_id],
    JSON.stringify(repeated),
  )
  const unknown = await neverTaken
  assert.deepEqual([unknown?.status, unknown?.body.error?.code], [502, 'platform_error'], JSON.stringify(unknown))
  assert.equal((await rowOf(lost))?.status, 'pending')
  const sentCounts = await Promise.all([taken, early, lost].map(async (to) => (await provider.sent(to)).length))
  assert.deepEqual(sentCounts, [1, 1, 0])
  assert.equal((await listOutbound()).length, 4)
})

test('killed twice during a broadcast: each recipient is sent to at most once, and the counters agree with the channel', async () => {
  const { db, services, workspace } = await programs
  const [service] = services
  const { id: workspaceId, provider, reportTo, parley } = await workspace({ messagesPerSecond: 100 })
  const phones = Array.from({ length: 250 }, (_, i) => `+1415557${1_000 + i}`)
  // At any moment dozens are accepted but not answered, and no report arrives before the end.
  await provider.fault({ mode: 'delay', delay_ms: 400 })
  await reportTo(nowhere)
  const recipients = phones.map((to) => ({ to }))
  const { id } = await parley.broadcasts.create({ name: 'Crash', template: { name: 'hello_world' }, recipients })
  const handedOver = async () => {
    const [row] = await db<{ position: number }[]>`
      select position from broadcasts where workspace_id = ${workspaceId} and id = ${id}`
    return row?.position ?? 0
  }
  let before = 0
  for (let kills = 0; kills < 2; kills++) {
    await until('some more to be in flight', async () => (await handedOver()) > before + 10)
    await service.kill()
    before = await handedOver()
    assert.ok(before < phones.length, `it was over before kill ${kills + 1}`)
    await service.start()
  }
  await provider.control('DELETE', '/faults')
  await reportTo(service.url)
  await until('all recipients to be handed over', async () => (await handedOver()) === phones.length)
  const { sent, rows } = await until('the reports', async () => {
    const sent = await provider.sent()
    const taken = new Set(sent.map(({ to }) => to))
    const rows = await db<{ phone: string; status: string; attempt_count: number }[]>`
      select phone, status, attempt_count from broadcast_recipients
      where workspace_id = ${workspaceId} and broadcast_id = ${id}`
    // A kill may have come between a recipient and the channel; no other one stays without an outcome.
    const lost = new Set(phones.slice(0, before).filter((phone) => !taken.has(phone)))
    return rows.every(({ phone, status }) => status === (lost.has(phone) ? 'sending' : 'read')) && { sent, rows }
  })
  assert.equal(new Set(sent.map(({ to }) => to)).size, sent.length, 'no recipient got it twice')
  const attempts = rows.map(({ phone, attempt_count }) => `${phone} ${attempt_count}`)
  const once = phones.map((phone) => `${phone} 1`)
  assert.deepEqual(attempts.sort(), once)
  const { total_count, sent_count, read_count, failed_count, skipped_count } = await parley.broadcasts.get(id)
  const counts = [total_count, sent_count, read_count, failed_count, skipped_count]
  assert.deepEqual(counts, [phones.length, sent.length, sent.length, 0, 0])
})

test('killed while scheduled messages are sent: each is sent at most once, and those that were not begun are sent after the start', async () => {
  const { db, services, workspace } = await programs
  const [service] = services
  const { id: workspaceId, provider, reportTo, parley, listOutbound } = await workspace()
  const phones = ['+14155550121', '+14155550122', '+14155550123', '+14155550124'] as const
  const [taken, lost, claimed, waiting] = phones
  const ids: Record<string, string> = {}
  for (const from of phones) await provider.writes({ from, text: 'hello' })
  const send_at = new Date(Date.now() + 3_600_000).toISOString()
  for await (const { id, contact } of parley.conversations.list()) {
    const scheduled = await parley.conversations.schedule(id, { text: `to ${contact.phone}`, send_at })
    ids[contact.phone ?? ''] = scheduled.id
  }
  const makeDue = (...due: string[]) => db`
    update scheduled_messages set due_at = now()
    where workspace_id = ${workspaceId} and id in ${db(due.map((phone) => ids[phone] ?? ''))}`
  const stateOf = async (phone: string) => {
    const [row] = await db<{ state: string; error: string | null; message_id: string }[]>`
      select state, error, message_id from scheduled_messages where workspace_id = ${workspaceId} and id = ${ids[phone] ?? ''}`
    return row
  }
  await reportTo(nowhere)
  await provider.fault({ to: taken, mode: 'delay', delay_ms: 60_000 })
  await provider.fault({ to: lost, mode: 'hang' })
  await makeDue(taken, lost)
  await until('the channel to hold them', async () => {
    const rows = await listOutbound()
    return rows.length === 2 && (await provider.sent(taken)).length === 1
  })

  await service.kill()

  for (const phone of [taken, lost]) assert.equal((await stateOf(phone))?.state, 'sending')
  // As if the process had been killed right after the claim: the row has the id of a message that was never written.
  const messageId = pastId(Date.now())
  await db`
    update scheduled_messages set state = 'sending', message_id = ${messageId}, attempt_count = 1
    where workspace_id = ${workspaceId} and id = ${ids[claimed] ?? ''}`
  await makeDue(claimed, waiting)
  await service.start()
  for (const phone of [claimed, waiting])
    await until('the messages that were not begun', async () => (await stateOf(phone))?.state === 'sent')
  assert.equal((await stateOf(claimed))?.message_id, messageId)
  // A worker has asked for the outcome of the other two, and sent neither of them again.
  await until('the next attempt', async () => (await stateOf(lost))?.error && (await stateOf(taken))?.error)
  await reportTo(service.url)
  await until('the reports', async () => (await stateOf(taken))?.state === 'sent')
  const { state, error } = (await stateOf(lost)) ?? {}
  assert.equal(state, 'sending')
  assert.match(error ?? '', /not known yet, so it is not sent again/)
  const sentCounts = await Promise.all(phones.map(async (to) => (await provider.sent(to)).length))
  assert.deepEqual(sentCounts, [1, 0, 1, 1])
  assert.equal((await listOutbound()).length, phones.length)
})

test('killed with webhooks in flight: the next process delivers them, only those arrive twice, and nothing is lost', async (t) => {
  const { services, workspace } = await programs
  const [service] = services
  const { parley } = await workspace()
  const receiver = await startReceiver(t)
  const nameOf = ({ body }: Received): string => body.data.contact_id
  const held: Received[] = []
  receiver.answers((_, one) => held.push(one))
  await parley.webhooks.create({ url: receiver.url, events: ['contact.created'] })
  const ids: string[] = []
  // At once, because an attempt ends after five seconds: the first must still be in flight when the service is killed.
  const create = (from: number, to: number) =>
    Promise.all(
      Array.from({ length: to - from }, async (_, i) =>
        ids.push((await parley.contacts.create({ phone: `+1415558${1_000 + from + i}` })).id),
      ),
    )
  await create(0, 20)
  await until('posts in flight', async () => held.length > 10)
  await create(20, 25)
  await service.kill()
  const inFlight = new Set(held.map(nameOf))
  receiver.answers(200)
  await service.start()
  await until('all of them', async () => {
    const answered = receiver.received.filter((one) => !held.includes(one)).map(nameOf)
    return ids.every((id) => answered.includes(id))
  })
  const counts = new Map<string, number>()
  for (const one of receiver.received) counts.set(nameOf(one), (counts.get(nameOf(one)) ?? 0) + 1)
  assert.deepEqual([...counts.keys()].sort(), ids.sort())
  const repeated = [...counts].filter(([id, count]) => count > 1 && !inFlight.has(id))
  assert.deepEqual(repeated, [], 'only deliveries in flight arrive twice')
})

test('killed while two contacts are merged: no message is lost, and the next start completes the merge', async () => {
  const { db, services, workspace } = await programs
  const [service] = services
  const { id: workspaceId, owner, provider } = await workspace()
  const [kept, gone] = ['+14155550110', '+14155550111']
  for (const from of [kept, gone]) await provider.writes({ from, text: 'hello' })
  const readThread = async (phone: string) => {
    const [row] = await db<{ id: string; contact_id: string; count: number }[]>`
      select v.id, v.contact_id, (select count(*)::int from messages m where m.conversation_id = v.id) as count
      from conversations v join contacts c on c.id = v.contact_id
      where v.workspace_id = ${workspaceId} and c.phone = ${phone}`
    return row ?? { id: '', contact_id: '', count: 0 }
  }
  const [to, from] = [await readThread(kept), await readThread(gone)]
  const historySize = 10_000
  const firstMs = Date.now() - 300 * 86_400_000
  const ids = Array.from({ length: historySize }, (_, i) => pastId(firstMs + i * 60_000))
  await db`
    insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text, status, created_at)
    select ${workspaceId}, ${from.id}, h.id, 'inbound', 'customer', 'text', 'old', 'received',
      now() + make_interval(days => -300, mins => n::int)
    from unnest(${ids}::uuid[]) with ordinality h (id, n)`
  const browser = createBrowser(service.url, service.url)
  assert.equal((await browser.signIn(owner)).status, 200)
  const merging = browser.call('POST', `/contacts/${to.contact_id}/merge`, { contact_id: from.contact_id })
  const isOver = merging.then(
    () => true,
    () => false,
  )
  await until('the first messages to move', async () => (await readThread(kept)).count > 500)
  await service.kill()
  assert.equal(await isOver, false)
  const counts = [(await readThread(kept)).count, (await readThread(gone)).count]
  assert.ok(counts.every((count) => count > 1))
  const total = counts.reduce((sum, count) => sum + count)
  assert.equal(total, historySize + 2)

  await service.start()
  await provider.writes({ from: gone, text: 'in between' })
  await until('the merge', async () => (await readThread(gone)).id === '')
  assert.equal((await readThread(kept)).count, historySize + 3)
  assert.equal((await db`select from contact_merges where workspace_id = ${workspaceId}`).length, 0)
})

test('killed twice during an import: every row is imported exactly once, with one event, and undone to what was before', async () => {
  const { db, services, workspace } = await programs
  const [service] = services
  const { id: workspaceId, owner } = await workspace()
  const browser = createBrowser(service.url, service.url)
  await browser.signIn(owner)
  const { accept, settle, importFile } = createImporter(browser)
  const known = Array.from({ length: 500 }, (_, i) => `+1212${5_000_000 + 80 * i},Known ${i},,old\n`)
  await importFile(`phone,name,email,tags\n${known.join('')}`)
  /** The rows of contacts, identities and tags of contacts, without the time of the last change. */
  const rowsNow = async () => {
    const found = await db<{ row: string }[]>`
      select 'contact ' || (to_jsonb(c) - 'updated_at')::text as row from contacts c where workspace_id = ${workspaceId}
      union all
      select 'identity ' || to_jsonb(i)::text from contact_identities i where workspace_id = ${workspaceId}
      union all
      select 'tag ' || to_jsonb(t)::text from contact_tags t where workspace_id = ${workspaceId}
      order by row`
    return pluck(found, 'row')
  }
  const rowsBefore = await rowsNow()
  // As an open stream does, so that events are recorded.
  await db`
    insert into webhook_listeners (workspace_id, id, events, expires_at)
    values (${workspaceId}, gen_random_uuid(), ${['contact.created']}, now() + interval '1 hour')`
  const count = 40_000
  const rows = Array.from({ length: count }, (_, i) => `+1212${5_000_000 + i},N${i},n${i}@example.com,all;t${i % 7}\n`)
  const { id, mapping } = await accept(`phone,name,email,tags\n${rows.join('')}`)
  await browser.ask('POST', `/imports/${id}/check`, { mapping })
  const { check } = await settle(id)
  assert.deepEqual([check.created, check.changed], [count - known.length, known.length])
  await browser.ask('POST', `/imports/${id}/start`)
  const rowsDone = async () => {
    const [row] = await db<{ rows_done: number }[]>`
      select rows_done from contact_imports where workspace_id = ${workspaceId} and id = ${id}`
    return row?.rows_done ?? 0
  }
  let before = 0
  for (let kills = 0; kills < 2; kills++) {
    await until('some more rows', async () => (await rowsDone()) > before)
    await service.kill()
    before = await rowsDone()
    assert.ok(before < count, `it was over before kill ${kills + 1}`)
    await service.start()
  }
  const done = await settle(id)
  assert.deepEqual([done.state, done.result], ['done', done.check], done.error)
  const counts = async () => {
    const [found] = await db<Record<string, number>[]>`
      select (select count(*)::int from contacts where workspace_id = ${workspaceId}) as contacts,
        (select count(*)::int from contact_identities where workspace_id = ${workspaceId}) as identities,
        (select count(*)::int from contact_tags where workspace_id = ${workspaceId}) as tags,
        (select count(*)::int from webhook_events where workspace_id = ${workspaceId}) as events`
    return { ...found }
  }
  assert.deepEqual(await counts(), {
    ...{ contacts: count, identities: count, tags: 2 * count + known.length, events: count - known.length },
  })

  await browser.ask('POST', `/imports/${id}/undo`)
  await until('some contacts to be erased', async () => (await rowsDone()) > 0)
  await service.kill()
  await service.start()
  const undone = await settle(id)
  const outcome = { erased: count - known.length, restored: known.length, kept: 0 }
  assert.deepEqual([undone.state, undone.undo], ['undone', outcome], undone.error)
  assert.deepEqual(await rowsNow(), rowsBefore)
})

test('killed again and again: every step of an automation takes effect once, and no run stays behind', async () => {
  const { db, services, workspace } = await programs
  const [service] = services
  const { id: workspaceId, provider, parley } = await workspace()
  const say = (text: string) => ({ type: 'send', message: { type: 'text', text } })
  const steps = [
    say('one'),
    { type: 'set', add_tags: ['bot'] },
    say('two'),
    { type: 'note', text: 'noted' },
    say('three'),
  ]
  const definition = { trigger: { type: 'message', contains: ['go'] }, steps }
  const { id } = await parley.automations.create({ name: 'Three', definition })
  await parley.automations.publish(id)
  const phones = Array.from({ length: 60 }, (_, i) => `+1415557${String(i).padStart(4, '0')}`)
  const started = phones.map((from) => provider.writes({ from, text: 'go' }).catch(() => undefined))
  await until('the first steps', async () => (await provider.sent()).length > 5)
  for (let kills = 0; kills < 3; kills++) {
    await service.kill()
    await service.start()
    const before = (await provider.sent()).length
    await until('more steps, or all', async () => (await provider.sent()).length > before || (await countOpen()) === 0)
  }
  async function countOpen(): Promise<number> {
    const [row] = await db<{ count: number }[]>`
      select (select count(*) from automation_runs where workspace_id = ${workspaceId} and state <> 'ended')::int
        + (select count(*) from automation_triggers where workspace_id = ${workspaceId})::int as count`
    return row?.count ?? 0
  }
  await Promise.all(started)
  await until('every run to end', async () => (await countOpen()) === 0)
  const [counted] = await db<{ runs: number; notes: number }[]>`
    select (select count(*) from automation_runs where workspace_id = ${workspaceId})::int as runs,
      (select count(*) from timeline_entries where workspace_id = ${workspaceId} and kind = 'note')::int as notes`
  // Callbacks that the service could not take while it was down started none.
  assert.ok(counted && counted.runs > 10 && counted.notes === counted.runs, JSON.stringify(counted))
  const sent = await provider.sent()
  for (const from of phones) {
    const texts = sent.filter(({ to }) => to === from.slice(1) || to === from).map(({ body }) => body.text.body)
    assert.equal(new Set(texts).size, texts.length, `${from}: ${texts}`)
  }
})

test('killed while a queue is assigned: no capacity is exceeded at any commit, and the next process assigns the rest', async () => {
  const { db, services, workspace } = await programs
  const [service] = services
  const { id: workspaceId, owner, provider, connections } = await workspace()
  const lead = createBrowser(service.url, service.url)
  await lead.signIn(owner)
  const [ownerRow] = await db<{ id: string }[]>`select id from members where workspace_id = ${workspaceId}`
  const ownerId = ownerRow?.id ?? assert.fail()
  const { data: team } = await lead.ask(
    'POST',
    '/teams',
    { name: 'Sales', member_ids: [ownerId], connection_ids: [connections.msgapp.id] },
    201,
  )
  // Every commit is checked, one after the other.
  await db.unsafe(`
    create table observed_loads (open int);
    create function observe_load() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock(4711);
      insert into observed_loads select count(*) from conversations
      where workspace_id = new.workspace_id and assigned_agent_id = new.assigned_agent_id and status = 'open';
      return null;
    end $$;
    create constraint trigger observe_load after update on conversations deferrable initially deferred
    for each row when (new.workspace_id = '${workspaceId}' and new.assigned_agent_id is not null) execute function observe_load()`)
  await lead.ask('PATCH', `/assignment/members/${ownerId}`, { capacity: 5 })
  await lead.ask('PATCH', `/assignment/teams/${team.id}`, { policy: 'fewest_open' })
  // Available for longer than the kills take.
  await db`
    update member_availability set state = 'available', seen_at = now() + interval '1 hour', input_at = now() + interval '1 hour'
    where workspace_id = ${workspaceId} and member_id = ${ownerId}`
  const count = 20
  for (let i = 0; i < count; i++)
    await provider.writes({ from: `+1415557${String(i).padStart(4, '0')}`, text: 'Hello?' })
  const openOf = () => db<{ id: string }[]>`
    select id from conversations where workspace_id = ${workspaceId} and assigned_agent_id = ${ownerId} and status = 'open'`
  for (let left = count, round = 0; left > 0; round++) {
    const open = await until('all capacity to be used', async () => {
      const rows = await openOf()
      return rows.length >= Math.min(5, left) && rows
    })
    left -= open.length
    // In half of the rounds, at another moment of the assignment that follows.
    const killed = round % 2 === 0 ? service.kill() : undefined
    await db`
      update conversations set status = 'closed' where workspace_id = ${workspaceId} and id = any(${pluck(open, 'id')}::uuid[])`
    await killed
    if (killed) await service.start()
  }
  const [observed] = await db<{ most: number }[]>`select max(open) as most from observed_loads`
  assert.equal(observed?.most, 5)
  await until('no requests', async () => {
    const requests = await db`select from assignment_requests where workspace_id = ${workspaceId}`
    return requests.length === 0
  })
})
