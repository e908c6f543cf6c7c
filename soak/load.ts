/**
 * Load on all journeys, and a record of what was asked and acknowledged.
 *
 * A caller repeats its request with the same `Idempotency-Key` when it gets no answer, or one of 409, 429 and 5xx. After 503 it waits for
 * the time in `Retry-After`. If nothing reached the provider, it sends again under a new key. The documentation asks integrators to do
 * the same.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { times as realTimes, type Times } from '../common/times.ts'
import { Parley } from '../sdk/src/index.ts'
import type { Json, Owner } from '../tests/owner.ts'
import type { Stack } from './stack.ts'

type Asked = {
  /**
   * By recipient: the id of the message that the service acknowledged, or the reason why it did not. `isUnknown`: the service did
   * not know whether the provider took the message.
   */
  sends: Map<string, { messageId?: string; isUnknown?: boolean; refusal?: string }>
  /** By the channel's id: the customer's messages. */
  inbound: Map<string, { from: string; text: string }>
  /** By name: the recipients, and the id that the service acknowledged. */
  broadcasts: Map<string, { phones: string[]; id?: string }>
  /** The ids of contacts that the service acknowledged. */
  contacts: Set<string>
  /** The ids of the events that a stream delivered, in order. */
  streamed: string[]
}

export type Load = {
  asked: Asked
  /** Answers with a status of 500 or more. */
  failures: string[]
  /** How many requests of each kind had an answer. */
  counts(): Record<string, number>
  /** A request had an answer that it should not have. `stop` throws it. */
  hasFailed(): boolean
  /** Asks for nothing new, and waits until every request has its answer. */
  stop(): Promise<void>
  /** Closes the stream and gives up requests without an answer. */
  end(): void
}

type LoadOptions = {
  /** Between two sends. */
  pauseMs?: number
  broadcastSize?: number
  broadcastEveryMs?: number
  /**
   * Requests of one loop that wait for an answer. Few by default: a machine that is too slow for the pauses gets less load, instead of
   * a queue in which every request exceeds the time of its attempt.
   */
  maxWaiting?: number
  /** Of the services. An attempt of a caller takes as long as a repeated request may wait for its outcome. */
  times?: Times
}

const template = { name: 'order_confirmed', language: 'en_US', params: ['Ada', 'A-10042'] }
const repeatMs = 250

const outcomeOf = (body: Json): string | undefined => body?.error?.details?.outcome

/** Whether the provider may have taken the message. A repeat would get the same answer. */
const isUnknown = (body: Json): boolean => outcomeOf(body) === 'unknown'

