/** The past episodes, which the loop `episode-history` writes after the upgrade from messages and timeline. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holdTransaction, untilWaiting } from './database.ts'
import { isMerging, newId, pastId, writeChunk } from './internals.ts'
import { type Json, startSignedIn, until, withProvider } from './support.ts'

const alone = 'it resets the position of the loop that writes the past episodes of all workspaces'
const dayMs = 86_400_000

type Event = { id: string; at: number; kind: 'received' | 'reply' | 'bot' | 'close' | 'reopen' | 'customer_reopens' }

/** A random history of weeks: a conversation is closed and reopened now and then. */
function generate(random: () => number, startMs: number): Event[] {
  const events: Event[] = []
  let at = startMs
  let isClosed = false
  const add = (kind: Event['kind']) => {
    at += 1 + Math.floor(random() * (random() < 0.2 ? 2 * dayMs : 600_000))
    events.push({ id: pastId(at), at, kind })
  }
  for (let i = 0; i < 30; i++) {
    const choice = random()
    if (choice < 0.45) {
      if (isClosed) add('customer_reopens')
      add('received')
      isClosed = false
    } else if (choice < 0.65) add('reply')
    else if (choice < 0.75) add('bot')
    else if (choice < 0.9 && !isClosed) {
      add('close')
      isClosed = true
    } else if (isClosed) {
      add('reopen')
      isClosed = false
    }
  }
  return events
}

/** An independent count: the history is cut at its closings, and pieces that a member continues within a day are joined. */
function recount(events: readonly Event[]): Json[] {
  const pieces: { events: Event[]; closedAt: number | null; isJoined: boolean }[] = []
  let rest = [...events]
  let previous: number | null = null
  while (rest.length > 0) {
    const end = rest.findIndex(({ kind }) => kind === 'close')
    const part = end === -1 ? rest : rest.slice(0, end)
    const closedAt = end === -1 ? null : (rest[end]?.at ?? null)
    // Replies into a closed conversation count nowhere.
    const start = previous === null ? 0 : part.findIndex(({ kind }) => kind === 'reopen' || kind === 'customer_reopens')
    const live = start === -1 ? [] : part.slice(start)
    const first = live[0]
    const isJoined = first?.kind === 'reopen' && previous !== null && first.at - previous < dayMs && pieces.length > 0
    const counted = live.filter(({ kind }) => kind === 'received' || kind === 'reply')
    const last = pieces.at(-1)
    if (isJoined && last) {
      last.events.push(...counted)
      last.closedAt = start === -1 ? last.closedAt : closedAt
      previous = closedAt
    } else {
      if (counted.length > 0) {
        pieces.push({ events: counted, closedAt, isJoined: false })
        previous = closedAt
      } else if (closedAt !== null) {
        // Closed without a message: the closing before it stays the last one of an episode.
        previous = pieces.at(-1)?.closedAt ?? Number.NEGATIVE_INFINITY
      }
    }
    rest = end === -1 ? [] : rest.slice(end + 1)
  }
  return pieces.map(({ events: own, closedAt }, i) => {
    const before = pieces[i - 1]
    const first = own[0]
    const reply = own.find(({ kind }) => kind === 'reply')
    return {
      id: first?.id,
      opened_by: first?.kind === 'received' ? 'customer' : 'member',
      customer_messages: own.filter(({ kind }) => kind === 'received').length,
      replies: own.filter(({ kind }) => kind === 'reply').length,
      first_reply_at: reply ? new Date(reply.at).toISOString() : null,
      closed_at: closedAt === null ? null : new Date(closedAt).toISOString(),
      reopened_from:
        before && before.closedAt !== null && (first?.at ?? 0) - before.closedAt < dayMs ? before.events[0]?.id : null,
    }
  })
}

function createRandom(seed: number) {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}

const fieldsOf = ({ id, opened_by, customer_messages, replies, first_reply_at, closed_at, reopened_from }: Json) => ({
  ...{ id, opened_by, customer_messages, replies, first_reply_at, closed_at, reopened_from },
})

