/**
 * The API client: `new Parley({ apiKey, baseUrl })`, then `parley.<resource>.<method>()`.
 *
 * A client holds no connection and no state. Create one per program; it needs no closing. The key is in a private field, so
 * logging a client does not reveal it.
 */
import type { CallOptions, Fetch } from './request.ts'
import {
  automationsOf,
  broadcastsOf,
  type Caller,
  connectionsOf,
  contactsOf,
  conversationsOf,
  createCaller,
  episodesOf,
  eventsOf,
  membersOf,
  messagesOf,
  reportsOf,
  segmentsOf,
  tagsOf,
  teamsOf,
  templatesOf,
  webhooksOf,
} from './resources.ts'
import type { Me, Usage } from './types.ts'

export type ParleyOptions = {
  /** An API key of the workspace. The constructor throws if it is missing or malformed, so you can pass an environment variable as it is. */
  apiKey: string | undefined
  /** The URL of the API, including `/v1`. Default: `http://127.0.0.1:4000/v1`. */
  baseUrl?: string | undefined
  /** Replaces the global `fetch`. */
  fetch?: Fetch | undefined
  /** The timeout of each attempt. Default: 60,000, the longest time that the service takes. */
  timeoutMs?: number | undefined
  /** The maximum number of retries. Default: 2. */
  maxRetries?: number | undefined
}

export class Parley {
  readonly contacts: ReturnType<typeof contactsOf>
  readonly tags: ReturnType<typeof tagsOf>
  readonly segments: ReturnType<typeof segmentsOf>
  readonly conversations: ReturnType<typeof conversationsOf>
  readonly episodes: ReturnType<typeof episodesOf>
  readonly reports: ReturnType<typeof reportsOf>
  readonly connections: ReturnType<typeof connectionsOf>
  readonly members: ReturnType<typeof membersOf>
  readonly teams: ReturnType<typeof teamsOf>
  readonly messages: ReturnType<typeof messagesOf>
  readonly templates: ReturnType<typeof templatesOf>
  readonly automations: ReturnType<typeof automationsOf>
  readonly broadcasts: ReturnType<typeof broadcastsOf>
  readonly webhooks: ReturnType<typeof webhooksOf>
  readonly events: ReturnType<typeof eventsOf>
  readonly #caller: Caller

  constructor({
    apiKey,
    baseUrl = 'http://127.0.0.1:4000/v1',
    fetch = (url, init) => globalThis.fetch(url, init),
    timeoutMs = 60_000,
    maxRetries = 2,
  }: ParleyOptions) {
    if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey)) throw new TypeError('apiKey: must be an API key')
    if (!isHttp(baseUrl)) throw new TypeError('baseUrl: must be an http or https URL')
    const caller = createCaller({ apiKey, baseUrl: baseUrl.replace(/\/+$/, ''), fetch, timeoutMs, maxRetries })
    this.#caller = caller
    this.contacts = contactsOf(caller)
    this.tags = tagsOf(caller)
    this.segments = segmentsOf(caller)
    this.conversations = conversationsOf(caller)
    this.episodes = episodesOf(caller)
    this.reports = reportsOf(caller)
    this.connections = connectionsOf(caller)
    this.members = membersOf(caller)
    this.teams = teamsOf(caller)
    this.messages = messagesOf(caller)
    this.templates = templatesOf(caller)
    this.automations = automationsOf(caller)
    this.broadcasts = broadcastsOf(caller)
    this.webhooks = webhooksOf(caller)
    this.events = eventsOf(caller)
  }

  /** Returns the workspace of the key and the scopes of the key. */
  me(options?: CallOptions): Promise<Me> {
    return this.#caller.call('GET /me', {}, options)
  }

  /** Returns how many messages the workspace has sent this month, and how many its plan allows. */
  usage(options?: CallOptions): Promise<Usage> {
    return this.#caller.call('GET /usage', {}, options)
  }
}

function isHttp(url: string): boolean {
  try {
    return /^https?:$/.test(new URL(url).protocol)
  } catch {
    return false
  }
}
