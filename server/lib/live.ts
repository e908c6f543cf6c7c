/**
 * News across processes: a hint that something changed, never the thing.
 *
 * Whoever hears of a topic looks at the rows. Topics of a tick go out as one
 * NOTIFY a process (a notification takes an instance-wide lock at commit, so
 * never one a row). A process that lost its line looks at everything when it
 * is back: `heard` is called for every topic somebody waits for.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Db } from './db.ts'
import type { Health } from './health.ts'
import { newId } from './id.ts'
import { startRepeating } from './loop.ts'
import { within } from './time.ts'

export type Live = {
  announce(topic: string): void
  /** Be told of a topic, soon after it was announced by any process. Answers how to end it. */
  listen(topic: string, heard: () => void): () => void
  stop(): Promise<void>
}

const channel = 'parley_live'
const tickMs = 25
/** PostgreSQL takes 8,000 bytes a notification. */
const maxPayload = 7_000

/** How often a process checks that its own notifications come back, and how long one may take. */
const checkMs = 10_000
const checkTimeoutMs = 5_000

type Living = { db: Db; log: FastifyBaseLogger; health: Health }

export async function startLive({ db, log, health }: Living): Promise<Live> {
  const listeners = new Map<string, Set<() => void>>()
  let waiting = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> = Promise.resolve()

  const tell = (topic: string) => {
    for (const heard of listeners.get(topic) ?? []) heard()
  }
  const subscription = await db.listen(
    channel,
    (payload) => payload.split(' ').forEach(tell),
    // Also after the line was lost: what was announced meanwhile is not repeated.
    () => [...listeners.keys()].forEach(tell),
  )

  async function send(topics: Set<string>): Promise<void> {
    let payload = ''
    for (const topic of [...topics, '']) {
      if (payload && (topic === '' || payload.length + topic.length > maxPayload)) {
        await db`select pg_notify(${channel}, ${payload})`
        payload = ''
      }
      payload = payload ? `${payload} ${topic}` : topic
    }
  }

  function announce(topic: string): void {
    waiting.add(topic)
    timer ??= setTimeout(() => {
      const topics = waiting
      waiting = new Set()
      timer = undefined
      sending = send(topics).catch((error) => log.warn({ err: error }, 'news could not be announced'))
    }, tickMs)
  }

  function listen(topic: string, heard: () => void): () => void {
    const heardOf = listeners.get(topic) ?? new Set()
    listeners.set(topic, heardOf.add(heard))
    return () => {
      heardOf.delete(heard)
      if (heardOf.size === 0) listeners.delete(topic)
    }
  }

  /** Without notifications nothing fails visibly: streams stay silent. So a missing one must be an error. */
  async function checkNotifications(): Promise<void> {
    const topic = `check:${newId()}`
    let end = () => {}
    const received = new Promise<true>((resolve) => {
      end = listen(topic, () => resolve(true))
    })
    announce(topic)
    const isReceived = await within(checkTimeoutMs, received)
    end()
    if (!isReceived) throw new Error(`a notification did not come back within ${checkTimeoutMs / 1000} s`)
  }
  const checking = startRepeating({ name: 'notifications', everyMs: checkMs, log, health, run: checkNotifications })

  return {
    announce,
    listen,
    async stop() {
      await checking.stop()
      clearTimeout(timer)
      await sending
      await subscription.unlisten().catch(() => {})
    },
  }
}
