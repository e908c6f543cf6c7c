/**
 * The background: every loop on one screen.
 */
import type { FastifyBaseLogger } from 'fastify'
import { sweepAnswers } from './accounts/idempotency.ts'
import { sweepSessions } from './accounts/sessions.ts'
import type { Db } from './lib/db.ts'
import { type Loop, startRepeating } from './lib/loop.ts'

const minuteMs = 60_000

export function startWorker({ db, log }: { db: Db; log: FastifyBaseLogger }): Loop {
  const loops = [
    startRepeating({ name: 'sweep-answers', everyMs: 10 * minuteMs, log, run: () => sweepAnswers(db) }),
    startRepeating({ name: 'sweep-sessions', everyMs: 10 * minuteMs, log, run: () => sweepSessions(db) }),
  ]
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()))
    },
  }
}
