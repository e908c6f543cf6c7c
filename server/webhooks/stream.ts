/**
 * `/events/stream`: a workspace's events as they happen, on a line that the
 * caller opens, for whoever has no address that a webhook could reach.
 *
 * The events are those webhooks carry, to the byte, and as with webhooks each
 * comes at least once. A caller that comes back says which it saw last and
 * misses nothing that is kept. An id is made a moment before its event is
 * committed, so events appear slightly out of order: every look goes back ten
 * seconds and leaves out what this line has had. A new line cannot know what
 * the one before it had of those seconds, so it sends them again.
 */
import type { FastifyReply } from 'fastify'
import { workspaceTopic } from '../accounts/stream.ts'
import type { Db } from '../lib/db.ts'
import { badRequest } from '../lib/errors.ts'
import { createCrowd, createLookout } from '../lib/event-stream.ts'
import { idAt, isUuid } from '../lib/id.ts'
import type { Live } from '../lib/live.ts'
import { DateTime, OneOf, Type, Uuid } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { type EventName, eventNames } from './emit.ts'
import { createListener, eventsAPage, keepListener, listEventIdsAfter, listEventsAfter } from './listeners.ts'

export type EventStreaming = {
  db: Db
  live: Live
  heartbeatMs: number
  /** A line handed over its first event. */
  onHeard: (workspaceId: string) => Promise<void>
}

const streamsPerWorkspace = 20
const overlapMs = 10_000
/** However much happens, a line looks at most so often. */
const pauseMs = 200
const retryMs = 1_000

const EventSchema = Type.Object(
  {
    id: Uuid,
    event: OneOf(eventNames),
    occurred_at: DateTime,
    account_id: Uuid,
    data: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      description: 'Read the keys you need, ignore the rest.',
    }),
  },
  { title: 'Event' },
)

type Following = { workspaceId: string; keyId: string; events: readonly EventName[]; lastId: string | undefined }

export const eventStreamRoutes =
  ({ db, live, heartbeatMs, onHeard }: EventStreaming) =>
  async (app: App) => {
    const crowd = createCrowd(app, streamsPerWorkspace)

    app.get(
      '/events/stream',
      {
        config: { scope: 'webhooks:manage', answers: EventSchema },
        schema: {
          operationId: 'streamEvents',
          summary: 'Follow events',
          description:
            'Server-sent events that need no address of yours: what webhooks carry, from the first `ready` on, whether or ' +
            'not a webhook is subscribed. The `event` of each is its name, its `data` the body a webhook would have. Send ' +
            'the last `id` you got as `Last-Event-ID` when you come back, and what happened meanwhile follows, as long as ' +
            'you were away for less than a minute or a webhook wants it too. An event can come twice: act once for each ' +
            '`id` of its `data`. `npx parley listen` forwards them to an address on your machine, signed.',
          tags: ['Webhooks'],
          querystring: Type.Object({
            events: Type.Optional(
              Type.String({ description: 'Names separated by commas; all events when absent.', maxLength: 500 }),
            ),
          }),
          headers: Type.Object({
            'Last-Event-ID': Type.Optional(
              Type.String({ description: 'Go on behind this one, as far as events are kept: 30 days.' }),
            ),
          }),
        },
      },
      async ({ caller, query, headers }, reply) => {
        const following = {
          workspaceId: caller.workspaceId,
          keyId: caller.keyId,
          events: readEvents(query.events),
          lastId: readLastId(headers['last-event-id']),
        }
        crowd.enter(reply, caller.workspaceId)
        await follow(reply, following)
      },
    )

    async function follow(reply: FastifyReply, { workspaceId, keyId, events, lastId }: Following): Promise<void> {
      const listenerId = await createListener(db, workspaceId, events)
      const now = idAt(Date.now())
      // A clock that is ahead of ours must not make us skip.
      let after = lastId !== undefined && lastId < now ? lastId : now
      /** Of the last seconds, what is not to be sent. */
      const known = new Set(lastId === undefined ? await listEventIdsAfter(db, workspaceId, earlier(after)) : [])
      let hasHeard = false

      const look = async () => {
        for (let from = earlier(after); stream.isOpen(); ) {
          const page = await listEventsAfter(db, workspaceId, { after: from, events, known })
          for (const { id, event, body } of page) {
            known.add(id)
            // One goes on behind the newest one had, also when an older one came after it.
            if (id > after) after = id
            stream.sendText(event, body, after)
          }
          for (const id of known) if (id <= earlier(after)) known.delete(id)
          await stream.whenSent()
          const last = page.at(-1)
          if (last && !hasHeard) {
            hasHeard = true
            await onHeard(workspaceId)
          }
          if (!last || page.length < eventsAPage) return
          from = last.id
        }
      }
      const heard = createLookout({
        look,
        isOpen: () => stream.isOpen(),
        onError: (error) => app.log.warn({ err: error }, 'a stream could not look for events'),
        pauseMs,
      })
      const stream = crowd.open(reply, {
        headers: rateHeaders(reply),
        heartbeatMs,
        retryMs,
        mayGoOn: async () => {
          // News can get lost; a look does not.
          void heard()
          return keepListener(db, workspaceId, listenerId, keyId)
        },
      })
      stream.onClose(live.listen(workspaceTopic(workspaceId), heard))
      stream.send('ready', { listener_id: listenerId }, after)
      void heard()
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

/** The smallest id of the seconds to look at again. */
function earlier(id: string): string {
  return idAt(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) - overlapMs)
}

/** What every answer to a key says of its rate. */
function rateHeaders(reply: FastifyReply): Record<string, string> {
  const names = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
  return Object.fromEntries(names.map((name) => [name, String(reply.getHeader(name))]))
}
