/** The lists of conversations that a page keeps current from the stream, without a browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Conversation, type ListQuery, placeConversations } from '../dashboard/src/lib/conversation-lists.ts'

const me = 'me-1'
const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()
const row = (id: string, minute: number, fields: Partial<Conversation> = {}) =>
  ({
    ...{
      id,
      contact_id: `c-${id}`,
      channel: 'msgapp',
      status: 'open',
      assigned_agent_id: null,
      unread_count: 0,
      labels: [],
    },
    ...{ inbox_at: at(minute), waiting_since: null, created_at: at(0), last_message_text: null },
    ...fields,
  }) as Conversation

type Pages = Parameters<typeof placeConversations>[0]
/** A list, and its ids after changes. */
const listOf = (query: ListQuery, rows: Conversation[], nextCursor: string | null = null) => {
  let pages: Pages = [{ data: rows, meta: { next_cursor: nextCursor } }]
  const list = () => pages.flatMap(({ data }) => data.map(({ id }) => id)).join('')
  const show = (...rows: Conversation[]) => {
    pages = placeConversations(pages, rows, [], query, me)
  }
  const remove = (id: string) => {
    pages = placeConversations(pages, [], [id], query, me)
  }
  return Object.assign(list, { show, remove })
}

test('a changed conversation moves to its position in every order', () => {
  const newest = listOf({ status: 'open' }, [row('a', 3), row('b', 2), row('c', 1)])
  const oldest = listOf({ status: 'open', sort: 'oldest' }, [row('c', 1), row('b', 2), row('a', 3)])
  const waits = [row('a', 3, { waiting_since: at(3) }), row('b', 2), row('c', 1)]
  const waiting = listOf({ status: 'open', sort: 'waiting' }, waits)
  for (const { show } of [newest, oldest, waiting]) show(row('c', 4, { waiting_since: at(4), last_message_text: 'Hi' }))
  assert.deepEqual([newest(), oldest(), waiting()], ['cab', 'bac', 'acb'])
})

test('a conversation enters and leaves lists by their filters', () => {
  const lists = {
    open: listOf({ status: 'open' }, [row('a', 1)]),
    closed: listOf({ status: 'closed' }, []),
    all: listOf({}, [row('a', 1)]),
    mine: listOf({ status: 'open', assigned: 'me' }, []),
    unassigned: listOf({ status: 'open', assigned: 'nobody' }, [row('a', 1)]),
    labeled: listOf({ label: 'vip' }, []),
    web: listOf({ channel: 'web' }, []),
    unread: listOf({ unread: 'true' }, []),
    contact: listOf({ contact_id: 'c-a', status: 'open' }, [row('a', 1)]),
  }
  const states = () => Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, list()]))
  const show = (changed: Conversation) => {
    for (const list of Object.values(lists)) list.show(changed)
  }
  const label = { id: 'l-1', name: 'VIP', color: '#000000' }
  show(row('a', 1, { assigned_agent_id: me, labels: [label], unread_count: 2 }))
  assert.deepEqual(states(), {
    ...{ open: 'a', closed: '', all: 'a', mine: 'a', unassigned: '', labeled: 'a', web: '', unread: 'a', contact: 'a' },
  })
  show(row('a', 1, { status: 'closed' }))
  assert.deepEqual(states(), {
    ...{ open: '', closed: 'a', all: 'a', mine: '', unassigned: '', labeled: '', web: '', unread: '', contact: '' },
  })
  // Automated messages alone do not put a conversation into the inbox, but its contact lists it.
  show(row('a', 1, { inbox_at: null }))
  assert.deepEqual([lists.open(), lists.all(), lists.contact()], ['', 'a', 'a'])
  for (const list of Object.values(lists)) list.remove('a')
  assert.deepEqual([lists.all(), lists.contact()], ['', ''])
})

test('a filter with several values, a tag, a period and a missing reply decide as the service does', () => {
  const recent = new Date(Date.now() - 3_600_000).toISOString()
  const tagged = row('a', 1, {
    inbox_at: recent,
    waiting_since: recent,
    assigned_agent_id: me,
    contact: { tags: [{ id: 't-1', name: 'VIP', color: '#000000' }] } as Conversation['contact'],
  })
  const shows = (query: ListQuery) => {
    const list = listOf(query, [])
    list.show(tagged)
    return list() === 'a'
  }
  assert.deepEqual([shows({ channel: 'web,msgapp' }), shows({ channel: 'web,social' })], [true, false])
  assert.deepEqual(
    [shows({ assigned: ['nobody', 'me'].join() }), shows({ assigned: ['nobody', 'm-2'].join() })],
    [true, false],
  )
  assert.deepEqual([shows({ tag: 't-2,t-1' }), shows({ tag: 'vip' }), shows({ tag: 't-2' })], [true, true, false])
  assert.deepEqual([shows({ active_days: '1' }), shows({ active_before: at(1) })], [true, false])
  assert.deepEqual([shows({ no_reply: 'true' }), shows({ active_after: recent })], [true, true])
  tagged.waiting_since = null
  assert.equal(shows({ no_reply: 'true' }), false)
})

test('a conversation beyond the loaded pages is not shown at their end', () => {
  const partial = listOf({ status: 'open' }, [row('a', 9), row('b', 8)], 'more')
  const whole = listOf({ status: 'open', channel: 'msgapp' }, [row('a', 9), row('b', 8)])
  const show = (changed: Conversation) => {
    for (const list of [partial, whole]) list.show(changed)
  }
  show(row('c', 1))
  assert.deepEqual([partial(), whole()], ['ab', 'abc'])
  show(row('a', 2))
  assert.deepEqual([partial(), whole()], ['b', 'bac'])
})

test('several conversations are placed at once, and a search gets only what the service found', () => {
  const list = listOf({ status: 'open' }, [row('a', 9), row('b', 8), row('c', 7)])
  list.show(row('c', 12), row('d', 10), row('a', 9, { status: 'closed' }))
  assert.equal(list(), 'cdb')
  const found = listOf({ search: 'ann' }, [row('a', 9)])
  found.show(row('a', 12), row('b', 13))
  assert.equal(found(), 'a')
  const longAgo = new Date(Date.now() - 61 * 60_000).toISOString()
  const waiting = listOf({ waiting_minutes: '60' }, [])
  waiting.show(row('a', 9, { waiting_since: longAgo }), row('b', 8, { waiting_since: new Date().toISOString() }))
  assert.equal(waiting(), 'a')
})
