/** Notifications over a slow connection. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import pino from 'pino'
import { times } from '../../common/times.ts'
import type { Db } from '../lib/postgres/db.ts'
import { createHealth } from '../lib/process/health.ts'
import { startLive } from './live.ts'

test('announcements during a slow notification share the next one, so the delay does not grow', async () => {
  const sent: string[] = []
  const begun = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const query = async (_text: TemplateStringsArray, _channel: string, payload: string) => {
    begun.resolve()
    await gate.promise
    sent.push(payload)
  }
  const db = Object.assign(query, { listen: async () => ({ unlisten: async () => {} }) }) as unknown as Db
  const live = await startLive({ db, log: pino({ level: 'silent' }), health: createHealth(times.health) })
  const [first = '', ...others] = Array.from({ length: 30 }, (_, i) => `topic-${i}`)
  live.announce(first)
  await begun.promise
  for (const topic of others) {
    live.announce(topic)
    await turn()
  }
  const stopped = live.stop()
  gate.resolve()
  await stopped
  assert.deepEqual(sent, [first, others.join(' ')])
})
