/**
 * `/conversations/{id}/notes`: internal notes, list and add. `/members`: the people a conversation can be assigned to.
 *
 * Both are internal to the workspace, so their lists need `conversations:write` too: a key that only reads conversations gets what
 * customers know.
 */

import { roles } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { readPosition } from '../lib/page.ts'
import type { Db } from '../lib/postgres/db.ts'
import {
  DateTime,
  IdParams,
  ListQuery,
  NullableText,
  OneOf,
  type Static,
  TrimmedText,
  Type,
  Uuid,
} from '../lib/schema.ts'
import type { Signals } from '../signals/signals.ts'
import { listMembersOnline } from './presence.ts'
import { createNote, listTimeline, maxNoteLength, type TimelineEntry } from './timeline.ts'

const authorTypes = ['member', 'api_key', 'automation'] as const
const NoteSchema = Type.Object(
  {
    id: Uuid,
    text: Type.String(),
    author: Type.Object({
      type: OneOf(authorTypes),
      id: Type.String({ format: 'uuid', description: 'Of an automation: the id of its run.' }),
      name: NullableText({
        description: 'The name of the member, the API key or the automation. Null for a removed member.',
      }),
    }),
    created_at: DateTime,
  },
  {
    title: 'Note',
    examples: [
      {
        id: '0199c1d2-a050-7b84-99e5-8b1c2d3e4f50',
        text: 'Asked for a refund. Order A-10042.',
        author: { type: 'api_key', id: '0199c1d2-5a0f-7b29-8c41-2a5e9d7b3c06', name: 'Support bot' },
        created_at: '2026-01-07T11:20:00.000Z',
      },
    ],
  },
)

const NewNote = Type.Object(
  { text: TrimmedText(maxNoteLength, 'Only members see it. It is never sent.') },
  { title: 'NewNote', examples: [{ text: 'Asked for a refund. Order A-10042.' }] },
)

const MemberSchema = Type.Object(
  {
    id: Uuid,
    name: NullableText(),
    email: Type.String(),
    role: OneOf(roles, { description: 'A viewer cannot be assigned.' }),
    is_online: Type.Boolean({ description: 'Whether the member has the dashboard open.' }),
  },
  {
    title: 'Member',
    examples: [
      {
        id: '0199c1d2-4f9e-7a18-9b30-1948dc6a2b95',
        name: 'Grace Hopper',
        email: 'grace@example.com',
        role: 'agent',
        is_online: true,
      },
    ],
  },
)

function toNote({ id, text, member, details, created_at }: TimelineEntry): Static<typeof NoteSchema> {
  const { run_id: runId, automation = null } = details
  if (runId)
    return { id, text: text ?? '', author: { type: 'automation' as const, id: runId, name: automation }, created_at }
  const { id: authorId, name } = member ?? details.key ?? { id: '', name: null }
  return { id, text: text ?? '', author: { type: member ? 'member' : 'api_key', id: authorId, name }, created_at }
}

export const noteTable = (db: Db, signals: Signals): readonly Row[] => [
  row({
    call: 'GET /conversations/:id/notes',
    operation: 'listNotes',
    summary: 'List the notes of a conversation',
    description: 'Internal notes of members and of API keys, newest first.',
    scope: 'conversations:write',
    isShared: true,
    params: IdParams,
    query: ListQuery({}),
    list: NoteSchema,
    run: async ({ caller, params, query }) => {
      const { data, meta } = await listTimeline(db, caller.workspaceId, params.id, readPosition(query), 'note')
      return { data: data.map(toNote), meta }
    },
  }),
  row({
    call: 'POST /conversations/:id/notes',
    operation: 'createNote',
    summary: 'Add a note to a conversation',
    description: 'Members see it in the thread with the name of the key. The customer never does.',
    scope: 'conversations:write',
    isQuiet: true,
    params: IdParams,
    body: NewNote,
    data: NoteSchema,
    status: 201,
    run: async ({ caller: { workspaceId, keyId }, params, body: { text }, idempotency }) => {
      const input = { id: idempotency?.subject.id, text, mentions: [] }
      const note = await createNote(db, workspaceId, params.id, { keyId }, input)
      signals.inboxChanged(workspaceId, [params.id])
      return toNote(note)
    },
  }),
  row({
    call: 'GET /members',
    operation: 'listMembers',
    summary: 'List members',
    description: 'The people of the workspace, newest first.',
    scope: 'conversations:write',
    isShared: true,
    query: ListQuery({}),
    list: MemberSchema,
    run: ({ caller, query }) => listMembersOnline(db, caller.workspaceId, readPosition(query)),
  }),
]
