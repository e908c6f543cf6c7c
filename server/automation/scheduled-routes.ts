/**
 * `/conversations/{id}/scheduled-messages`: schedule a reply, list. `/scheduled-messages/{id}`: read, change, cancel; for members also
 * send now.
 *
 * Content is checked when it is written, except for the reply window: only the time of sending decides about that.
 */
import type { AnyCaller } from '../accounts/callers.ts'
import { roles, writers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { listVisibleIds } from '../conversations/visible-step.ts'
import { notFound } from '../lib/errors.ts'
import { readPosition } from '../lib/page.ts'
import type { Db } from '../lib/postgres/db.ts'
import { IdParams, ListQuery, OneOf, type Static, Type } from '../lib/schema.ts'
import { readRequestedContent } from '../messages/sending/requested-content.ts'
import type { Sender } from '../messages/sending/send.ts'
import type { Signals } from '../signals/signals.ts'
import {
  type Author,
  cancelScheduled,
  changeScheduled,
  createScheduled,
  type LaterBody,
  laterFields,
  listScheduled,
  readSendAt,
  requireScheduled,
  type ScheduledMessage,
  ScheduledMessageSchema,
  scheduledStates,
  sendScheduledNow,
  toScheduledContent,
  type WrittenContent,
} from './scheduled.ts'

const SendAt = Type.String({ format: 'date-time', description: 'When to send it: from now to 90 days ahead.' })
const holdText =
  'True: if the customer writes before that time, the message is held and not sent. A reaction does not count.'

const NewScheduledMessage = Type.Object(
  {
    ...laterFields,
    send_at: SendAt,
    hold_if_customer_writes: Type.Optional(
      Type.Boolean({ description: `${holdText} False when absent; true for members of the dashboard.` }),
    ),
  },
  {
    title: 'NewScheduledMessage',
    examples: [{ type: 'text', text: 'Good morning! Your order is ready.', send_at: '2026-01-08T09:00:00Z' }],
  },
)

const ScheduledMessageChanges = Type.Object(
  {
    ...laterFields,
    send_at: Type.Optional(SendAt),
    hold_if_customer_writes: Type.Optional(Type.Boolean({ description: holdText })),
  },
  { title: 'ScheduledMessageChanges', examples: [{ send_at: '2026-01-08T10:30:00Z' }] },
)

type ScheduledOptions = {
  db: Db
  sender: Sender
  signals: Pick<Signals, 'inboxChanged' | 'scheduledReady'>
  publicUrl: string
}

export function scheduledTable({ db, sender, signals, publicUrl }: ScheduledOptions): readonly Row[] {
  /** Open pages show the message, and the worker sends it if it is due. */
  const announce = (workspaceId: string, message: ScheduledMessage): ScheduledMessage => {
    signals.inboxChanged(workspaceId, [message.conversation_id])
    if (message.state === 'scheduled') signals.scheduledReady()
    return message
  }
  /** The content of a request, checked as a reply in this conversation. */
  const readContent = async (caller: AnyCaller, conversationId: string, body: LaterBody): Promise<WrittenContent> => {
    const { reply_to_message_id: replyTo } = body
    const { workspaceId, member } = caller
    const requested = readRequestedContent(body, member !== undefined)
    await sender.checkContent({ workspaceId, to: { conversationId }, requested, replyTo, memberId: member?.id })
    return { author: authorOf(caller), content: toScheduledContent(body, requested), replyTo, publicUrl }
  }
  /** 404 when the caller does not see its conversation. */
  const requireShown = async (caller: AnyCaller, id: string): Promise<ScheduledMessage> => {
    const message = await requireScheduled(db, caller.workspaceId, id)
    const visible = await listVisibleIds(db, caller, [message.conversation_id])
    if (!visible.has(message.conversation_id)) throw notFound('scheduled message')
    return message
  }
  return [
    row({
      call: 'POST /conversations/:id/scheduled-messages',
      operation: 'scheduleMessage',
      summary: 'Schedule a message in a conversation',
      description:
        'Takes the body of `POST /conversations/{id}/messages`, without reactions, and `send_at`. The content is checked now, and the 24-hour window when it is sent: a message that cannot be sent then has the state `failed` and the reason. At most 100 messages wait in a conversation and 10,000 in a workspace.',
      scope: 'messages:send',
      members: writers,
      audit: false,
      failures: [502],
      isQuiet: true,
      params: IdParams,
      body: NewScheduledMessage,
      data: ScheduledMessageSchema,
      status: 201,
      run: async ({ caller, params, body, idempotency }) => {
        const { send_at, hold_if_customer_writes: isHoldable = caller.member !== undefined, ...content } = body
        const sendAt = readSendAt(send_at)
        const written = await readContent(caller, params.id, content)
        const input = { ...written, id: idempotency?.subject.id, sendAt, isHoldable }
        return announce(caller.workspaceId, await createScheduled(db, caller.workspaceId, params.id, input))
      },
    }),
    row({
      call: 'GET /conversations/:id/scheduled-messages',
      operation: 'listScheduledMessages',
      summary: 'List the scheduled messages of a conversation',
      description: 'Newest first. Messages that were sent, failed or canceled are listed for 90 days.',
      scope: 'messages:send',
      members: roles,
      params: IdParams,
      query: ListQuery({
        state: Type.Optional(
          OneOf([...scheduledStates, 'open'], {
            description:
              '`open`: those that wait, are held or being sent, and those that failed before the channel had them.',
          }),
        ),
      }),
      list: ScheduledMessageSchema,
      run: ({ caller, params, query }) =>
        listScheduled(db, caller.workspaceId, params.id, readPosition(query), query.state),
    }),
    row({
      call: 'GET /scheduled-messages/:id',
      operation: 'getScheduledMessage',
      summary: 'Read a scheduled message',
      description: 'Its state, and the id of the message once it is sent.',
      scope: 'messages:send',
      members: roles,
      params: IdParams,
      data: ScheduledMessageSchema,
      run: ({ caller, params }) => requireShown(caller, params.id),
    }),
    row({
      call: 'PATCH /scheduled-messages/:id',
      operation: 'updateScheduledMessage',
      summary: 'Change a scheduled message',
      description:
        'Content fields replace the whole content. A held or failed message waits again only with a new `send_at`. A message that is being sent or has ended cannot be changed: 400.',
      scope: 'messages:send',
      members: writers,
      audit: false,
      failures: [502],
      isQuiet: true,
      params: IdParams,
      body: ScheduledMessageChanges,
      data: ScheduledMessageSchema,
      run: async ({ caller, params, body }) => {
        const { send_at, hold_if_customer_writes: isHoldable, ...content } = body
        const { conversation_id: conversationId } = await requireShown(caller, params.id)
        const sendAt = send_at === undefined ? undefined : readSendAt(send_at)
        const written = hasContent(content) ? await readContent(caller, conversationId, content) : undefined
        const changes = { written, sendAt, isHoldable }
        return announce(caller.workspaceId, await changeScheduled(db, caller.workspaceId, params.id, changes))
      },
    }),
    row({
      call: 'DELETE /scheduled-messages/:id',
      operation: 'cancelScheduledMessage',
      summary: 'Cancel a scheduled message',
      description: 'It is not sent, and its state is `canceled`. 400 when it is being sent or was sent.',
      scope: 'messages:send',
      members: writers,
      audit: false,
      isQuiet: true,
      params: IdParams,
      data: ScheduledMessageSchema,
      run: async ({ caller, params }) => {
        const { id } = await requireShown(caller, params.id)
        return announce(caller.workspaceId, await cancelScheduled(db, caller.workspaceId, id))
      },
    }),
    row({
      call: 'POST /scheduled-messages/:id/send',
      members: writers,
      audit: false,
      isQuiet: true,
      params: IdParams,
      data: ScheduledMessageSchema,
      run: async ({ caller, params }) => {
        const { id } = await requireShown(caller, params.id)
        return announce(caller.workspaceId, await sendScheduledNow(db, caller.workspaceId, id))
      },
    }),
  ]
}

const authorOf = ({ member, keyId = '' }: AnyCaller): Author => (member ? { memberId: member.id } : { keyId })

const hasContent = (content: Partial<Static<typeof NewScheduledMessage>>): boolean =>
  Object.values(content).some((value) => value !== undefined)
