/** The figure whose rows are open, in the URL: so it can be shared, and the way back from a conversation leads to it. */
import { useSearch } from 'wouter'
import { setSearch } from './request.ts'

const names = ['show', 'row', 'start', 'weekday', 'hour', 'kind', 'rating'] as const

/** `show`: the figure. `row`: the id of its row. `start`: the first day of its interval. */
export type Opened = { show: string } & { [Name in Exclude<(typeof names)[number], 'show'>]?: string }

export function useOpened(): Opened | undefined {
  const search = new URLSearchParams(useSearch())
  const show = search.get('show')
  if (!show) return undefined
  return { ...Object.fromEntries(names.flatMap((name) => (search.has(name) ? [[name, search.get(name)]] : []))), show }
}

const closed = Object.fromEntries(names.map((name) => [name, '']))

export const openRows = (opened: Opened): void => setSearch({ ...closed, ...opened })
export const closeRows = (): void => setSearch(closed)
