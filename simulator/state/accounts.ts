/**
 * The numbers of the provider: one entry per connection of the service, and the state of each.
 *
 * A number has its own rate limits, customers, blocked users and registration.
 * Its provider account (`account_id`) has the templates, the user ids of
 * customers and the settings of the business; numbers of one account share
 * them. On social the account is the number.
 *
 * The built-in simulator loads its accounts from the service's connections. It
 * reloads them when a token or workspace is unknown, and at most once a second
 * while calls arrive, so a changed rate or token takes effect. A standalone
 * simulator registers accounts by a control call and keeps them in a file.
 *
 * Journals of earlier versions, and accounts that are registered without a
 * `connection_id`, know only the workspace and the channel. The default
 * connection of the channel takes over their state when it appears.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isObject, type Json } from '../wire/http.ts'
import { userIdOf } from '../wire/ids.ts'
import { seedTemplates, type Template, templateKey } from '../wire/templates.ts'
import { defaultQuotas, evictOldest } from './quotas.ts'

export type SimulatorAccount = {
  workspace_id: string
  channel: 'msgapp' | 'social'
  /** The service's connection. Without it the account is the only one of its workspace and channel. */
  connection_id?: string
  /** The name of the connection. */
  name?: string
  /** E.164 on msgapp, the username on social. */
  address?: string
  /** The default connection of its channel in its workspace. */
  is_channel_default?: boolean
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
  /** The workspace of control calls that name none. */
  is_default: boolean
}

export type Channel = SimulatorAccount['channel']

/** A customer who wrote to the number. */
type Customer = { last_inbound_at: number; name: string | null; username: string | null }

/** The state of a provider account, which its numbers share. */
export type BusinessState = {
  templates: Map<string, Template>
  /** Settings of the business by name: its profile and menus, uploaded attachments. */
  objects: Map<string, Json>
  /** User ids of the customers who wrote: their number, or an empty text while it is hidden. */
  numbers: Map<string, string>
  /** The user ids of the numbers in `numbers`. */
  userIds: Map<string, string>
}

/** The state of a number. It survives a change of the account's settings. */
export type AccountState = {
  readonly workspace_id: string
  readonly channel: Channel
  /** Undefined for an account that was registered without one. */
  connection_id: string | undefined
  /** Undefined while the journal mentions the number but it is not registered. */
  account: SimulatorAccount | undefined
  business: BusinessState
  /** Tokens of the rate limit, and when they were counted. */
  allowance: number
  allowanceAt: number
  /** When the leaky bucket of each recipient will be empty. */
  pairs: Map<string, number>
  pairsSweptAt: number
  customers: Map<string, Customer>
  /** Objects of the number by name: blocked users, QR codes, its registration. */
  objects: Map<string, Json>
}

/** The owner of a journal line. Lines of accounts without a connection have neither `n` nor `a`. */
export type LineOwner = {
  /** The workspace. */
  w: string
  c: Channel
  /** The connection. */
  n?: string | undefined
  /** The provider account. */
  a?: string | undefined
}

/** The connection and provider account that take over the state of lines without them. */
export type Heir = { w: string; c: Channel; n: string; a: string }

export type Accounts = ReturnType<typeof createAccounts>

type AccountsOptions = {
  /** Keeps the accounts of a standalone simulator. */
  file: string
  load: (() => Promise<SimulatorAccount[]>) | undefined
  /** Serves the sample picture of templates. */
  origin: () => string
  /** A connection takes over the state of its workspace and channel. The journal records it, so it happens once. */
  onTakeOver: (heir: Heir) => void
}

const freshMs = 1_000

const isChannelDefault = ({ is_channel_default = true }: SimulatorAccount) => is_channel_default

