/**
 * The background: every loop on one screen.
 */
import type { FastifyBaseLogger } from 'fastify'
import { sweepAnswers } from './accounts/idempotency.ts'
import { sweepSessions } from './accounts/sessions.ts'
import type { Channel } from './channels/channel.ts'
import type { ChannelName } from './contacts/contacts.ts'
import type { Sealer } from './lib/crypto.ts'
import type { Db } from './lib/db.ts'
import { type Loop, startRepeating } from './lib/loop.ts'
import { analyzeGrown } from './lib/statistics.ts'
import type { Store } from './lib/store.ts'
import { applyEarly } from './messages/intake.ts'
import { dropMedia, startFetchingMedia } from './messages/media.ts'
import { sweepPending } from './messages/outbound.ts'
import { sweepEarly } from './messages/reports.ts'
import { sweepEvents } from './webhooks/emit.ts'

export type Working = {
  db: Db
  log: FastifyBaseLogger
  sealer: Sealer
  channels: Record<ChannelName, Channel>
  store: Store
}

/** `onMedia`: there is media to fetch, at once. */
export type Worker = Loop & { onMedia(): void }

const minuteMs = 60_000

export function startWorker({ db, log, sealer, channels, store }: Working): Worker {
  const media = startFetchingMedia({ db, sealer, channels, store, log })
  const loops = [
    media,
    startRepeating({ name: 'statistics', everyMs: 1_000, log, run: () => analyzeGrown(db) }),
    startRepeating({
      name: 'early-reports',
      everyMs: 1_000,
      log,
      run: () => applyEarly(db, (ids) => void dropMedia(store, ids, log)),
    }),
    startRepeating({ name: 'sweep-early-reports', everyMs: 10 * minuteMs, log, run: () => sweepEarly(db) }),
    startRepeating({ name: 'sweep-events', everyMs: 60 * minuteMs, log, run: () => sweepEvents(db) }),
    startRepeating({ name: 'sweep-pending', everyMs: minuteMs, log, run: () => sweepPending(db) }),
    startRepeating({ name: 'sweep-answers', everyMs: 10 * minuteMs, log, run: () => sweepAnswers(db) }),
    startRepeating({ name: 'sweep-sessions', everyMs: 10 * minuteMs, log, run: () => sweepSessions(db) }),
  ]
  return {
    onMedia: media.wake,
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()))
    },
  }
}
