/**
 * `/events/stream`: a workspace's events as they happen, on a connection that
 * the caller opens, for callers that a webhook could not reach.
 *
 * The events are those webhooks carry, to the byte, and each is sent at least
 * once. A caller that reconnects with its last id misses nothing that is kept.
 *
 * Events are read in the order of their ids, which are times of the database's
 * clock. An event is committed a moment after its id was made, so it may appear
 * behind later ones. Every read therefore goes back ten seconds from the
 * position of the stream, and two minutes at every heartbeat, which is longer
 * than a statement may run, and skips what was sent. A new stream does not know
 * what the one before it sent of those two minutes, so it sends them again. The
 * position never passes the current time: an id ahead of the clock must not
 * hide what follows.
 */

import type { FastifyReply } from 'fastify'
import { type Row, row } from '../accounts/table.ts'
import { nowMs } from '../lib/clock.ts'
import { badRequest } from '../lib/errors.ts'
import { createCoalescedRunner, createStreamRegistry } from '../lib/http/event-stream.ts'
import type { App } from '../lib/http/server.ts'
import { idAt, isUuid } from '../lib/id.ts'
import type { Db } from '../lib/postgres/db.ts'
import { inDocument, type TSchema, Type } from '../lib/schema.ts'
import type { Live } from '../signals/live.ts'
import { inboxTopic, workspaceTopic } from '../signals/signals.ts'
import { type EventName, eventNames } from './emit.ts'
import { createListener, eventPageSize, listEventIdsAfter, listEventsAfter, renewListener } from './listeners.ts'

export type EventStreamOptions = {
  db: Db
  live: Live
  heartbeatMs: number
  drainTimeoutMs: number
  /** The schema of an event, for the API document. */
  schema: TSchema
  /** A line handed over its first event. */
  onHeard: (workspaceId: string) => Promise<void>
}

const streamsPerWorkspace = 20
/** Nearly every event is committed this soon after its id was generated. */
const usualLagMs = 10_000
/** Every event is committed this soon: a statement may run for one minute. */
const maxLagMs = 120_000
/** The least time between two reads of a stream. */
const pauseMs = 200
const retryMs = 1_000

type Subscription = { workspaceId: string; keyId: string; events: readonly EventName[]; lastId: string | undefined }

export function eventStreamTable(
  { db, live, heartbeatMs, drainTimeoutMs, schema, onHeard }: EventStreamOptions,
  app: App,
): readonly Row[] {
  const streams = createStreamRegistry(app, { drainTimeoutMs })
  return [
    row({
      call: 'GET /events/stream',
      operation: 'streamEvents',
      summary: 'Follow events',
      description:
        'Server-sent events that need no address of yours: what webhooks carry, from the first `ready` on, whether or ' +
        'not a webhook is subscribed. The `event` of each is its name, its `data` the body a webhook would have. Send ' +
        'the last `id` you got as `Last-Event-ID` when you come back, and what happened meanwhile follows, as long as ' +
        'you were away for less than a minute or a webhook wants it too. An event can come twice: act once for each ' +
        '`id` of its `data`. `npx parley-sdk listen` forwards them to an address on your machine, signed.',
      scope: 'webhooks:manage',
      answers: schema,
      headers: Type.Object({
        'Last-Event-ID': Type.Optional(
          Type.String({
            description: 'Continue after this event. Events are kept for 30 days.',
            ...inDocument({ format: 'uuid' }),
          }),
        ),
      }),
      query: Type.Object({
        events: Type.Optional(
          Type.String({
            description: 'Names separated by commas; all events when absent.',
            maxLength: 500,
            ...inDocument({ type: 'array', items: { type: 'string', enum: eventNames } }),
          }),
        ),
      }),
      run: async ({ caller, query, headers }, reply) => {
        const subscription = {
          workspaceId: caller.workspaceId,
          keyId: caller.keyId,
          events: readEvents(query.events),
          lastId: readLastId(headers['last-event-id']),
        }
        streams.enter(reply, [{ key: caller.workspaceId, most: streamsPerWorkspace }])
        await follow(reply, subscription)
      },
    }),
  ]

  async function follow(reply: FastifyReply, { workspaceId, keyId, events, lastId }: Subscription): Promise<void> {
    const listenerId = await createListener(db, workspaceId, events)
    const openedAt = idAt(nowMs())
    /** The caller continues behind this id: the newest sent, but not ahead of the clock. */
    let position = lastId !== undefined && lastId < openedAt ? lastId : openedAt
    /** Sent on this stream, or committed before it opened, as far back as a read goes. */
    const sent = new Set(
      lastId === undefined ? await listEventIdsAfter(db, workspaceId, before(position, maxLagMs)) : [],
    )
    let isWide = true
    let hasDelivered = false

    const sendNewEvents = async () => {
      const lagMs = isWide ? maxLagMs : usualLagMs
      isWide = false
      for (let from = before(position, lagMs); stream.isOpen(); ) {
        const skipped = [...sent].filter((id) => id > from)
        const page = await listEventsAfter(db, workspaceId, { after: from, events, skipped })
        const now = idAt(nowMs())
        for (const { id, event, body } of page) {
          sent.add(id)
          const reached = id < now ? id : now
          if (reached > position) position = reached
          await stream.sendText(event, body, position)
        }
        const oldest = before(position, maxLagMs)
        for (const id of sent) if (id <= oldest) sent.delete(id)
        const last = page.at(-1)
        if (last && !hasDelivered) {
          hasDelivered = true
          await onHeard(workspaceId)
        }
        if (!last || page.length < eventPageSize) return
        from = last.id
      }
    }
    const onNotified = createCoalescedRunner({
      run: sendNewEvents,
      isOpen: () => stream.isOpen(),
      onError: (error) => {
        isWide = true
        app.log.warn({ err: error }, 'an event stream could not read events; it tries again')
      },
      pauseMs,
    })
    const stream = streams.open(reply, {
      headers: rateHeaders(reply),
      heartbeatMs,
      retryMs,
      isAuthorized: async () => {
        // Also finds events whose notification was lost.
        isWide = true
        void onNotified()
        return renewListener(db, workspaceId, listenerId, keyId)
      },
    })
    for (const topic of [workspaceTopic(workspaceId), inboxTopic(workspaceId)])
      stream.onClose(live.listen(topic, onNotified))
    await stream.send('ready', { listener_id: listenerId }, position)
    void onNotified()
  }
}

function readEvents(text: string | undefined): readonly EventName[] {
  if (text === undefined) return eventNames
  const wanted = text.split(',').map((name) => name.trim())
  const unknown = wanted.find((name) => !eventNames.some((known) => known === name))
  if (unknown !== undefined) {
    throw badRequest(`events: unknown event '${unknown}'; there are ${eventNames.join(', ')}`)
  }
  return eventNames.filter((name) => wanted.includes(name))
}

function readLastId(text: string | string[] | undefined): string | undefined {
  if (text === undefined) return undefined
  if (typeof text !== 'string' || !isUuid(text)) throw badRequest('Last-Event-ID: not an id of this stream')
  return text.toLowerCase()
}

/** The smallest id of the time that begins `lagMs` before this id. */
function before(id: string, lagMs: number): string {
  return idAt(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) - lagMs)
}

/** The rate limit headers that every response to a key has. */
function rateHeaders(reply: FastifyReply): Record<string, string> {
  const names = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
  return Object.fromEntries(names.map((name) => [name, String(reply.getHeader(name))]))
}
