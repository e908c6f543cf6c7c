/**
 * `/messages`: send, read one. `/conversations/{id}/messages`: reply, list.
 *
 * The flow of a send, file by file: `routes.ts` (HTTP) → `sending/`: `requested-content.ts` (the fields of the request) → `send.ts` →
 * `target.ts` (contact, conversation, connection) → `repeat.ts` (a repeated request) → `check.ts` (channel, quoted message, window) →
 * `content.ts`, `template.ts` (what is sent) → `prepare.ts` (quota, the `pending` row) → `dispatch.ts` (the channel) → `settle.ts` → 201.
 */

import type { KeyCaller } from '../accounts/callers.ts'
import { type Row, row } from '../accounts/table.ts'
import { conversationExample } from '../conversations/resource.ts'
import { readPosition } from '../lib/page.ts'
import type { Db } from '../lib/postgres/db.ts'
import { IdParams, ListQuery, NullableText, type Static, Type, Uuid } from '../lib/schema.ts'
import { createMessageReader, listMessages } from './messages.ts'
import { MessageSchema, messageExample } from './resource.ts'
import { contentFields, readRequestedContent } from './sending/requested-content.ts'
import type { Sender } from './sending/send.ts'

const NewMessage = Type.Object(
  {
    to: Type.String({
      description: 'A phone number. Without a country code the default country of the workspace applies.',
    }),
    from: Type.Optional(
      Type.String({
        maxLength: 100,
        description:
          'The number that sends: its connection id, or the number itself. Without it the number of the conversation in which the customer wrote last, or else the default number.',
      }),
    ),
    ...contentFields,
    name: Type.Optional(
      Type.String({ maxLength: 500, description: "The contact's name; replaces the stored name if different." }),
    ),
  },
  {
    title: 'NewMessage',
    examples: [
      {
        to: '+14155550100',
        type: 'template',
        template: { name: 'order_confirmed', language: 'en_US', params: ['Ada', 'A-10042'] },
      },
    ],
  },
)

const Reply = Type.Object(contentFields, {
  title: 'NewReply',
  examples: [
    {
      type: 'interactive',
      interactive: {
        kind: 'buttons',
        body: 'Do you want to keep your order?',
        buttons: [
          { id: 'keep', title: 'Keep it' },
          { id: 'cancel', title: 'Cancel it' },
        ],
      },
    },
  ],
})

const SendResult = Type.Object(
  {
    message_id: Uuid,
    msgapp_message_id: Type.String(),
    conversation_id: Uuid,
    contact_id: Uuid,
    contact_created: Type.Boolean({ description: 'Whether this call created the contact.' }),
  },
  {
    title: 'SendResult',
    examples: [
      {
        message_id: messageExample.id,
        msgapp_message_id: messageExample.msgapp_message_id,
        conversation_id: conversationExample.id,
        contact_id: conversationExample.contact_id,
        contact_created: false,
      },
    ],
  },
)

const CheckedMessage = Type.Object(
  {
    to: Type.String({ description: 'The number in E.164.' }),
    contact_id: NullableText({ format: 'uuid', description: 'Null when sending would create the contact.' }),
  },
  { title: 'CheckedMessage', examples: [{ to: '+14155550100', contact_id: conversationExample.contact_id }] },
)

function readRequest({ workspaceId, defaultCountry }: KeyCaller, body: Static<typeof NewMessage>) {
  const to = { phone: body.to, defaultCountry, from: body.from, name: body.name }
  return { workspaceId, to, requested: readRequestedContent(body), replyTo: body.reply_to_message_id }
}

export function messageTable({
  reads,
  sender,
  publicUrl,
}: {
  reads: Db
  sender: Sender
  publicUrl: string
}): readonly Row[] {
  const readMessage = createMessageReader(reads, publicUrl)
  return [
    row({
      call: 'POST /messages',
      operation: 'sendMessage',
      summary: 'Send a message',
      description:
        'Finds or creates the contact and the conversation, then sends. Everything but a template can be sent only within 24 hours of the last message of the customer. 201 means that the channel accepted the message.',
      scope: 'messages:send',
      failures: [402, 502],
      isQuiet: true,
      body: NewMessage,
      data: SendResult,
      status: { 201: 'The channel accepted the message.' },
      run: ({ caller, body, idempotency }) =>
        sender.send({ ...readRequest(caller, body), subject: idempotency?.subject }),
    }),
    row({
      call: 'POST /messages/check',
      operation: 'checkMessage',
      summary: 'Check a message without sending it',
      description:
        'Takes the body of `POST /messages` and applies the same checks: the number, the 24-hour window, the template with its values, the plan. Sends and changes nothing, so the channel may still reject the message.',
      scope: 'messages:send',
      failures: [402, 502],
      body: NewMessage,
      data: CheckedMessage,
      status: { 200: 'The message would be sent to the channel.' },
      run: ({ caller, body }) => sender.check(readRequest(caller, body)),
    }),
    row({
      call: 'GET /messages/:id',
      operation: 'getMessage',
      summary: 'Read a message',
      description: 'One message of any conversation, with its delivery status.',
      scope: 'messages:read',
      params: IdParams,
      data: MessageSchema,
      run: ({ caller, params }) => readMessage(caller.workspaceId, params.id),
    }),
    row({
      call: 'POST /conversations/:id/messages',
      operation: 'replyToConversation',
      summary: 'Send a message in a conversation',
      description:
        'Takes the body of `POST /messages` without `to` and `name`, and sends on the channel of the conversation. `msgapp` and `social` accept free-form messages only within 24 hours of the last message of the customer. A type that the channel does not support is a 400. 201 means that the channel accepted the message.',
      scope: 'messages:send',
      failures: [402, 502],
      isQuiet: true,
      params: IdParams,
      body: Reply,
      data: MessageSchema,
      status: { 201: 'The channel accepted the message.' },
      run: async ({ caller: { workspaceId }, params, body, idempotency }) => {
        const requested = readRequestedContent(body)
        const request = { workspaceId, to: { conversationId: params.id }, requested, replyTo: body.reply_to_message_id }
        const { message_id } = await sender.send({ ...request, subject: idempotency?.subject })
        return readMessage(workspaceId, message_id)
      },
    }),
    row({
      call: 'GET /conversations/:id/messages',
      operation: 'listMessages',
      summary: 'List the messages of a conversation',
      description:
        'Newest first. 404 for a conversation of another workspace. A page of very large messages may have fewer than `limit`: only `next_cursor` says whether there are more.',
      scope: 'messages:read',
      isShared: true,
      params: IdParams,
      query: ListQuery({}),
      list: MessageSchema,
      run: ({ caller, params, query }) =>
        listMessages(reads, caller.workspaceId, params.id, publicUrl, readPosition(query)),
    }),
  ]
}
