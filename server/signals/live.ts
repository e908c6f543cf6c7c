/**
 * Notifications between processes: hints that something changed, without the change itself.
 *
 * Listeners of a topic re-read the rows. The announcement of a topic may name the ids of these rows. Each process sends at most one
 * NOTIFY per tick, because a notification takes an instance-wide lock at commit. The first topic after a pause is sent at once: it
 * wakes the engines, which are in another process. After a lost connection the listeners of
 * all topics are notified without ids, since hints may be missing.
 */
import type { FastifyBaseLogger } from 'fastify'
import { newId } from '../lib/id.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { Health } from '../lib/process/health.ts'
import { startRepeating } from '../lib/process/loop.ts'
import { within } from '../lib/time.ts'

/** `ids` is undefined when any row of the topic may have changed. */
type OnNotified = (ids?: readonly string[]) => void

export type Live = {
  /** Without `ids`, or with very many, listeners learn only the topic. */
  announce(topic: string, ids?: readonly string[]): void
  /** Calls `onNotified` soon after any process announced the topic. Returns a function that stops listening. */
  listen(topic: string, onNotified: OnNotified): () => void
  stop(): Promise<void>
}

const channel = 'parley_live'
const tickMs = 25
/** PostgreSQL accepts 8,000 bytes per notification. */
const maxPayload = 7_000
/** The ids of a topic in one tick; with 36 characters each they fit into a notification. */
const maxIds = 100

/** How often a process checks that its own notifications come back, and how long one may take. */
const checkMs = 10_000
const checkTimeoutMs = 5_000

type LiveOptions = { db: Db; log: FastifyBaseLogger; health: Health }

export async function startLive({ db, log, health }: LiveOptions): Promise<Live> {
  const listeners = new Map<string, Set<OnNotified>>()
  /** The topics of this tick with their ids; undefined: without ids. */
  let announced = new Map<string, Set<string> | undefined>()
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> | undefined

  const notify = (topic: string, ids?: readonly string[]) => {
    for (const onNotified of listeners.get(topic) ?? []) onNotified(ids)
  }
  const subscription = await db.listen(
    channel,
    (payload) => {
      for (const item of payload.split(' ')) {
        const [topic = '', ids] = item.split('/')
        notify(topic, ids?.split(','))
      }
    },
    // Called after each reconnect: notifications during the outage are not repeated.
    () => {
      for (const topic of listeners.keys()) notify(topic)
    },
  )

  async function send(topics: typeof announced): Promise<void> {
    const items = [...topics].map(([topic, ids]) => (ids ? `${topic}/${[...ids].join()}` : topic))
    let payload = ''
    for (const item of [...items, '']) {
      if (payload && (item === '' || payload.length + item.length > maxPayload)) {
        await db`select pg_notify(${channel}, ${payload})`
        payload = ''
      }
      payload = payload ? `${payload} ${item}` : item
    }
  }

  function announce(topic: string, ids?: readonly string[]): void {
    const known = announced.has(topic) ? announced.get(topic) : new Set<string>()
    for (const id of ids ?? []) known?.add(id)
    announced.set(topic, ids && known && known.size <= maxIds ? known : undefined)
    if (timer) return
    timer = setTimeout(endTick, tickMs)
    // Includes what the same step of the program announces next.
    setImmediate(sendAnnounced)
  }

  function endTick(): void {
    timer = announced.size > 0 ? setTimeout(endTick, tickMs) : undefined
    sendAnnounced()
  }

  /** One at a time: over a slow connection, what is announced meanwhile shares the next one. A queue of them would only grow. */
  function sendAnnounced(): void {
    if (announced.size === 0 || sending) return
    const topics = announced
    announced = new Map()
    sending = send(topics)
      .catch((error) =>
        log.warn({ err: error }, 'a notification could not be sent; other processes see the change at their next poll'),
      )
      .finally(() => {
        sending = undefined
      })
  }

  function listen(topic: string, onNotified: OnNotified): () => void {
    const callbacks = listeners.get(topic) ?? new Set()
    listeners.set(topic, callbacks.add(onNotified))
    return () => {
      callbacks.delete(onNotified)
      if (callbacks.size === 0) listeners.delete(topic)
    }
  }

  /** Missing notifications cause no visible failure: streams stay silent. So this check turns them into an error. */
  async function checkNotifications(): Promise<void> {
    const topic = `check:${newId()}`
    let stopListening = () => {}
    const received = new Promise<true>((resolve) => {
      stopListening = listen(topic, () => resolve(true))
    })
    announce(topic)
    const isReceived = await within(checkTimeoutMs, received)
    stopListening()
    if (!isReceived) throw new Error(`a notification was not received within ${checkTimeoutMs / 1000} s`)
  }
  const checking = startRepeating({ name: 'notifications', everyMs: checkMs, log, health, run: checkNotifications })

  return {
    announce,
    listen,
    async stop() {
      await checking.stop()
      clearTimeout(timer)
      await sending
      sendAnnounced()
      await sending
      await subscription.unlisten().catch(() => {})
    },
  }
}
