/**
 * `/broadcasts`: send one template to many recipients, at once or from a draft, read the progress, pause, resume, cancel, delete a
 * draft.
 */
import type { Signals } from '../accounts/signals.ts'
import type { Db } from '../lib/db.ts'
import { readPosition } from '../lib/page.ts'
import { DataOf, Deleted, IdParams, ListOf, ListQuery, OneOf, Type } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { type AcceptContext, acceptBroadcast, type Caller, checkBroadcast } from './accept.ts'
import { broadcastStatuses, cancelBroadcast, pauseBroadcast, requireBroadcast, resumeBroadcast } from './broadcasts.ts'
import { addRecipients, deleteDraft, startBroadcast } from './drafts.ts'
import { listBroadcasts } from './list.ts'
import { listRecipients, readCursor, shownStatuses } from './recipients.ts'
import {
  AddedRecipients,
  BroadcastSchema,
  CheckedBroadcastSchema,
  NewBroadcastSchema,
  NewRecipients,
  RecipientView,
  readBroadcast,
  readRecipient,
} from './resource.ts'

const tags = ['Broadcasts']

/** A draft with a million recipients takes seconds. */
export const deleteMs = 5 * 60_000

type BroadcastRoutesOptions = AcceptContext & {
  db: Db
  signals: Signals
}

export const broadcastRoutes =
  ({ signals, ...context }: BroadcastRoutesOptions) =>
  async (app: App) => {
    const config = { scope: 'broadcasts:send' }
    app.post(
      '/broadcasts',
      {
        config: { ...config, failures: [402, 404, 502] },
        schema: {
          operationId: 'createBroadcast',
          summary: 'Send a template to many recipients',
          description:
            'Accepts the broadcast and sends it in the background, at the pace of your number. Recipients without a usable number, with a missing value, or who opted out are skipped.',
          tags,
          body: NewBroadcastSchema,
          response: { 202: DataOf(BroadcastSchema, 'Accepted.') },
        },
      },
      async ({ caller, body, idempotency }, reply) => {
        const { workspaceId, defaultCountry } = caller
        const broadcastCaller = { workspaceId, defaultCountry, subject: idempotency?.subject }
        const broadcast = await acceptBroadcast(context, broadcastCaller, readBroadcast(body))
        signals.broadcastReady()
        reply.code(202)
        return { data: broadcast }
      },
    )
    app.post(
      '/broadcasts/check',
      {
        config: { ...config, failures: [402, 404, 502] },
        schema: {
          operationId: 'checkBroadcast',
          summary: 'Check a broadcast without sending it',
          description:
            'Takes the body of `POST /broadcasts` and applies the same checks: the template with its values, the recipients or the segment, the schedule, the plan. Sends and changes nothing.',
          tags,
          body: NewBroadcastSchema,
          response: { 200: DataOf(CheckedBroadcastSchema, 'The broadcast would be accepted.') },
        },
      },
      async ({ caller: { workspaceId, defaultCountry }, body }) => ({
        data: await checkBroadcast(context, { workspaceId, defaultCountry, subject: undefined }, readBroadcast(body)),
      }),
    )
    app.get(
      '/broadcasts/:id',
      {
        config,
        schema: {
          operationId: 'getBroadcast',
          summary: 'Read a broadcast',
          description: 'The counters are exact. The total is the sum of pending, sent, failed and skipped.',
          tags,
          params: IdParams,
          response: { 200: DataOf(BroadcastSchema) },
        },
      },
      async ({ caller, params }) => ({ data: await requireBroadcast(context.db, caller.workspaceId, params.id) }),
    )
    app.delete(
      '/broadcasts/:id',
      {
        config,
        handlerTimeout: deleteMs,
        schema: {
          operationId: 'deleteBroadcast',
          summary: 'Delete a draft',
          description: 'Deletes a draft with its recipients. A broadcast that was started stays; it can be canceled.',
          tags,
          params: IdParams,
          response: { 200: DataOf(Deleted) },
        },
      },
      async ({ caller, params }) => {
        await deleteDraft(context, caller.workspaceId, params.id)
        return { data: { id: params.id.toLowerCase(), deleted: true } }
      },
    )
    app.get(
      '/broadcasts',
      {
        config: { ...config, isShared: true },
        schema: {
          operationId: 'listBroadcasts',
          summary: 'List broadcasts',
          description: 'Newest first, with their counters.',
          tags,
          querystring: ListQuery({
            status: Type.Optional(OneOf(broadcastStatuses, { description: 'Only broadcasts of this status.' })),
          }),
          response: { 200: ListOf(BroadcastSchema) },
        },
      },
      async ({ caller, query }) => listBroadcasts(context.db, caller.workspaceId, query, readPosition(query)),
    )
    app.post(
      '/broadcasts/:id/recipients',
      {
        config: { ...config, failures: [502] },
        schema: {
          operationId: 'addBroadcastRecipients',
          summary: 'Add recipients to a draft',
          description:
            'Adds up to 1,000 recipients with values of their own. Repeat it for more: a workspace can have 1,000,000 that are not ' +
            'sent to yet. A number is added once: adding it again skips it, so a batch can be repeated safely.',
          tags,
          params: IdParams,
          body: NewRecipients,
          response: { 200: DataOf(AddedRecipients) },
        },
      },
      async ({ caller: { workspaceId, defaultCountry }, params, body }) => {
        const caller = { workspaceId, defaultCountry, subject: undefined }
        return { data: await addRecipients(context, caller, params.id, body.recipients.map(readRecipient)) }
      },
    )
    app.get(
      '/broadcasts/:id/recipients',
      {
        config: { ...config, isShared: true },
        schema: {
          operationId: 'listBroadcastRecipients',
          summary: 'List the recipients of a broadcast',
          description:
            'In the order in which they were added. With `status`, a page can be short or empty although more pages follow: ' +
            'continue until `next_cursor` is null.',
          tags,
          params: IdParams,
          querystring: ListQuery({
            status: Type.Optional(OneOf(shownStatuses, { description: 'Only recipients of this status.' })),
          }),
          response: { 200: ListOf(RecipientView) },
        },
      },
      async ({ caller, params, query }) => {
        const position = { limit: readPosition(query).limit, after: readCursor(query.cursor) }
        const { data, meta } = await listRecipients(context.db, caller.workspaceId, params.id, query, position)
        return { data: data.map(({ phone, ...recipient }) => ({ ...recipient, to: phone })), meta }
      },
    )
    for (const { verb, summary, description, change, failures } of changes) {
      app.post(
        `/broadcasts/:id/${verb}`,
        {
          config: { ...config, failures },
          schema: {
            operationId: `${verb}Broadcast`,
            summary,
            description,
            tags,
            params: IdParams,
            response: { 200: DataOf(BroadcastSchema) },
          },
        },
        async ({ caller: { workspaceId }, params: { id }, idempotency }) => {
          await change(context, { workspaceId, subject: idempotency?.subject }, id)
          signals.broadcastReady()
          return { data: await requireBroadcast(context.db, workspaceId, id) }
        },
      )
    }
  }

