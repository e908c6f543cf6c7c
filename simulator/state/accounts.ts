/**
 * The business accounts of the provider, and the state of each.
 *
 * The built-in simulator loads its accounts from the service's connections. It
 * reloads them when a token or workspace is unknown, and at most once a second
 * while calls arrive, so a changed rate or token takes effect. A standalone
 * simulator registers accounts by a control call and keeps them in a file.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { badRequest, isHttpUrl, isObject, type Json } from '../wire/http.ts'
import { seedTemplates, type Template, templateKey } from '../wire/templates.ts'
import { defaultQuotas, evictOldest } from './quotas.ts'

export type SimulatorAccount = {
  workspace_id: string
  channel: 'msgapp' | 'social'
  /** The business account: `entry[].id` of its callbacks. */
  account_id: string
  /** Empty on social. */
  phone_number_id: string
  /** Digits only; empty on social. */
  display_phone_number: string
  business_name: string
  access_token: string
  app_secret: string
  verify_token: string
  callback_url: string
  messages_per_second: number
  /** The account of control calls that name no workspace. */
  is_default: boolean
}

export type Channel = SimulatorAccount['channel']

/** A customer who wrote to the business. */
type Customer = { last_inbound_at: number; name: string | null; username: string | null }

/** The state of an account. It survives a change of the account's settings. */
export type AccountState = {
  readonly workspace_id: string
  readonly channel: Channel
  /** Undefined while the journal mentions the account but it is not registered yet. */
  account: SimulatorAccount | undefined
  /** Tokens of the rate limit, and when they were counted. */
  allowance: number
  allowanceAt: number
  /** When the leaky bucket of each recipient will be empty. */
  pairs: Map<string, number>
  pairsSweptAt: number
  customers: Map<string, Customer>
  templates: Map<string, Template>
  /** Settings of the business by name: profile, QR codes, blocked users. */
  objects: Map<string, Json>
}

export type Accounts = ReturnType<typeof createAccounts>

const freshMs = 1_000

export function createAccounts(
  file: string,
  load: (() => Promise<SimulatorAccount[]>) | undefined,
  origin: () => string,
) {
  const states = new Map<string, AccountState>()
  let tokens = new Map<string, AccountState[]>()
  let registered: SimulatorAccount[] = load ? [] : readAccounts(file)
  let loading: Promise<void> | undefined
  let queued: Promise<void> | undefined
  let loadedAt = 0
  setAccounts(registered)

  function resolveState(workspaceId: string, channel: Channel): AccountState {
    const key = `${channel} ${workspaceId}`
    let state = states.get(key)
    if (!state) {
      state = {
        workspace_id: workspaceId,
        channel,
        account: undefined,
        allowance: 0,
        allowanceAt: 0,
        pairs: new Map(),
        pairsSweptAt: 0,
        customers: new Map(),
        templates: new Map(),
        objects: new Map(),
      }
      if (channel === 'msgapp') {
        for (const template of seedTemplates(workspaceId, origin()))
          state.templates.set(templateKey(template), template)
      }
      states.set(key, state)
    }
    return state
  }

  function setAccounts(accounts: readonly SimulatorAccount[]) {
    for (const state of states.values()) state.account = undefined
    tokens = new Map()
    for (const account of accounts) {
      const state = resolveState(account.workspace_id, account.channel)
      state.account = account
      const sharing = tokens.get(account.access_token)
      if (sharing) sharing.push(state)
      else tokens.set(account.access_token, [state])
    }
  }

  async function reload() {
    if (!load) return
    try {
      setAccounts(await load())
    } finally {
      loadedAt = Date.now()
      loading = undefined
    }
  }

  /** Reloads the accounts. A load in flight may have read the table before the caller's change, so the caller gets the next load. */
  function refresh(): Promise<void> {
    if (!load) return Promise.resolve()
    if (!loading) {
      loading = reload()
      return loading
    }
    queued ??= loading
      .catch(() => {})
      .then(() => {
        queued = undefined
        loading ??= reload()
        return loading
      })
    return queued
  }

  const choose = (workspaceId: string | undefined, channel: Channel) => {
    const known = [...states.values()].filter(({ account }) => account)
    const fallback = known.find(({ account }) => account?.is_default) ?? known[0]
    const defaultId = workspaceId ?? fallback?.workspace_id
    return known.find((state) => state.channel === channel && state.workspace_id === defaultId)
  }

  return {
    byToken: (token: string): readonly AccountState[] => tokens.get(token) ?? [],
    refresh,
    /** Starts a reload if the last one is older than a second. Does not wait for it. */
    refreshIfStale() {
      // This caller does not need the result; a caller that waits for `refresh` gets the error.
      if (load && !loading && Date.now() - loadedAt >= freshMs) refresh().catch(() => {})
    },
    resolveState,
    /** The account of a control call; reloads the accounts before it gives up. */
    async find(workspaceId: string | undefined, channel: Channel) {
      if (Date.now() - loadedAt >= freshMs) await refresh()
      const found = choose(workspaceId, channel)
      if (found) return found
      await refresh()
      return choose(workspaceId, channel)
    },
    list: () => [...states.values()].filter(({ account }) => account),
    /** False when the maximum number of accounts is registered. */
    register(account: SimulatorAccount, max: number): boolean {
      const isSame = (other: SimulatorAccount) =>
        other.workspace_id === account.workspace_id && other.channel === account.channel
      const others = registered.filter((other) => !isSame(other))
      if (others.length >= max) return false
      const defaultId = registered[0]?.workspace_id ?? account.workspace_id
      registered = [...others, account]
        .map((each) => ({ ...each, is_default: each.workspace_id === defaultId }))
        .sort((one, other) => Number(other.is_default) - Number(one.is_default))
      writeFileSync(`${file}.new`, JSON.stringify(registered, null, 2), { mode: 0o600, flush: true })
      renameSync(`${file}.new`, file)
      setAccounts(registered)
      return true
    },
  }
}

