/** What the parts of the simulator know of each other. */
import type { ServerResponse } from 'node:http'
import type { Callbacks } from './delivery/callbacks.ts'
import type { InFlight, Statuses } from './delivery/statuses.ts'
import type { Log } from './simulator.ts'
import type { AccountState, Accounts } from './state/accounts.ts'
import type { Downloads } from './state/downloads.ts'
import type { Fate, Faults } from './state/faults.ts'
import { type Journal, journalFull } from './state/journal.ts'
import type { MediaStore } from './state/media.ts'
import type { Phones } from './state/phones.ts'
import { defaultQuotas, limitSize, type Quotas } from './state/quotas.ts'
import type { Sent } from './state/sent-messages.ts'
import { type Failure, failure, failureBody } from './wire/errors.ts'
import { sendJson } from './wire/http.ts'

export type World = {
  readonly log: Log
  readonly publicUrl: () => string
  /** Not inside the service: accounts are registered here. */
  readonly isAlone: boolean
  readonly accounts: Accounts
  readonly journal: Journal
  readonly sent: Sent
  readonly faults: Faults
  readonly callbacks: Callbacks<InFlight>
  readonly statuses: Statuses
  readonly phones: Phones
  readonly media: MediaStore
  readonly downloads: Downloads
  readonly quotas: Quotas
  /** Takes one control call that changes something from the quota; false when it is used up. */
  readonly takeControlCall: (now: number) => boolean
  /** Requests that get no answer. */
  readonly hanging: Set<ServerResponse>
  /** The number of the next callback in the journal. */
  nextCallback(): number
}

const hangMs = 60_000

/** Say no as the fault says. Returns whether there was one. */
export function refuse(world: World, fate: Readonly<Fate>, response: ServerResponse): boolean {
  const { refuse: how } = fate
  if (!how) return false
  if (how === 'hang') hang(world, response)
  else sendFailure(response, failure(how.code, undefined, how.http ? { status: how.http } : {}), fate.delayMs)
  return true
}

/** Writes a line of the journal. */
export const record = ({ journal }: World, line: string) =>
  new Promise<void>((resolve) => journal.append(line, () => resolve()))

/** The journal is full: nothing can be accepted. */
export const fullFailure = ({ quotas }: World): Failure => failure(131016, journalFull(quotas.journalBytes))

export function sendFailure(response: ServerResponse, wrong: Failure, delayMs = 0): void {
  later(delayMs, () => sendJson(response, wrong.status, failureBody(wrong)))
}

/** The answer to an accepted message, or its loss. */
export function sendAccepted(response: ServerResponse, json: string, { drop, delayMs }: Readonly<Fate>): void {
  if (drop) later(delayMs, () => response.socket?.destroy())
  else later(delayMs, () => sendJson(response, 200, json))
}

function later(delayMs: number, run: () => void): void {
  if (delayMs > 0) setTimeout(run, delayMs)
  else run()
}

function hang(world: World, response: ServerResponse): void {
  world.hanging.add(response)
  const timer = setTimeout(() => response.socket?.destroy(), hangMs)
  response.on('close', () => {
    clearTimeout(timer)
    world.hanging.delete(response)
  })
}

/** Note that somebody wrote: their window opens, and we know their name. */
export function noteCustomer(
  state: AccountState,
  key: string,
  at: number,
  { name, username }: { name: string | null; username: string | null },
): void {
  const known = state.customers.get(key)
  if (!known) limitSize(state.customers, defaultQuotas.customers)
  state.customers.set(key, {
    last_inbound_at: Math.max(known?.last_inbound_at ?? 0, at),
    name: name ?? known?.name ?? null,
    username: username ?? known?.username ?? null,
  })
}
