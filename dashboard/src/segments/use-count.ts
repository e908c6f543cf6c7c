/** The number of contacts that match a filter, cached by its JSON. The previous result stays while the next one loads. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { call } from '../lib/api.ts'

export function useCount(filterText: string) {
  return useQuery({
    queryKey: ['POST /segments/count', filterText],
    queryFn: async ({ signal }) => {
      const { data } = await call('POST /segments/count', { body: { filter: JSON.parse(filterText) } }, signal)
      return data
    },
    enabled: filterText !== '',
    placeholderData: keepPreviousData,
    staleTime: 10_000,
  })
}
