/** Opens a conversation of the inbox: a listed one, the next unread one, the one whose customer waits longest. */
import { navigate } from 'wouter/use-browser-location'
import { call } from '../../lib/api.ts'
import { findConversation } from '../model/conversations.ts'
import type { Conversation } from '../model/data.ts'
import { type Filters, hrefOf, parseFilters, toQuery } from '../model/filters.ts'
import { listedIds, rowOf } from '../model/list-focus.ts'

/** Where the focus goes: to the row of the conversation, or to its reply box. */
type Focus = 'row' | 'reply'

export function openConversation(id: string, focus: Focus = 'row'): void {
  navigate(hrefOf(location.search, id))
  const row = rowOf(id)
  row?.scrollIntoView({ block: 'nearest' })
  if (focus === 'row' && row && !isDialogOpen()) {
    row.focus()
    return
  }
  // Until the focus moves, the keys must act on this conversation and not on a focused row.
  document.querySelector<HTMLElement>('[data-row]:focus')?.blur()
  // The conversation renders from the cache in the next frame.
  requestAnimationFrame(() => requestAnimationFrame(() => focusThread(id, focus)))
}

/** Opens the first row after these have left the list. An empty list then shows the conversations that waited behind "1 new". */
export function openFirst(leavingIds: readonly string[], focus: Focus): void {
  const { pathname } = location
  const open = (waitedFrames: number) => {
    if (location.pathname !== pathname) return
    const first = listedIds().find((id) => !leavingIds.includes(id))
    if (first) openConversation(first, focus)
    else if (waitedFrames < maxRenderFrames) requestAnimationFrame(() => open(waitedFrames + 1))
  }
  requestAnimationFrame(() => open(0))
}

/** How long the list may take to render. A conversation that arrives later does not open by itself. */
const maxRenderFrames = 30
const maxWaitFrames = 300

const isDialogOpen = () => document.querySelector('dialog[open]') !== null

/** Waits while a dialog closes or the conversation loads, unless the member goes elsewhere meanwhile. */
function focusThread(id: string, focus: Focus, waitedFrames = 0): void {
  if (location.pathname !== `/inbox/${id}`) return
  if (document.activeElement?.matches(':is(input, textarea):not(dialog *)')) return
  const part = focus === 'reply' ? document.querySelector<HTMLElement>('.inbox-composer textarea') : rowOf(id)
  const target = part ?? document.querySelector<HTMLElement>('.inbox-messages')
  if (target && !isDialogOpen()) target.focus({ preventScroll: true })
  else if (waitedFrames < maxWaitFrames) requestAnimationFrame(() => focusThread(id, focus, waitedFrames + 1))
}

/** The query for open conversations with the filters of the list. */
const queryOpen = (change: Partial<Filters>) => toQuery({ ...parseFilters(location.search), status: 'open', ...change })

/** The next unread conversation below the open one, else from the top of the list, else one that is not listed yet. */
export async function findUnread(openId: string): Promise<string | undefined> {
  const listed = listedIds()
  const below = listed.indexOf(openId) + 1
  const isUnread = (id: string) => id !== openId && (findConversation(id)?.unread_count ?? 0) > 0
  const next = [...listed.slice(below), ...listed.slice(0, below)].find(isUnread)
  if (next) return next
  const { data } = await call('GET /conversations', { query: { ...queryOpen({ unread: true }), limit: 2 } })
  return data.find(({ id }) => id !== openId)?.id
}

/** After the open conversation if its customer waits, else the longest wait. Undefined: no customer waits. */
export async function findWaiting(openId: string): Promise<string | undefined> {
  const { data } = await call('GET /conversations', { query: { ...queryOpen({ sort: 'waiting' }), limit: 100 } })
  const waiting = data.filter(({ waiting_since }: Conversation) => waiting_since !== null)
  const open = waiting.findIndex(({ id }) => id === openId)
  const next = waiting[open + 1] ?? waiting[0]
  return next && next.id !== openId ? next.id : undefined
}