export function createAccounts({ file, load, origin, onTakeOver }: AccountsOptions) {
  /** By workspace, channel and connection. A state that was taken over is also found without the connection. */
  const states = new Map<string, AccountState>()
  const businesses = new Map<string, BusinessState>()
  let tokens = new Map<string, AccountState[]>()
  let registered: SimulatorAccount[] = load ? [] : readAccounts(file)
  let loading: Promise<void> | undefined
  let queued: Promise<void> | undefined
  /** The first load follows the replay of the journal, so that a connection can take over the state of older lines. */
  let loadedAt = 0

  function resolveBusiness(owner: LineOwner): BusinessState {
    const key = businessKey(owner)
    let business = businesses.get(key)
    if (!business) {
      business = { templates: new Map(), objects: new Map(), numbers: new Map(), userIds: new Map() }
      if (owner.c === 'msgapp') {
        for (const template of seedTemplates(templateOwner(owner), origin()))
          business.templates.set(templateKey(template), template)
      }
      businesses.set(key, business)
    }
    return business
  }

  function resolveState(owner: LineOwner): AccountState {
    const { w, c, n } = owner
    const key = stateKey(owner)
    let state = states.get(key)
    if (!state) {
      state = {
        workspace_id: w,
        channel: c,
        connection_id: n,
        account: undefined,
        business: resolveBusiness(owner),
        allowance: 0,
        allowanceAt: 0,
        pairs: new Map(),
        pairsSweptAt: 0,
        customers: new Map(),
        objects: new Map(),
      }
      states.set(key, state)
    }
    return state
  }

  /** The heir gets the state of lines without a connection. It is found with and without the connection from now on. */
  function takeOver(heir: Heir) {
    const { w, c, n } = heir
    const state = resolveState({ w, c })
    state.connection_id = n
    states.set(stateKey(heir), state)
    businesses.set(businessKey(heir), resolveBusiness({ w, c }))
  }

  /** The account as an heir, if the state of lines without a connection waits for it. */
  function heirOf(account: SimulatorAccount, accounts: readonly SimulatorAccount[]): Heir | undefined {
    const { workspace_id: w, channel: c, connection_id: n, account_id: a } = account
    const unowned = states.get(stateKey({ w, c }))
    if (n === undefined || !unowned || unowned.connection_id !== undefined) return undefined
    const siblings = accounts.filter((each) => each.workspace_id === w && each.channel === c)
    const isDefault = (siblings.find(isChannelDefault) ?? siblings[0]) === account
    return isDefault && !states.has(stateKey({ w, c, n })) ? { w, c, n, a } : undefined
  }

  function setAccounts(accounts: readonly SimulatorAccount[]) {
    for (const state of states.values()) state.account = undefined
    tokens = new Map()
    for (const account of accounts) {
      const heir = heirOf(account, accounts)
      if (heir) {
        takeOver(heir)
        onTakeOver(heir)
      }
      const owner = ownerOfAccount(account)
      const state = resolveState(owner)
      state.account = account
      state.business = resolveBusiness(owner)
      const sharing = tokens.get(account.access_token)
      if (sharing) sharing.push(state)
      else tokens.set(account.access_token, [state])
    }
  }

  async function reload(loadAccounts: () => Promise<SimulatorAccount[]>) {
    try {
      setAccounts(await loadAccounts())
    } finally {
      loadedAt = Date.now()
      loading = undefined
    }
  }

  /** Reloads the accounts. A load in flight may have read the table before the caller's change, so the caller gets the next load. */
  function refresh(): Promise<void> {
    if (!load) {
      if (loadedAt === 0) setAccounts(registered)
      loadedAt = Date.now()
      return Promise.resolve()
    }
    if (!loading) {
      loading = reload(load)
      return loading
    }
    queued ??= loading
      .catch(() => {})
      .then(() => {
        queued = undefined
        loading ??= reload(load)
        return loading
      })
    return queued
  }

  const listKnown = () => [...new Set(states.values())].filter(({ account }) => account)

  const defaultWorkspace = (known: readonly AccountState[]) =>
    (known.find(({ account }) => account?.is_default) ?? known[0])?.workspace_id

  const choose = (workspaceId: string | undefined, channel: Channel) => {
    const known = listKnown()
    const wantedId = workspaceId ?? defaultWorkspace(known)
    const own = known.filter((state) => state.channel === channel && state.workspace_id === wantedId)
    return own.find(({ account }) => account && isChannelDefault(account)) ?? own[0]
  }

  /** Without a workspace, one of the default workspace comes first: names of connections need not be unique. */
  const chooseConnection = (workspaceId: string | undefined, connectionId: string) => {
    const known = listKnown()
    const found = known.filter(({ connection_id }) => connection_id === connectionId)
    const wantedId = workspaceId ?? defaultWorkspace(known)
    const own = found.find(({ workspace_id }) => workspace_id === wantedId)
    return own ?? (workspaceId === undefined ? found[0] : undefined)
  }

  /** Reloads the accounts if they are stale, and once more before it gives up. */
  async function findFresh(find: () => AccountState | undefined) {
    if (Date.now() - loadedAt >= freshMs) await refresh()
    const found = find()
    if (found) return found
    await refresh()
    return find()
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
    /** The provider account of a journal line. */
    resolveBusiness: (owner: LineOwner) =>
      owner.a === undefined ? resolveState({ w: owner.w, c: owner.c }).business : resolveBusiness(owner),
    takeOver,
    /** The default account of the channel, for a control call. */
    find: (workspaceId: string | undefined, channel: Channel) => findFresh(() => choose(workspaceId, channel)),
    /** The account of the connection that a control call names. */
    findConnection: (workspaceId: string | undefined, connectionId: string) =>
      findFresh(() => chooseConnection(workspaceId, connectionId)),
    list: listKnown,
    /** Whether the user id is known to another provider account only. An id that no customer has is not. */
    isForeignUserId({ business }: AccountState, userId: string): boolean {
      if (business.numbers.has(userId)) return false
      for (const other of businesses.values()) if (other.numbers.has(userId)) return true
      return false
    },
    /** False when the maximum number of accounts is registered. */
    register(input: SimulatorAccount, max: number): boolean {
      const isSibling = (other: SimulatorAccount) =>
        other.workspace_id === input.workspace_id && other.channel === input.channel
      const siblings = registered.filter(isSibling)
      const before =
        input.connection_id === undefined
          ? (siblings.find(isChannelDefault) ?? siblings[0])
          : siblings.find(({ connection_id: id = input.connection_id }) => id === input.connection_id)
      const others = registered.filter((other) => other !== before)
      if (others.length >= max) return false
      const { connection_id, name, address, is_channel_default } = { ...before, ...input }
      const isDefault = is_channel_default ?? !siblings.some((other) => other !== before && isChannelDefault(other))
      const account: SimulatorAccount = {
        ...input,
        ...(connection_id === undefined ? {} : { connection_id, is_channel_default: isDefault }),
        ...(name === undefined ? {} : { name }),
        ...(address === undefined ? {} : { address }),
      }
      const defaultId = registered[0]?.workspace_id ?? account.workspace_id
      registered = [...others, account]
        .map((each) => ({
          ...each,
          is_default: each.workspace_id === defaultId,
          ...(isDefault && each !== account && isSibling(each) ? { is_channel_default: false } : {}),
        }))
        .sort((one, other) => Number(other.is_default) - Number(one.is_default))
      writeFileSync(`${file}.new`, JSON.stringify(registered, null, 2), { mode: 0o600, flush: true })
      renameSync(`${file}.new`, file)
      setAccounts(registered)
      return true
    },
  }
}

