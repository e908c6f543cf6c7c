/**
 * The search index of contacts is written in two steps. A statement that changes a contact appends to the index's list of
 * pending entries. This loop merges the list into the index once a second, so no caller does.
 *
 * A search reads the list too, so it finds a contact as soon as it is committed. Without a worker the list grows to the limit of
 * the index (`gin_pending_list_limit`); from there on callers merge it.
 */
import type { Db } from '../lib/postgres/db.ts'
import type { Metrics } from '../lib/process/metrics.ts'

/** Returns a function that merges the pending entries. A metric shows how many pages the last merge found. */
export function createSearchMerge(db: Db, metrics: Metrics): () => Promise<void> {
  let pageCount = 0
  metrics.gauge(
    'parley_search_pending_pages',
    'Pages of 8 kB that the last merge found pending in a search index. Searches read them one by one.',
    'table',
    async () => ({ contacts: pageCount }),
  )
  return async () => {
    const [merged] = await db<{ page_count: number }[]>`
      select gin_clean_pending_list('contacts_search')::int as page_count`
    pageCount = merged?.page_count ?? 0
  }
}
