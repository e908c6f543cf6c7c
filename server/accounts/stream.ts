/**
 * `/stream`: keeps a member's pages up to date.
 *
 * `changed` (of the workspace) and `member_changed` (of data that only this member sees) say that something changed, but not what:
 * the page reloads the data it shows. A stream sends the first event at once and at most five per second. It ends with its session.
 *
 * The events of feeds carry the data, because it changes too often for every page to reload it.
 */

import type { Step } from '../lib/http/apply-steps.ts'
import { createCoalescedRunner, createStreamRegistry } from '../lib/http/event-stream.ts'
import type { App } from '../lib/http/server.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { Live } from '../signals/live.ts'
import { accessTopic, memberTopic, type Signals, workspaceTopic } from '../signals/signals.ts'
import type { Session } from './callers.ts'
import { roles } from './members.ts'
import { isUnchanged } from './sign-in/sessions.ts'
import { type Row, row } from './table.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route changes nothing that other members see, although it is not a GET. */
    isQuiet?: boolean
  }
}

const streamsPerMember = 50
const pauseMs = 200
const retryMs = 2_000

/** Events that carry their data. */
export type StreamFeed = {
  event: string
  /** Send the event also when a stream opens. */
  isSentFirst: boolean
  topicOf(workspaceId: string): string
  /** Reads the data after the topic of the workspace was announced. `ids` is undefined when any row may have changed. */
  read(reader: Session, ids: readonly string[] | undefined): Promise<object>
}

export type MemberStreamOptions = {
  db: Db
  live: Live
  heartbeatMs: number
  drainTimeoutMs: number
  feeds: readonly StreamFeed[]
  /** Called when a stream opens. Returns what to call when it closes. */
  onOpened(member: { workspaceId: string; memberId: string }): () => void
}

export function streamTable(
  { db, live, heartbeatMs, drainTimeoutMs, feeds, onOpened }: MemberStreamOptions,
  app: App,
): readonly Row[] {
  const streams = createStreamRegistry(app, { drainTimeoutMs })
  return [
    row({
      call: 'GET /stream',
      members: roles,
      run: async ({ caller }, reply) => {
        streams.enter(reply, [{ key: caller.member.id, most: streamsPerMember }])
        const stream = streams.open(reply, { heartbeatMs, retryMs, isAuthorized: () => isUnchanged(db, caller) })
        const { workspaceId } = caller
        // The page connects again, as a member who may see more or less.
        stream.onClose(live.listen(accessTopic(workspaceId), () => stream.end(retryMs)))
        const createNotifier = (run: () => Promise<void>) =>
          createCoalescedRunner({
            run,
            isOpen: stream.isOpen,
            onError: (error) => app.log.warn({ err: error }, 'a member stream could not be notified'),
            pauseMs,
          })
        const send = (event: string) => createNotifier(() => stream.send(event, {}))
        stream.onClose(live.listen(workspaceTopic(workspaceId), send('changed')))
        stream.onClose(live.listen(memberTopic(caller.member.id), send('member_changed')))
        if (caller.member.role !== 'viewer') {
          stream.onClose(onOpened({ workspaceId, memberId: caller.member.id }))
        }
        const notifiers = feeds.map(({ event, topicOf, read, isSentFirst }) => {
          const changed = createIdCollector()
          const send = createNotifier(async () => {
            const data = await read(caller, changed.take()).catch((error) => {
              // The page reconnects and loads everything again.
              stream.end(retryMs)
              throw error
            })
            await stream.send(event, data)
          })
          const onNotified = (ids?: readonly string[]) => {
            changed.add(ids)
            void send()
          }
          stream.onClose(live.listen(topicOf(workspaceId), onNotified))
          return { onNotified, isSentFirst }
        })
        // A page that loads its data after `ready` misses no change.
        await stream.send('ready', {})
        for (const { onNotified, isSentFirst } of notifiers) if (isSentFirst) onNotified()
      },
    }),
  ]
}

/** Collects the ids of announcements. `take` returns undefined when one had no ids. */
function createIdCollector() {
  let collected: Set<string> | undefined = new Set()
  return {
    add(ids: readonly string[] | undefined) {
      if (!ids) collected = undefined
      else for (const id of ids) collected?.add(id)
    },
    take(): readonly string[] | undefined {
      const taken = collected
      collected = new Set()
      return taken && [...taken]
    },
  }
}

/** Signals the workspace after every successful request that may have changed something. */
export const signalChanges = (signals: Signals): Step => ({
  ofRoute: ({ method, config }) =>
    method === 'GET' || config?.isQuiet
      ? undefined
      : {
          onResponse: ({ caller }, { statusCode }, done) => {
            if (caller && statusCode < 400) signals.changed(caller.workspaceId)
            done()
          },
        },
})
