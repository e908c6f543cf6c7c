/**
 * A workspace of a Parley service, as your server sees it: `new Parley({
 * apiKey, baseUrl })`, then a noun and a verb.
 *
 * It keeps no connection and no state, so one for the whole program is right,
 * and it need not be closed. The key is kept where printing it shows nothing.
 */
import type { CallOptions, Fetch } from './request.ts'
import {
  broadcastsOf,
  type Caller,
  contactsOf,
  conversationsOf,
  createCaller,
  eventsOf,
  messagesOf,
  segmentsOf,
  webhooksOf,
} from './resources.ts'
import type { Me } from './types.ts'

export type ParleyOptions = {
  /** A key of the workspace. Not there or not possible: the constructor throws, so a variable of the environment can be given as it is. */
  apiKey: string | undefined
  /** Where the API is, `/v1` included; `http://127.0.0.1:4000/v1` when absent. */
  baseUrl?: string | undefined
  /** Instead of the platform's own. */
  fetch?: Fetch | undefined
  /** For each attempt; 60,000 when absent, as long as the service takes at most. */
  timeoutMs?: number | undefined
  /** How often a call is repeated at most; 2 when absent. */
  maxRetries?: number | undefined
}

export class Parley {
  readonly contacts: ReturnType<typeof contactsOf>
  readonly segments: ReturnType<typeof segmentsOf>
  readonly conversations: ReturnType<typeof conversationsOf>
  readonly messages: ReturnType<typeof messagesOf>
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
    if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey)) throw new TypeError('apiKey: not an API key')
    if (!isHttp(baseUrl)) throw new TypeError('baseUrl: must be an http or https URL')
    const caller = createCaller({ apiKey, baseUrl: baseUrl.replace(/\/+$/, ''), fetch, timeoutMs, maxRetries })
    this.#caller = caller
    this.contacts = contactsOf(caller)
    this.segments = segmentsOf(caller)
    this.conversations = conversationsOf(caller)
    this.messages = messagesOf(caller)
    this.broadcasts = broadcastsOf(caller)
    this.webhooks = webhooksOf(caller)
    this.events = eventsOf(caller)
  }

  /** The workspace the key acts on, and the scopes it has. */
  me(options?: CallOptions): Promise<Me> {
    return this.#caller.call('GET /me', {}, options)
  }
}

function isHttp(url: string): boolean {
  try {
    return /^https?:$/.test(new URL(url).protocol)
  } catch {
    return false
  }
}
