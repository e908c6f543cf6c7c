/** Opens a conversation of the inbox: a listed one, the next unread one, the one whose customer waits longest. */
import { navigate } from 'wouter/use-browser-location'
import { call } from '../../lib/api.ts'
import type { Conversation } from '../model/data.ts'
import { hrefOf } from '../model/filters.ts'
import { rowOf } from '../model/list-focus.ts'

/** Where the focus goes: to the row of the conversation, or to its reply box. */
type Focus = 'row' | 'reply'

export function openConversation(id: string, focus: Focus = 'row'): void {
  navigate(hrefOf(location.search, id))
  const row = rowOf(id)
  row?.scrollIntoView({ block: 'nearest' })
  if (focus === 'row' && row) row.focus()
  // The conversation renders from the cache in the next frame.
  else requestAnimationFrame(() => requestAnimationFrame(() => focusThread(focus)))
}

function focusThread(focus: Focus): void {
  const box = document.querySelector<HTMLElement>('.inbox-composer textarea')
  const target = focus === 'reply' && box ? box : document.querySelector<HTMLElement>('.inbox-messages')
  target?.focus({ preventScroll: true })
}

/** The next unread open conversation, newest first. Undefined: there is none. */
export async function findUnread(openId: string): Promise<string | undefined> {
  const { data } = await call('GET /conversations', { query: { status: 'open', unread: 'true', limit: 2 } })
  return data.find(({ id }) => id !== openId)?.id
}

/** After the open conversation if its customer waits, else the longest wait. Undefined: no customer waits. */
export async function findWaiting(openId: string): Promise<string | undefined> {
  const { data } = await call('GET /conversations', { query: { status: 'open', sort: 'waiting', limit: 100 } })
  const waiting = data.filter(({ waiting_since }: Conversation) => waiting_since !== null)
  const open = waiting.findIndex(({ id }) => id === openId)
  const next = waiting[open + 1] ?? waiting[0]
  return next && next.id !== openId ? next.id : undefined
}