const stateKey = ({ w, c, n = '' }: LineOwner) => `${c} ${w} ${n}`

const businessKey = ({ w, c, a = '' }: LineOwner) => `${c} ${w} ${a}`

/** An account without a connection has the state of its workspace and channel, whatever its ids are. */
function ownerOfAccount({ workspace_id: w, channel: c, connection_id: n, account_id: a }: SimulatorAccount): LineOwner {
  return n === undefined ? { w, c } : { w, c, n, a }
}

/** The owner of journal lines about this number. */
export function ownerOf({ workspace_id: w, channel: c, connection_id: n, account }: AccountState): LineOwner {
  return n === undefined ? { w, c } : { w, c, n, a: account?.account_id }
}

/** What the ids of an account's templates are made of. */
export const templateOwner = ({ w, a = '' }: LineOwner): string => (a === '' ? w : `${w} ${a}`)

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
  return state.business.templates.get(templateKey({ name: String(template.name), language: String(language) }))
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

/** Records the user id of a customer, and the number that belongs to it unless it is hidden (an empty text). */
export function recordUserId({ numbers, userIds }: BusinessState, userId: string, number: string): void {
  const known = numbers.get(userId)
  if (known === undefined) evictOldest(numbers, defaultQuotas.customers)
  numbers.set(userId, number || known || '')
  if (number === '') return
  if (!userIds.has(number)) evictOldest(userIds, defaultQuotas.customers)
  userIds.set(number, userId)
}

/** The user id that the provider account sees for a number. */
export const userIdOfNumber = ({ account, business }: AccountState, waId: string): string =>
  business.userIds.get(waId) ?? userIdOf(account?.account_id ?? '', waId)
