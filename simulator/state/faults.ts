/** Injected faults: those a control call adds, and the magic numbers that always fail in the same way. */

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
  /** The number whose sends fail; null for all. */
  connection_id: string | null
  mode: FaultMode
  code: number | null
  /** Sends it still applies to; null until it is cleared. */
  count: number | null
  delay_ms: number | null
}

/** How faults change one send. */
export type FaultEffects = {
  /** Refuse the send with this error, or do not answer at all. */
  refuse: { code: number; http: number | undefined } | 'hang' | undefined
  dropConnection: boolean
  duplicateStatuses: boolean
  reorderStatuses: boolean
  noStatuses: boolean
  unread: boolean
  failsAfterSent: boolean
  delayMs: number
}

const noEffects: Readonly<FaultEffects> = {
  refuse: undefined,
  dropConnection: false,
  duplicateStatuses: false,
  reorderStatuses: false,
  noStatuses: false,
  unread: false,
  failsAfterSent: false,
  delayMs: 0,
}

const magicNumbers = new Map<string, Partial<FaultEffects>>([
  ['15005550001', { refuse: { code: 131026, http: undefined } }],
  ['15005550002', { refuse: { code: 132015, http: undefined } }],
  ['15005550003', { refuse: { code: 131000, http: 500 } }],
  ['15005550004', { refuse: { code: 130429, http: undefined } }],
  ['15005550005', { unread: true }],
  ['15005550006', { failsAfterSent: true }],
  ['15005550009', { refuse: 'hang' }],
])

export type Faults = ReturnType<typeof createFaults>

export function createFaults(max: number) {
  let faults: Fault[] = []

  /** Combines the faults that apply to a send to `key`, and counts the send against their `count`. */
  function effectsOn(state: AccountState, key: string): Readonly<FaultEffects> {
    const own = state.channel === 'msgapp' ? magicNumbers.get(key) : undefined
    if (faults.length === 0) return own ? { ...noEffects, ...own } : noEffects

    const effects: FaultEffects = { ...noEffects, ...own }
    const hits = faults
      .filter((fault) => appliesTo(fault, state, key))
      .sort((one, other) => specificity(other) - specificity(one))
    const refusing = hits.find(({ mode }) => refusals.has(mode))
    // A refused send has no status reports, so only its delay applies.
    for (const fault of refusing ? [refusing, ...hits.filter(({ mode }) => mode === 'delay')] : hits) {
      apply(effects, fault, state)
      if (fault.count !== null) fault.count--
    }
    faults = faults.filter(({ count }) => count !== 0)
    return effects
  }

  return {
    list: (): readonly Fault[] => faults,
    /** False when the maximum number of faults is active. */
    add(fault: Fault): boolean {
      if (faults.length >= max) return false
      faults.push(fault)
      return true
    },
    clear() {
      faults = []
    },
    effectsOn,
  }
}

const refusals: ReadonlySet<FaultMode> = new Set(['reject', 'hang', 'http_500', 'throttle'])

/** A fault of one recipient takes precedence, then one of a connection. */
const specificity = ({ to, connection_id }: Fault) => 2 * Number(to !== null) + Number(connection_id !== null)

function appliesTo({ to, workspace_id, connection_id }: Fault, state: AccountState, key: string): boolean {
  if (workspace_id !== null && workspace_id !== state.workspace_id) return false
  if (connection_id !== null && connection_id !== state.connection_id) return false
  if (to === null) return true
  const wanted = keyOf(to)
  return wanted === key || (state.channel === 'msgapp' && waIdOf(wanted) === key)
}

function apply(effects: FaultEffects, { mode, code, delay_ms }: Fault, { channel }: AccountState): void {
  const isSocial = channel === 'social'
  effects.delayMs += delay_ms ?? 0
  if (mode === 'reject') effects.refuse = { code: code ?? (isSocial ? 551 : 131026), http: undefined }
  if (mode === 'http_500') effects.refuse = { code: code ?? (isSocial ? 2 : 131000), http: 500 }
  if (mode === 'throttle') effects.refuse = { code: code ?? (isSocial ? 4 : 130429), http: undefined }
  if (mode === 'hang') effects.refuse = 'hang'
  if (mode === 'drop_connection_after_accept') effects.dropConnection = true
  if (mode === 'duplicate_statuses') effects.duplicateStatuses = true
  if (mode === 'reorder_statuses') effects.reorderStatuses = true
  if (mode === 'no_statuses') effects.noStatuses = true
}

/** Parses the body of `POST /simulator/control/faults`. */
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
    connection_id: text('connection_id'),
    mode,
    code: whole('code', 0),
    count: whole('count', 1),
    delay_ms: delayMs,
  }
}
