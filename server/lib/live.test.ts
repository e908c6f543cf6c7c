/** Notifications over a slow connection. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pino from 'pino'
import { times } from '../../common/times.ts'
import type { Db } from './db.ts'
import { createHealth } from './health.ts'
import { startLive } from './live.ts'

test('announcements during a slow notification share the next one, so the delay does not grow', async () => {
  const roundTripMs = 200
  const sent: string[] = []
  const query = async (_text: TemplateStringsArray, _channel: string, payload: string) => {
    await sleep(roundTripMs)
    sent.push(payload)
  }
  const db = Object.assign(query, { listen: async () => ({ unlisten: async () => {} }) }) as unknown as Db
  const live = await startLive({ db, log: pino({ level: 'silent' }), health: createHealth(times.health) })
  const topics = Array.from({ length: 30 }, (_, i) => `topic-${i}`)
  for (const topic of topics) {
    live.announce(topic)
    await sleep(30)
  }
  const startedAt = performance.now()
  await live.stop()
  const tookMs = performance.now() - startedAt
  assert.deepEqual(sent.flatMap((payload) => payload.split(' ')).sort(), topics.toSorted())
  assert.ok(sent.length < topics.length / 2, `${sent.length} notifications`)
  // The one in flight and the last one; ten times that on a busy machine is still less than the time of 30.
  assert.ok(tookMs < 20 * roundTripMs, `the last announcement was sent ${Math.round(tookMs)} ms later`)
})