test('past episodes are those of an independent count, in chunks, after a stop, and by two processes', async (t) => {
  const world = await startSignedIn(t, { alone })
  const { db, api, browser } = world
  const { workspaceId } = api
  const me: Json = (await browser.ask('GET', '/session')).data.member
  await until(
    'the first pass',
    async () => (await db`select from episode_history where finished_at is not null`).length === 1,
  )
  const histories = new Map<string, Event[]>()
  const random = createRandom(7)
  for (let i = 0; i < 60; i++) {
    const id = newId()
    const contactId = newId()
    const events = generate(random, Date.now() - 60 * dayMs)
    histories.set(id, events)
    const kinds = events.map(({ kind }) => kind).filter((kind) => kind !== 'bot' && kind !== 'reply')
    const status = kinds.at(-1) === 'close' ? 'closed' : 'open'
    await db`insert into contacts (workspace_id, id, created_at, updated_at) values (${workspaceId}, ${contactId}, now(), now())`
    await db`
      insert into conversations (workspace_id, id, contact_id, channel, status, created_at, updated_at)
      values (${workspaceId}, ${id}, ${contactId}, 'msgapp', ${status}, now(), now())`
    for (const { id: eventId, at, kind } of events) {
      const time = new Date(at).toISOString()
      if (kind === 'received' || kind === 'reply' || kind === 'bot') {
        const isInbound = kind === 'received'
        await db`
          insert into messages (workspace_id, conversation_id, id, direction, sender_type, sender_id, content_type, content_text, status, created_at)
          values (${workspaceId}, ${id}, ${eventId}, ${isInbound ? 'inbound' : 'outbound'},
            ${isInbound ? 'customer' : kind === 'bot' ? 'bot' : 'agent'}, ${kind === 'reply' ? me.id : null}, 'text', 'x',
            ${isInbound ? 'received' : 'sent'}, ${time})`
        continue
      }
      const details = {
        status: kind === 'close' ? 'closed' : 'open',
        ...(kind === 'customer_reopens' ? { by: 'customer' } : {}),
      }
      await db`
        insert into timeline_entries (workspace_id, conversation_id, id, kind, member_id, details, created_at)
        values (${workspaceId}, ${id}, ${eventId}, 'status', ${kind === 'customer_reopens' ? null : me.id},
          ${JSON.stringify(details)}::text::jsonb, ${time})`
    }
  }
  await db`
    update episode_history set finished_at = null, after_workspace_id = '00000000-0000-0000-0000-000000000000',
      after_id = '00000000-0000-0000-0000-000000000000'`
  // A process that is killed within a chunk leaves it to the next one.
  const [firstId = ''] = [...histories.keys()].sort()
  const release = await holdTransaction(db, `select from conversations where id = '${firstId}' for update`)
  const killed = assert.rejects(writeChunk(world.database.connect(1), isMerging, 7))
  await untilWaiting(db, 1, 'from conversations')
  await db`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query ~ 'from conversations'`
  await killed
  await release()
  assert.equal(await writeChunk(db, isMerging, 7), 'written')
  const writeAll = async () => {
    while ((await writeChunk(db, isMerging, 7)) !== 'finished') {
      // The next chunk.
    }
  }
  await Promise.all([writeAll(), writeAll()])
  for (const [id, events] of histories) {
    const listed: Json[] = (await api.get(`/episodes?conversation_id=${id}&limit=100`)).body.data
    const expected = recount(events)
    assert.deepEqual(listed.toReversed().map(fieldsOf), expected, JSON.stringify(events))
    const { episode } = (await api.get(`/conversations/${id}`)).body.data
    const open = expected.find(({ closed_at }) => closed_at === null)
    assert.deepEqual(
      episode && [episode.id, episode.replies, episode.customer_messages],
      open ? [open.id, open.replies, open.customer_messages] : null,
    )
  }
})

test('an episode that opened after the upgrade gets its earlier part, and what the statements wrote is written again', async (t) => {
  const world = await withProvider(startSignedIn(t, { alone }))
  const { db, api, ask, provider } = world
  const { workspaceId } = api
  await until(
    'the first pass',
    async () => (await db`select from episode_history where finished_at is not null`).length === 1,
  )
  const phones = ['+14155770001', '+14155770002']
  const conversationOf = async (phone: string): Promise<Json> => {
    const [contact] = (await api.get(`/contacts?phone=${encodeURIComponent(phone)}`)).body.data
    return (await api.get(`/conversations?contact_id=${contact.id}`)).body.data[0]
  }
  for (const from of phones) await provider.writes({ from, text: 'one' })
  const ids = await Promise.all(phones.map(async (phone) => (await conversationOf(phone)).id))
  for (const id of ids) {
    await ask('POST', `/conversations/${id}/messages`, { type: 'text', text: 'two' }, 201)
    await ask('PATCH', `/conversations/${id}`, { status: 'closed', labels: ['Done'] })
  }
  for (const from of phones) await provider.writes({ from, text: 'three' })
  const episodesOf = async (id: string): Promise<Json[]> => (await api.get(`/episodes?conversation_id=${id}`)).body.data
  const before = await Promise.all(ids.map(episodesOf))
  // As an earlier release left them.
  await db`update conversations set episode_id = null, episode_messages = 0, episode_replies = 0 where workspace_id = ${workspaceId}`
  await db`delete from episodes where workspace_id = ${workspaceId}`
  await provider.writes({ from: phones[1] ?? '', text: 'four' })
  const live = (await conversationOf(phones[1] ?? '')).episode
  assert.equal(live.customer_messages, 1)
  await db`
    update episode_history set finished_at = null, after_workspace_id = '00000000-0000-0000-0000-000000000000',
      after_id = '00000000-0000-0000-0000-000000000000'`
  while ((await writeChunk(db, isMerging)) !== 'finished') {
    // The next chunk.
  }
  const compared = ({
    id,
    opened_at,
    opened_by,
    replies,
    customer_messages,
    first_reply_at,
    first_reply_by,
    closed_by,
    closed_by_id,
    reopened_from,
    labels,
  }: Json) => ({
    ...{
      id,
      opened_at,
      opened_by,
      replies,
      customer_messages,
      first_reply_at,
      first_reply_by,
      closed_by,
      closed_by_id,
      reopened_from,
    },
    labels: labels.map(({ name }: Json) => name),
  })
  const [first = [], second = []] = await Promise.all(ids.map(episodesOf))
  assert.deepEqual(first.map(compared), before[0]?.map(compared))
  const [opened, closed] = before[1] ?? []
  assert.deepEqual(second.map(compared), [
    { ...compared(opened ?? {}), id: live.id, customer_messages: 2 },
    compared(closed ?? {}),
  ])
  assert.equal((await conversationOf(phones[1] ?? '')).episode.customer_messages, 2)
  assert.equal((await conversationOf(phones[1] ?? '')).episode.opened_at, opened?.opened_at)
})