export async function startLoad(
  owner: Owner,
  stack: Stack,
  {
    pauseMs = 20,
    broadcastSize = 100,
    broadcastEveryMs = 15_000,
    maxWaiting = 20,
    times = realTimes,
  }: LoadOptions = {},
): Promise<Load> {
  const asked: Asked = {
    sends: new Map(),
    inbound: new Map(),
    broadcasts: new Map(),
    contacts: new Set(),
    streamed: [],
  }
  const failures: string[] = []
  const answered: Record<string, number> = {}
  const stopping = new AbortController()
  const ending = new AbortController()
  const end = () => ending.abort()
  owner.after(end)
  let lastPhone = 14_150_000_000
  let lastKey = 0
  const newPhone = () => `+${++lastPhone}`
  const nextKey = () => stack.keys[lastKey++ % stack.keys.length] ?? ''
  const count = (what: string) => {
    answered[what] = (answered[what] ?? 0) + 1
  }

  /** Posts until the service gives an answer that a repeat would not change. */
  async function post(path: string, body: unknown): Promise<{ status: number; body: Json }> {
    let idempotencyKey = randomUUID()
    for (;;) {
      const response = await fetch(`${stack.url}/v1${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${nextKey()}`,
          'content-type': 'application/json',
          'idempotency-key': idempotencyKey,
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(times.messages.repeatMs),
      }).catch(() => undefined)
      const answer: Json = await response?.json().catch(() => undefined)
      if (response && response.status >= 500) failures.push(`${path}: ${response.status} ${JSON.stringify(answer)}`)
      const isFinal =
        response && answer && (isUnknown(answer) || (response.status < 500 && ![409, 429].includes(response.status)))
      if (isFinal) return { status: response.status, body: answer }
      count(`repeated after ${response?.status ?? 'no answer'}`)
      // The old key would replay this answer.
      if (outcomeOf(answer) === 'unsent') idempotencyKey = randomUUID()
      // After 429 the next attempt uses another key.
      const waitSeconds = response?.status === 503 ? Number(response.headers.get('retry-after')) : 0
      await sleep(Math.max(repeatMs, waitSeconds * 1000), undefined, { signal: ending.signal })
    }
  }

  async function send(): Promise<void> {
    const to = newPhone()
    asked.sends.set(to, {})
    const { status, body } = await post('/messages', { to, type: 'template', template })
    if (isUnknown(body)) asked.sends.set(to, { messageId: body.error.details.message_id, isUnknown: true })
    else asked.sends.set(to, status === 201 ? { messageId: body.data.message_id } : { refusal: JSON.stringify(body) })
    count('sends')
  }

  async function write(): Promise<void> {
    const message = { from: newPhone(), text: `question ${randomUUID()}` }
    const message_id = `wamid.${randomUUID()}`
    asked.inbound.set(message_id, message)
    // The simulator repeats the callback until a service accepts it.
    while (!(await stack.provider.control('POST', '/inbound', toInbound(message, message_id)).catch(() => undefined)))
      await sleep(repeatMs, undefined, { signal: ending.signal })
    count('inbound')
  }

  const toInbound = (message: object, message_id: string) => ({
    workspace_id: stack.workspaceId,
    channel: 'msgapp',
    ...message,
    message_id,
  })

  async function broadcast(): Promise<void> {
    const name = `Broadcast ${randomUUID()}`
    const phones = Array.from({ length: broadcastSize }, newPhone)
    asked.broadcasts.set(name, { phones })
    const recipients = phones.map((to) => ({ to }))
    const { status, body } = await post('/broadcasts', { name, type: 'template', template, recipients })
    if (status !== 202) throw new Error(JSON.stringify(body))
    asked.broadcasts.set(name, { phones, id: body.data.id })
    count('broadcasts')
  }

  async function addContact(): Promise<void> {
    const { status, body } = await post('/contacts', { phone: newPhone(), name: 'Ann Soak' })
    // 200: an attempt whose answer was lost has created it.
    if (status > 201) throw new Error(JSON.stringify(body))
    asked.contacts.add(body.data.id)
    count('contacts')
  }

  async function stream(onReady: () => void): Promise<void> {
    const parley = new Parley({ apiKey: stack.keys.at(-1) ?? '', baseUrl: `${stack.url}/v1` })
    const events = parley.events.stream({}, { signal: ending.signal, onReady })
    for await (const event of events) asked.streamed.push(event.id)
  }

  /** Starts `run` again and again, also while earlier ones wait for their answer. */
  async function repeat(run: () => Promise<void>, everyMs: number): Promise<void> {
    const waiting = new Set<Promise<void>>()
    while (!stopping.signal.aborted && !ending.signal.aborted) {
      const one = run().then(() => void waiting.delete(one))
      waiting.add(one)
      one.catch(() => stopping.abort())
      if (waiting.size >= maxWaiting) await Promise.race(waiting)
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
    await Promise.all(waiting)
  }

  await new Promise<void>((resolve, reject) => {
    stream(resolve).catch((error) => (ending.signal.aborted ? undefined : reject(error)))
  })
  const working = [
    repeat(send, pauseMs),
    repeat(write, pauseMs * 2),
    repeat(addContact, pauseMs * 4),
    repeat(broadcast, broadcastEveryMs),
  ]
  const loops = Promise.all(working)
  // `stop` reports a failure.
  loops.catch(() => stopping.abort())
  return {
    asked,
    failures,
    counts: () => ({ ...answered, streamed: asked.streamed.length }),
    hasFailed: () => stopping.signal.aborted,
    async stop() {
      stopping.abort()
      await loops
    },
    end,
  }
}