function readAccounts(file: string): SimulatorAccount[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

/** The template that a send names, in the language it names. */
export function findTemplate(state: AccountState, template: Json): Template | undefined {
  const language = isObject(template.language) ? template.language.code : undefined
  return state.templates.get(templateKey({ name: String(template.name), language: String(language) }))
}

/** Records that a customer wrote: this opens the 24-hour window. Null fields keep the known name and username. */
export function recordCustomer(
  state: AccountState,
  key: string,
  at: number,
  { name, username }: { name: string | null; username: string | null },
): void {
  const known = state.customers.get(key)
  if (!known) evictOldest(state.customers, defaultQuotas.customers)
  state.customers.set(key, {
    last_inbound_at: Math.max(known?.last_inbound_at ?? 0, at),
    name: name ?? known?.name ?? null,
    username: username ?? known?.username ?? null,
  })
}

/** Parses the body of `PUT /simulator/control/accounts`. */
export function parseAccount(body: Json): SimulatorAccount {
  const channel = body.channel
  if (channel !== 'msgapp' && channel !== 'social') throw badRequest('channel: msgapp or social')
  const text = (name: string, needed = true) => {
    const value = body[name]
    if (typeof value === 'string' && (value !== '' || !needed)) return value
    if (value === undefined && !needed) return ''
    throw badRequest(`${name}: a string is required`)
  }
  const pace = body.messages_per_second ?? 80
  if (typeof pace !== 'number' || !(pace > 0)) throw badRequest('messages_per_second: a number above 0')
  const callbackUrl = text('callback_url')
  if (!isHttpUrl(callbackUrl)) throw badRequest('callback_url: an http address')
  const workspaceId = text('workspace_id')
  if (!/^[\w.-]{1,100}$/.test(workspaceId)) throw badRequest('workspace_id: letters, digits and hyphens')
  return {
    workspace_id: workspaceId,
    channel,
    account_id: text('account_id'),
    phone_number_id: text('phone_number_id', channel === 'msgapp'),
    display_phone_number: text('display_phone_number', false).replace(/\D/g, ''),
    business_name: text('business_name', false),
    access_token: text('access_token'),
    app_secret: text('app_secret'),
    verify_token: text('verify_token', false),
    callback_url: callbackUrl,
    messages_per_second: pace,
    is_default: false,
  }
}
