/** Fetches the first page of a list before the member opens it, into the cache entry that `usePages` reads. */
import { type CallName, call, type InputOf, queryClient } from './api.ts'

export function prefetchPages<Call extends CallName>(name: Call, input: InputOf<Call>): void {
  void queryClient.prefetchInfiniteQuery({
    queryKey: [name, input],
    queryFn: ({ signal }) => call(name, input, signal),
    initialPageParam: '',
    meta: { live: true },
  })
}
