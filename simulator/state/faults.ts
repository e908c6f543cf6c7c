/**
 * Faults on order: what goes wrong with the next sends, and numbers that
 * always misbehave in their own way.
 */

import { badRequest, type Json } from '../wire/http.ts'
import { keyOf, waIdOf } from '../wire/ids.ts'
import type { AccountState } from './accounts.ts'

const faultModes = [
  'reject',
  'hang',
  'drop_connection_after_accept',
  'http_500',
  'duplicate_statuses',
  'reorder_statuses',
  'no_statuses',
  'throttle',
  'delay',
] as const
type FaultMode = (typeof faultModes)[number]

export type Fault = {
  to: string | null
  workspace_id: string | null
  mode: FaultMode
  code: number | null
  /** How many sends it still hits; null: until it is cleared. */
  count: number | null
  delay_ms: number | null
}

/** What happens to one send. */
export type Fate = {
  /** In place of accepting. */
  refuse: { code: number; http: number | undefined } | 'hang' | undefined
  drop: boolean
  twice: boolean
  reorder: boolean
  silent: boolean
  unread: boolean
  failsAfterSent: boolean
  delayMs: number
}

const usual: Readonly<Fate> = {
  refuse: undefined,
  drop: false,
  twice: false,
  reorder: false,
  silent: false,
  unread: false,
  failsAfterSent: false,
  delayMs: 0,
}

const magic = new Map<string, Partial<Fate>>([
  ['15005550001', { refuse: { code: 131026, http: undefined } }],
  ['15005550002', { refuse: { code: 132015, http: undefined } }],
  ['15005550003', { refuse: { code: 131000, http: 500 } }],
  ['15005550004', { refuse: { code: 130429, http: undefined } }],
  ['15005550005', { unread: true }],
  ['15005550006', { failsAfterSent: true }],
  ['15005550009', { refuse: 'hang' }],
])

export type Faults = {
  list(): readonly Fault[]
  /** False when there are as many as there may be. */
  add(fault: Fault): boolean
  clear(): void
  /** Of everything that is on order, what hits a send to `key`; counts it. */
  fateOf(state: AccountState, key: string): Readonly<Fate>
}

export function createFaults(max: number): Faults {
  let faults: Fault[] = []

  function fateOf(state: AccountState, key: string): Readonly<Fate> {
    const own = state.channel === 'msgapp' ? magic.get(key) : undefined
    if (faults.length === 0) return own ? { ...usual, ...own } : usual

    const fate: Fate = { ...usual, ...own }
    const hits = faults
      .filter((fault) => isMeant(fault, state, key))
      .sort((one, other) => Number(other.to !== null) - Number(one.to !== null))
    const refusing = hits.find(({ mode }) => refusals.has(mode))
    // What is refused never gets to its status reports.
    for (const fault of refusing ? [refusing, ...hits.filter(({ mode }) => mode === 'delay')] : hits) {
      apply(fate, fault, state)
      if (fault.count !== null) fault.count--
    }
    faults = faults.filter(({ count }) => count !== 0)
    return fate
  }

  return {
    list: () => faults,
    add(fault) {
      if (faults.length >= max) return false
      faults.push(fault)
      return true
    },
    clear() {
      faults = []
    },
    fateOf,
  }
}

const refusals: ReadonlySet<FaultMode> = new Set(['reject', 'hang', 'http_500', 'throttle'])

function isMeant({ to, workspace_id }: Fault, state: AccountState, key: string): boolean {
  if (workspace_id !== null && workspace_id !== state.workspace_id) return false
  if (to === null) return true
  const wanted = keyOf(to)
  return wanted === key || (state.channel === 'msgapp' && waIdOf(wanted) === key)
}

function apply(fate: Fate, { mode, code, delay_ms }: Fault, { channel }: AccountState): void {
  const isSocial = channel === 'social'
  fate.delayMs += delay_ms ?? 0
  if (mode === 'reject') fate.refuse = { code: code ?? (isSocial ? 551 : 131026), http: undefined }
  if (mode === 'http_500') fate.refuse = { code: code ?? (isSocial ? 2 : 131000), http: 500 }
  if (mode === 'throttle') fate.refuse = { code: code ?? (isSocial ? 4 : 130429), http: undefined }
  if (mode === 'hang') fate.refuse = 'hang'
  if (mode === 'drop_connection_after_accept') fate.drop = true
  if (mode === 'duplicate_statuses') fate.twice = true
  if (mode === 'reorder_statuses') fate.reorder = true
  if (mode === 'no_statuses') fate.silent = true
}

/** The body of `POST /simulator/control/faults`. */
export function parseFault(body: Json): Fault {
  const mode = faultModes.find((each) => each === body.mode)
  if (!mode) throw badRequest(`mode: one of ${faultModes.join(', ')}`)
  const text = (name: string) => {
    const value = body[name] ?? null
    if (value !== null && (typeof value !== 'string' || value === '')) throw badRequest(`${name}: a string`)
    return value
  }
  const whole = (name: string, least: number) => {
    const value = body[name] ?? null
    if (value !== null && (typeof value !== 'number' || !Number.isInteger(value) || value < least)) {
      throw badRequest(`${name}: a whole number, ${least} or more`)
    }
    return value
  }
  const delayMs = whole('delay_ms', 0)
  if (mode === 'delay' && delayMs === null) throw badRequest('delay_ms: required with mode delay')
  if (delayMs !== null && delayMs > 600_000) throw badRequest('delay_ms: at most 600000')
  return {
    to: text('to'),
    workspace_id: text('workspace_id'),
    mode,
    code: whole('code', 0),
    count: whole('count', 1),
    delay_ms: delayMs,
  }
}
