/**
 * The client of the dashboard's API, typed by the service's routes (`calls.ts`).
 *
 * `useCall` queries and caches, `usePages` does so for a list page by page, and `useChange` mutates and invalidates the queries
 * that show the changed data. An error response becomes a `CallError` with the service's code and message.
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
import { useToast } from '../../../ui/overlays.tsx'
import { words } from '../words/words.ts'
import type { Calls } from './calls.ts'

export type CallName = keyof Calls
export type InputOf<Call extends CallName> = Omit<Calls[Call], 'answer'>
export type AnswerOf<Call extends CallName> = Calls[Call]['answer']
/** The `data` of a response's envelope; `ItemOf` is one item of a list. */
export type DataOf<Call extends CallName> = AnswerOf<Call> extends { data: infer Data } ? Data : never
export type ItemOf<Call extends CallName> = DataOf<Call> extends readonly (infer Item)[] ? Item : never

type CallOptions = {
  /** Sent as `Idempotency-Key`: the service replays the first response to a call that is repeated with the same key. */
  idempotencyKey?: string
  /** The call completes even if the page is closed. */
  keepalive?: boolean
}
/** The input of any call, for code that does not know which one. */
type Loose = { params?: Record<string, string>; query?: Record<string, unknown>; body?: unknown } & CallOptions

export class CallError extends Error {
  readonly status: number
  readonly code: string
  readonly details: {
    second_factor?: 'required' | 'setup_required'
    /** With `platform_error`: the stored message. */
    message_id?: string | null
    /** The workspaces among which the person chooses. */
    workspaces?: { id: string; name: string }[]
    /** Why a sign-in with the provider was refused. */
    refusal?: string
  }
  constructor(status: number, code: string, message: string, details: CallError['details'] = {}) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
  }
}

export const isNotFound = (error: unknown): boolean => error instanceof CallError && error.status === 404

/** The service does not allow the member to do it. */
export const isRefused = (error: unknown): boolean => error instanceof CallError && error.status === 403

/** The sentence that the pages show for an error. */
export function describeError(error: unknown): string {
  if (error instanceof CallError) {
    return error.code === 'internal' ? words.common.ourError : capitalize(error.message)
  }
  return words.common.unreachable
}

export const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** The URL of a call, with its parameters and query. Empty query values are omitted. */
export function pathOf(name: string, { params = {}, query = {} }: Loose = {}): string {
  const path = name
    .replace(/^\w+ /, '')
    .replace(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(params[key] ?? ''))
  const present = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const search = new URLSearchParams(present.map(([key, value]) => [key, String(value)])).toString()
  return `/app/api${path}${search ? `?${search}` : ''}`
}

