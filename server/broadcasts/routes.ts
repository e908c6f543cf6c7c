/** `/broadcasts`: create, check, list, read, delete, and change the state. Members may use contact fields in template values. */
import type { AnyCaller } from '../accounts/callers.ts'
import { roles, writers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { readPosition } from '../lib/page.ts'
import { Deleted, ForMembers, IdParams, ListQuery, OneOf, Type } from '../lib/schema.ts'
import type { Signals } from '../signals/signals.ts'
import { type AcceptContext, acceptBroadcast, type Caller, checkBroadcast } from './accept.ts'
import { cancelBroadcast, pauseBroadcast, requireBroadcast, resumeBroadcast } from './broadcasts.ts'
import { addRecipients, deleteDraft, startBroadcast } from './drafts.ts'
import { listBroadcasts } from './list.ts'
import { listRecipients, readCursor, shownStatuses } from './recipients.ts'
import { type Broadcast, BroadcastSchema, broadcastStatuses } from './resource.ts'
import {
  AddedRecipients,
  CheckedBroadcastSchema,
  NewBroadcastSchema,
  NewRecipients,
  RecipientView,
  readBroadcast,
  readRecipient,
} from './schemas.ts'

/** A draft with a million recipients takes seconds. */
const deleteMs = 5 * 60_000

export const nameOf = ({ name }: Broadcast) => name

export const broadcastTable = ({ context, signals }: BroadcastOptions): readonly Row[] => [
  row({
    call: 'POST /broadcasts',
    operation: 'createBroadcast',
    summary: 'Send a template to many recipients',
    description:
      'Accepts the broadcast and sends it in the background, at the pace of your number. Recipients without a usable number, with a missing value, or who opted out are skipped.',
    scope: 'broadcasts:send',
    members: writers,
    audit: { action: 'broadcast.created', summary: nameOf },
    failures: [402, 404, 502],
    body: NewBroadcastSchema,
    data: BroadcastSchema,
    status: { 202: 'Accepted.' },
    run: async ({ caller: { workspaceId, defaultCountry, member }, body, idempotency }) => {
      const caller = { workspaceId, defaultCountry, subject: idempotency?.subject, memberId: member?.id }
      const { id } = await acceptBroadcast(context, caller, readBroadcast(body, member !== undefined))
      signals.broadcastReady()
      return requireBroadcast(context.db, workspaceId, id)
    },
  }),
  row({
    call: 'POST /broadcasts/check',
    operation: 'checkBroadcast',
    summary: 'Check a broadcast without sending it',
    description:
      'Takes the body of `POST /broadcasts` and applies the same checks: the template with its values, the recipients or the segment, the schedule, the plan. Sends and changes nothing.',
    scope: 'broadcasts:send',
    failures: [402, 404, 502],
    body: NewBroadcastSchema,
    data: CheckedBroadcastSchema,
    status: { 200: 'The broadcast would be accepted.' },
    run: ({ caller: { workspaceId, defaultCountry }, body }) =>
      checkBroadcast(context, { workspaceId, defaultCountry, subject: undefined }, readBroadcast(body)),
  }),
  row({
    call: 'GET /broadcasts/:id',
    operation: 'getBroadcast',
    summary: 'Read a broadcast',
    description: 'The counters are exact. The total is the sum of pending, sent, failed and skipped.',
    scope: 'broadcasts:send',
    members: roles,
    params: IdParams,
    data: BroadcastSchema,
    run: ({ caller, params }) => requireBroadcast(context.db, caller.workspaceId, params.id),
  }),
  row({
    call: 'DELETE /broadcasts/:id',
    operation: 'deleteBroadcast',
    summary: 'Delete a draft',
    description: 'Deletes a draft with its recipients. A broadcast that was started stays; it can be canceled.',
    scope: 'broadcasts:send',
    members: writers,
    audit: { action: 'broadcast.deleted', summary: nameOf },
    handlerTimeout: deleteMs,
    params: IdParams,
    data: Deleted,
    run: ({ caller, params }) => deleteDraft(context, caller.workspaceId, params.id),
  }),
  row({
    call: 'GET /broadcasts',
    operation: 'listBroadcasts',
    summary: 'List broadcasts',
    description: 'Newest first, with their counters.',
    scope: 'broadcasts:send',
    members: roles,
    isShared: true,
    query: ListQuery({
      status: Type.Optional(OneOf(broadcastStatuses, { description: 'Only broadcasts of this status.' })),
      is_paused: ForMembers(Type.Optional(OneOf(['true']))),
    }),
    list: BroadcastSchema,
    run: ({ caller, query }) => listBroadcasts(context.db, caller.workspaceId, query, readPosition(query)),
  }),
  row({
    call: 'POST /broadcasts/:id/recipients',
    operation: 'addBroadcastRecipients',
    summary: 'Add recipients to a draft',
    description:
      'Adds up to 1,000 recipients with values of their own. Repeat it for more: a workspace can have 1,000,000 that are not ' +
      'sent to yet. A number is added once: adding it again skips it, so a batch can be repeated safely.',
    scope: 'broadcasts:send',
    failures: [502],
    params: IdParams,
    body: NewRecipients,
    data: AddedRecipients,
    run: ({ caller: { workspaceId, defaultCountry }, params, body }) => {
      const caller = { workspaceId, defaultCountry, subject: undefined }
      return addRecipients(context, caller, params.id, body.recipients.map(readRecipient))
    },
  }),
  row({
    call: 'GET /broadcasts/:id/recipients',
    operation: 'listBroadcastRecipients',
    summary: 'List the recipients of a broadcast',
    description:
      'In the order in which they were added. With `status`, a page can be short or empty although more pages follow: ' +
      'continue until `next_cursor` is null.',
    scope: 'broadcasts:send',
    members: roles,
    isShared: true,
    params: IdParams,
    query: ListQuery({
      status: Type.Optional(OneOf(shownStatuses, { description: 'Only recipients of this status.' })),
    }),
    list: RecipientView,
    run: async ({ caller, params, query }) => {
      const position = { limit: readPosition(query).limit, after: readCursor(query.cursor) }
      const { data, meta } = await listRecipients(context.db, caller, params.id, query, position)
      return { data: data.map((recipient) => ({ ...recipient, to: recipient.phone })), meta }
    },
  }),
  ...changes.map(({ verb, action, change, ...route }) =>
    row({
      call: `POST /broadcasts/:id/${verb}`,
      operation: `${verb}Broadcast`,
      ...route,
      scope: 'broadcasts:send',
      members: writers,
      audit: { action, summary: nameOf },
      params: IdParams,
      data: BroadcastSchema,
      run: async ({ caller, params: { id }, idempotency }) => {
        await change(context, { ...caller, subject: idempotency?.subject }, id)
        signals.broadcastReady()
        return requireBroadcast(context.db, caller.workspaceId, id)
      },
    }),
  ),
]

export type BroadcastOptions = { context: AcceptContext; signals: Signals }

type Change = (context: AcceptContext, caller: AnyCaller & Pick<Caller, 'subject'>, id: string) => Promise<void>

/** The changes of a broadcast's state, one route each. */
const changes: {
  verb: string
  action: `broadcast.${string}`
  summary: string
  description: string
  change: Change
  failures: readonly (402 | 404 | 502)[]
}[] = [
  {
    verb: 'start',
    action: 'broadcast.started',
    summary: 'Start a draft',
    description:
      'Sends a draft now, or schedules it if its `scheduled_at` is later. A scheduled broadcast is sent now. The plan must ' +
      'allow all recipients.',
    // A member starts a scheduled draft now.
    change: (context, caller, id) => startBroadcast(context, caller, id, { isNow: caller.member !== undefined }),
    failures: [402, 404, 502],
  },
  {
    verb: 'pause',
    action: 'broadcast.paused',
    summary: 'Pause a broadcast',
    description: 'No further recipient is sent to until it is resumed. Messages in flight are not stopped.',
    change: ({ db }, { workspaceId }, id) => pauseBroadcast(db, workspaceId, id),
    failures: [404],
  },
  {
    verb: 'resume',
    action: 'broadcast.resumed',
    summary: 'Resume a broadcast',
    description: 'Continues a paused broadcast. If it waits for the channel, the next attempt starts now.',
    change: ({ db }, { workspaceId }, id) => resumeBroadcast(db, workspaceId, id),
    failures: [404],
  },
  {
    verb: 'cancel',
    action: 'broadcast.canceled',
    summary: 'Cancel a broadcast',
    description: 'Recipients that were not sent to are skipped. Messages that were sent are not recalled.',
    change: ({ db }, { workspaceId }, id) => cancelBroadcast(db, workspaceId, id),
    failures: [404],
  },
]
