/** Fetches the first page of a list before the member opens it, into the cache entry that `usePages` reads. */
import { call, type InputOf, type Name, queries } from './api.ts'

export function prefetchPages<Call extends Name>(name: Call, input: InputOf<Call>): void {
  void queries.prefetchInfiniteQuery({
    queryKey: [name, input],
    queryFn: ({ signal }) => call(name, input, signal),
    initialPageParam: '',
    meta: { live: true },
  })
}