export async function call<Call extends CallName>(
  name: Call,
  input: InputOf<Call> & CallOptions,
  signal?: AbortSignal,
): Promise<AnswerOf<Call>> {
  const { body, idempotencyKey, keepalive = false, ...target } = input as Loose
  const headers = {
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(idempotencyKey ? { 'idempotency-key': idempotencyKey } : {}),
  }
  const response = await fetch(pathOf(name, target), {
    method: name.split(' ')[0] ?? 'GET',
    credentials: 'same-origin',
    headers,
    keepalive,
    ...(signal ? { signal } : {}),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return readAnswer(response)
}

/** A new idempotency key. `crypto.randomUUID` would need HTTPS. */
export const newIdempotencyKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** Returns the body of a success response. Throws a `CallError` for any other. */
export async function readAnswer<Answer>(response: Response): Promise<Answer> {
  const answer = await response.json().catch(() => undefined)
  if (response.ok && answer) return answer
  const { code = 'internal', message = response.statusText, details } = answer?.error ?? {}
  throw new CallError(response.status, code, message, details)
}

/** The cache of all queries. Client errors are final; server errors and lost connections are retried twice. */
export const queryClient = new QueryClient({
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
 * Invalidates queries, so that those on the page are fetched again. React Query does not repeat a fetch that is in flight for the
 * first time, and its response may predate the change: such queries are invalidated a second time.
 */
export async function invalidate(filters: QueryFilters): Promise<void> {
  const first = queryClient
    .getQueryCache()
    .findAll({ ...filters, fetchStatus: 'fetching' })
    .filter(({ state }) => state.data === undefined)
  await queryClient.invalidateQueries(filters)
  if (first.length > 0) await queryClient.invalidateQueries({ predicate: (query) => first.includes(query) })
}

type Options = {
  enabled?: boolean
  /** Refetch whenever the workspace changes, or data that only this member sees (`live.tsx`). */
  live?: boolean | 'member'
  /** Poll, for data whose changes the stream does not announce. */
  pollMs?: number | false
  /** How long the data counts as current when another part of the page needs it. */
  staleMs?: number
  /** Show the previous data while a new input loads. */
  keepPrevious?: boolean
  /** False: the data is forgotten when the page closes, so that a form starts with the current state. */
  isKept?: boolean
  /** Fetch when the page opens and never again by itself, so that no row moves while a member reads. */
  isStill?: boolean
}

const keyOf = (name: string, input: unknown) => [name, input]

/** A query. `data` is the content of the response's envelope. */
export function useCall<Call extends CallName>(
  name: Call,
  input: InputOf<Call>,
  { enabled = true, live = false, pollMs = false, staleMs, keepPrevious = false, isKept = true }: Options = {},
) {
  return useQuery({
    queryKey: keyOf(name, input),
    queryFn: async ({ signal }) => ((await call(name, input, signal)) as { data: DataOf<Call> }).data,
    enabled,
    refetchInterval: pollMs,
    meta: { live },
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
    ...(isKept ? {} : { gcTime: 0 }),
    ...(staleMs === undefined ? {} : { staleTime: staleMs }),
  })
}

type ListAnswer<Item> = { data: Item[]; meta: { next_cursor: string | null } }

/** A list, page by page. `items` are those of all pages fetched so far. */
export function usePages<Call extends CallName>(
  name: Call,
  input: InputOf<Call>,
  { enabled = true, live = false, keepPrevious = false, isStill = false }: Options = {},
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
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
    ...(isStill ? { refetchOnWindowFocus: false, refetchOnReconnect: false, refetchOnMount: 'always' as const } : {}),
  })
  return { ...pages, items: itemsOf(pages.data) }
}

function itemsOf<Item>(data: InfiniteData<ListAnswer<Item>> | undefined): Item[] {
  return data?.pages.flatMap((page) => page.data) ?? []
}

/** Fetches a list again from its first page. */
export async function restartPages<Call extends CallName>(name: Call, input: InputOf<Call>): Promise<void> {
  const queryKey = keyOf(name, input)
  queryClient.setQueryData<InfiniteData<unknown>>(
    queryKey,
    (data) => data && { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) },
  )
  await invalidate({ queryKey, exact: true })
}

type ChangeOptions<Call extends CallName> = {
  /** The calls whose queries to invalidate on success, before `onDone`. */
  stale?: readonly CallName[]
  /** The text of a toast on success. */
  done?: string | ((data: DataOf<Call>) => string) | undefined
  onDone?: ((data: DataOf<Call>, input: InputOf<Call>) => void) | undefined
  /** A toast shows an error. Without it, the caller shows `error`. */
  reportsError?: boolean
  onFailed?: (error: unknown) => void
  /** Changes of the same thing are sent one after the other, so that the last one stays. */
  inOrderFor?: string
}

/** A mutation: `mutate(input)` starts it, and `isPending` is true while it is in flight. */
export function useChange<Call extends CallName>(name: Call, options: ChangeOptions<Call> = {}) {
  const { stale = [], done, onDone, reportsError = false, onFailed, inOrderFor } = options
  const toast = useToast()
  return useMutation<DataOf<Call>, Error, InputOf<Call> & CallOptions>({
    mutationFn: async (input: InputOf<Call> & CallOptions) =>
      ((await call(name, input)) as { data: DataOf<Call> }).data,
    onSuccess: async (data, input) => {
      await Promise.all(stale.map((other) => invalidate({ queryKey: [other] })))
      if (done) toast.success(typeof done === 'string' ? done : done(data))
      onDone?.(data, input)
    },
    onError: (error) => {
      if (reportsError) toast.error(error)
      onFailed?.(error)
    },
    ...(inOrderFor ? { scope: { id: inOrderFor } } : {}),
  })
}
