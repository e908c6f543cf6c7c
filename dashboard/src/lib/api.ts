/**
 * Calls to the service, typed by what its routes say (`calls.ts`).
 *
 * `useCall` asks and keeps the answer, `usePages` a list page by page,
 * `useChange` changes something and asks again for what it made stale. What is
 * refused arrives as a `CallError` with the code and the words of the service.
 */
import {
  type InfiniteData,
  keepPreviousData,
  QueryClient,
  type QueryFilters,
  useInfiniteQuery,
  useMutation,
  useQuery,
} from '@tanstack/react-query'
import { words } from '../words/words.ts'
import type { Calls } from './calls.ts'

export type Name = keyof Calls
export type InputOf<Call extends Name> = Omit<Calls[Call], 'answer'>
export type AnswerOf<Call extends Name> = Calls[Call]['answer']
/** What is in the envelope: of a list, one item. */
export type DataOf<Call extends Name> = AnswerOf<Call> extends { data: infer Data } ? Data : never
export type ItemOf<Call extends Name> = DataOf<Call> extends readonly (infer Item)[] ? Item : never

/** `once`: called again with the same one, what was done is answered once more instead of done once more. */
type Once = { once?: string }
type Loose = { params?: Record<string, string>; query?: Record<string, unknown>; body?: unknown } & Once

export class CallError extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** What went wrong, for people. */
export function messageOf(error: unknown): string {
  if (error instanceof CallError) {
    return error.code === 'internal' ? words.common.ourFault : capitalize(error.message)
  }
  return words.common.unreachable
}

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** The path of a call, with its parameters and query filled in. */
export function pathOf(name: string, { params = {}, query = {} }: Loose = {}): string {
  const path = name
    .replace(/^\w+ /, '')
    .replace(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(params[key] ?? ''))
  const asked = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(asked.map(([key, value]) => [key, String(value)])).toString()
  return `/app/api${path}${search ? `?${search}` : ''}`
}

export async function call<Call extends Name>(
  name: Call,
  input: InputOf<Call> & Once,
  signal?: AbortSignal,
): Promise<AnswerOf<Call>> {
  const { body, once, ...place } = input as Loose
  const headers = {
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(once ? { 'idempotency-key': once } : {}),
  }
  const response = await fetch(pathOf(name, place), {
    method: name.split(' ')[0] ?? 'GET',
    credentials: 'same-origin',
    headers,
    ...(signal ? { signal } : {}),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return readAnswer(response)
}

/** A name for one deed. */
export const newOnce = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** The answer of the service, or what it refused with. */
export async function readAnswer<Answer>(response: Response): Promise<Answer> {
  const answer = await response.json().catch(() => undefined)
  if (response.ok && answer) return answer
  const { code = 'internal', message = response.statusText } = answer?.error ?? {}
  throw new CallError(response.status, code, message)
}

/** Every question of a page shares what was answered before. Our own refusals are final; a line that broke is tried again. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      gcTime: 10 * 60_000,
      retry: (count, error) => !(error instanceof CallError && error.status < 500) && count < 2,
      refetchOnWindowFocus: true,
    },
  },
})

/**
 * Ask again for what is on the page. What waits for its first answer just then
 * is asked once more when that came: it may be from before the news.
 */
export async function askAgain(which: QueryFilters): Promise<void> {
  const first = queries
    .getQueryCache()
    .findAll({ ...which, fetchStatus: 'fetching' })
    .filter(({ state }) => state.data === undefined)
  await queries.invalidateQueries(which)
  if (first.length > 0) await queries.invalidateQueries({ predicate: (query) => first.includes(query) })
}

type Options = {
  enabled?: boolean
  /** Asked again whenever something of the workspace changed. */
  live?: boolean
  /** Asked again so often, for what no news tells of. */
  everyMs?: number | false
  /** While other questions of the kind are asked, the last answer stays. */
  keep?: boolean
}

const keyOf = (name: string, input: unknown) => [name, input]

/** Ask; `data` is what is in the envelope. */
export function useCall<Call extends Name>(
  name: Call,
  input: InputOf<Call>,
  { enabled = true, live = false, everyMs = false, keep = false }: Options = {},
) {
  return useQuery({
    queryKey: keyOf(name, input),
    queryFn: async ({ signal }) => ((await call(name, input, signal)) as { data: DataOf<Call> }).data,
    enabled,
    refetchInterval: everyMs,
    meta: { live },
    ...(keep ? { placeholderData: keepPreviousData } : {}),
  })
}

type ListAnswer<Item> = { data: Item[]; meta: { next_cursor: string | null } }

/** Ask for a list page by page; `items` are those of all pages so far. */
export function usePages<Call extends Name>(
  name: Call,
  input: InputOf<Call>,
  { enabled = true, live = false, keep = false }: Options = {},
) {
  const pages = useInfiniteQuery({
    queryKey: keyOf(name, input),
    queryFn: async ({ signal, pageParam }) => {
      const { query } = input as Loose
      const cursor = pageParam ? { cursor: pageParam } : {}
      return (await call(name, { ...input, query: { ...query, ...cursor } }, signal)) as ListAnswer<ItemOf<Call>>
    },
    initialPageParam: '',
    getNextPageParam: (last) => last.meta.next_cursor,
    enabled,
    meta: { live },
    ...(keep ? { placeholderData: keepPreviousData } : {}),
  })
  return { ...pages, items: itemsOf(pages.data) }
}

function itemsOf<Item>(data: InfiniteData<ListAnswer<Item>> | undefined): Item[] {
  return data?.pages.flatMap((page) => page.data) ?? []
}

type ChangeOptions<Call extends Name> = {
  /** What is asked again once it is done: every question to these calls. */
  stale?: readonly Name[]
  onDone?: (data: DataOf<Call>, input: InputOf<Call>) => void
  onFailed?: (error: unknown) => void
}

/** Change something: `mutate(input)`; `isPending` while it is under way. */
export function useChange<Call extends Name>(name: Call, { stale = [], onDone, onFailed }: ChangeOptions<Call> = {}) {
  return useMutation<DataOf<Call>, Error, InputOf<Call> & Once>({
    mutationFn: async (input: InputOf<Call> & Once) => ((await call(name, input)) as { data: DataOf<Call> }).data,
    onSuccess: async (data, input) => {
      await Promise.all(stale.map((other) => askAgain({ queryKey: [other] })))
      onDone?.(data, input)
    },
    ...(onFailed ? { onError: onFailed } : {}),
  })
}
