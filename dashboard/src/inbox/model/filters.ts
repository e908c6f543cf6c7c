/** The filters of the conversation list. They are stored in the URL, so reloading and sharing keep them. */
import { useMemo } from 'react'
import { useSearch } from 'wouter'
import { navigate } from 'wouter/use-browser-location'
import type { ListQuery } from '../../lib/conversation-lists.ts'

export const statusTabs = ['open', 'pending', 'closed', 'all'] as const
type StatusTab = (typeof statusTabs)[number]
/** The service's value for conversations without an assignee. */
export const unassigned = 'nobody'
const channels = ['msgapp', 'social', 'web'] as const

export const sorts = ['newest', 'oldest', 'waiting'] as const

export type Filters = {
  status: StatusTab
  sort: (typeof sorts)[number]
  /** `me`, `unassigned`, a member's id, or empty for all. */
  assigned: string
  unread: boolean
  channel: (typeof channels)[number] | ''
  /** A label's id or name. */
  label: string
  /** Minutes that the customer has waited. */
  waiting: string
}

export const noFilters: Filters = {
  ...{ status: 'open', sort: 'newest', assigned: '', unread: false, channel: '', label: '', waiting: '' },
}

export function useFilters() {
  const search = useSearch()
  return useMemo(() => {
    const filters = parseFilters(search)
    return { filters, isPlain: !filters.assigned && !filters.unread && countFilters(filters) === 0 }
  }, [search])
}

/** The filters in the query of a URL. Unknown values are ignored. */
export function parseFilters(search: string): Filters {
  const query = new URLSearchParams(search)
  const text = (name: string) => query.get(name) ?? ''
  return {
    status: statusTabs.find((status) => status === text('status')) ?? 'open',
    sort: sorts.find((sort) => sort === text('sort')) ?? 'newest',
    assigned: isAssignee(text('assigned')) ? text('assigned') : '',
    unread: text('unread') === 'true',
    channel: channels.find((channel) => channel === text('channel')) ?? '',
    label: text('label').slice(0, 200),
    waiting: /^[1-9]\d{0,4}$/.test(text('waiting')) ? text('waiting') : '',
  }
}

const isAssignee = (text: string) => text === 'me' || text === unassigned || /^[0-9a-f-]{36}$/.test(text)

/** The filters that the list does not show as buttons of their own. */
export const countFilters = ({ assigned, channel, label, waiting }: Filters): number =>
  [assigned !== '' && assigned !== 'me' && assigned !== unassigned, channel, label, waiting].filter(Boolean).length

/** Changes filters in the URL. Default values are removed from it. */
export function setFilters(change: Partial<Filters>): void {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(change)) {
    if (!value || value === noFilters[name as keyof Filters]) query.delete(name)
    else query.set(name, String(value))
  }
  query.delete('message')
  const text = query.toString()
  navigate(`${location.pathname}${text ? `?${text}` : ''}`, { replace: true })
}

export function toQuery({ status, sort, assigned, unread, channel, label, waiting }: Filters): ListQuery {
  return {
    ...(status === 'all' ? {} : { status }),
    ...(sort === 'newest' ? {} : { sort }),
    ...(assigned ? { assigned } : {}),
    ...(unread ? { unread: 'true' } : {}),
    ...(channel ? { channel } : {}),
    ...(label ? { label } : {}),
    ...(waiting ? { waiting_minutes: waiting } : {}),
  }
}

/** The filters of a saved view. */
export function fromQuery({ status, sort, assigned, unread, channel, label, waiting_minutes }: ListQuery): Filters {
  return {
    status: status ?? 'all',
    sort: sort ?? 'newest',
    assigned: assigned ?? '',
    unread: unread === 'true',
    channel: channel ?? '',
    label: label ?? '',
    waiting: waiting_minutes ?? '',
  }
}

/** The path of a conversation, with the current filters. `message`: the message to scroll to and highlight. */
export function hrefOf(search: string, id: string, message?: string): string {
  const query = new URLSearchParams(search)
  query.delete('message')
  if (message) query.set('message', message)
  const text = query.toString()
  return `/inbox${id ? `/${id}` : ''}${text ? `?${text}` : ''}`
}
