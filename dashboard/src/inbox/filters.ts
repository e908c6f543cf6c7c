/** The filters of the conversation list. They are stored in the URL, so reloading and sharing keep them. */
import { useMemo } from 'react'
import { useSearch } from 'wouter'
import { navigate } from 'wouter/use-browser-location'
import type { ListQuery } from './live-pages.ts'

export const statusTabs = ['open', 'pending', 'closed', 'all'] as const
type StatusTab = (typeof statusTabs)[number]
/** The service's value for conversations without an assignee. */
export const unassigned = 'nobody'
const channels = ['msgapp', 'social', 'web'] as const

export type Filters = {
  status: StatusTab
  assigned: 'me' | typeof unassigned | ''
  unread: boolean
  channel: (typeof channels)[number] | ''
}

/** The filters in the URL. Unknown values are ignored. */
export function useFilters() {
  const search = useSearch()
  return useMemo(() => {
    const query = new URLSearchParams(search)
    const filters: Filters = {
      status: statusTabs.find((status) => status === query.get('status')) ?? 'open',
      assigned: (['me', unassigned] as const).find((one) => one === query.get('assigned')) ?? '',
      unread: query.get('unread') === 'true',
      channel: channels.find((channel) => channel === query.get('channel')) ?? '',
    }
    return { filters, isPlain: !filters.assigned && !filters.unread && !filters.channel }
  }, [search])
}

/** Changes filters in the URL. Default values are removed from it. */
export function setFilters(change: Partial<Filters>): void {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(change)) {
    if (!value || (name === 'status' && value === 'open')) query.delete(name)
    else query.set(name, String(value))
  }
  query.delete('message')
  const text = query.toString()
  navigate(`${location.pathname}${text ? `?${text}` : ''}`, { replace: true })
}

export function toQuery({ status, assigned, unread, channel }: Filters): ListQuery {
  return {
    ...(status === 'all' ? {} : { status }),
    ...(assigned ? { assigned } : {}),
    ...(unread ? { unread: 'true' } : {}),
    ...(channel ? { channel } : {}),
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