type Change = (context: AcceptContext, caller: Pick<Caller, 'workspaceId' | 'subject'>, id: string) => Promise<void>

/** The changes of a broadcast's state, one route each. */
const changes: {
  verb: string
  summary: string
  description: string
  change: Change
  failures: readonly (402 | 404 | 502)[]
}[] = [
  {
    verb: 'start',
    summary: 'Start a draft',
    description:
      'Sends a draft now, or schedules it if its `scheduled_at` is later. A scheduled broadcast is sent now. The plan must ' +
      'allow all recipients.',
    change: (context, caller, id) => startBroadcast(context, caller, id),
    failures: [402, 404, 502],
  },
  {
    verb: 'pause',
    summary: 'Pause a broadcast',
    description: 'No further recipient is sent to until it is resumed. Messages in flight are not stopped.',
    change: ({ db }, { workspaceId }, id) => pauseBroadcast(db, workspaceId, id),
    failures: [404],
  },
  {
    verb: 'resume',
    summary: 'Resume a broadcast',
    description: 'Continues a paused broadcast. If it waits for the channel, the next attempt starts now.',
    change: ({ db }, { workspaceId }, id) => resumeBroadcast(db, workspaceId, id),
    failures: [404],
  },
  {
    verb: 'cancel',
    summary: 'Cancel a broadcast',
    description: 'Recipients that were not sent to are skipped. Messages that were sent are not recalled.',
    change: ({ db }, { workspaceId }, id) => cancelBroadcast(db, workspaceId, id),
    failures: [404],
  },
]
