/** Ask ahead for what somebody is about to open, so that it is there when they do. Kept as `usePages` and `useCall` keep it. */
import { call, type InputOf, type Name, queries } from './api.ts'

export function prefetchPages<Call extends Name>(name: Call, input: InputOf<Call>): void {
  void queries.prefetchInfiniteQuery({
    queryKey: [name, input],
    queryFn: ({ signal }) => call(name, input, signal),
    initialPageParam: '',
    meta: { live: true },
  })
}
