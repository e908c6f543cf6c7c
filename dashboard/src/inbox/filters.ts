/** Which conversations the list shows. The choice lives in the address, so reloading and sharing keep it. */
import { useMemo } from 'react'
import { useSearch } from 'wouter'
import { navigate } from 'wouter/use-browser-location'
import type { ListQuery } from './live-pages.ts'

export const statusTabs = ['open', 'pending', 'closed', 'all'] as const
type StatusTab = (typeof statusTabs)[number]
const channels = ['msgapp', 'social', 'web'] as const

export type Filters = {
  status: StatusTab
  assigned: 'me' | 'nobody' | ''
  unread: boolean
  channel: (typeof channels)[number] | ''
}

/** What the address says; whatever is no choice of ours counts as none. */
export function useFilters() {
  const search = useSearch()
  return useMemo(() => {
    const given = new URLSearchParams(search)
    const filters: Filters = {
      status: statusTabs.find((status) => status === given.get('status')) ?? 'open',
      assigned: (['me', 'nobody'] as const).find((one) => one === given.get('assigned')) ?? '',
      unread: given.get('unread') === 'true',
      channel: channels.find((channel) => channel === given.get('channel')) ?? '',
    }
    return { filters, isPlain: !filters.assigned && !filters.unread && !filters.channel }
  }, [search])
}

/** Change some of them; what is as it usually is does not stand in the address. */
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

/** Where a conversation is, with the list as it is now; `message`: shown and lit up. */
export function hrefOf(search: string, id: string, message?: string): string {
  const query = new URLSearchParams(search)
  query.delete('message')
  if (message) query.set('message', message)
  const text = query.toString()
  return `/inbox${id ? `/${id}` : ''}${text ? `?${text}` : ''}`
}
