/** `/conversations/{id}/timeline`, `/conversations/{id}/notes`, `/mentions`: what members write to each other in a thread. */

import { roles, writers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import { ContactName } from '../contacts/contact-name.ts'
import { channels } from '../contacts/resource.ts'
import { readPosition } from '../lib/page.ts'
import type { Db } from '../lib/postgres/db.ts'
import {
  DateTime,
  Deleted,
  IdParams,
  ListQuery,
  NullableDateTime,
  NullableObject,
  NullableText,
  OneOf,
  Type,
  Uuid,
} from '../lib/schema.ts'
import type { Signals } from '../signals/signals.ts'
import { statuses } from './filter-fields.ts'
import { listMentions, readMentions } from './mentions.ts'
import {
  createNote,
  deleteNote,
  listTimeline,
  type TimelineEntry,
  timelineCauses,
  timelineKinds,
  timelinePolicies,
} from './timeline.ts'

const MemberRef = Type.Object({ id: Uuid, name: NullableText({ description: 'Null for a removed member.' }) })
const memberOrNull = { type: ['object', 'null'], properties: MemberRef.properties, required: ['id', 'name'] }

const EntryView = Type.Object({
  id: Uuid,
  kind: OneOf(timelineKinds),
  member: Type.Unsafe<TimelineEntry['member']>(memberOrNull),
  text: NullableText(),
  details: Type.Object({
    by: Type.Optional(OneOf(timelineCauses)),
    key: Type.Optional(
      Type.Object({ id: Uuid, name: NullableText() }, { description: 'The API key, if `by` is `api`.' }),
    ),
    run_id: Type.Optional(Uuid),
    automation: Type.Optional(Type.String({ description: 'The name of the automation.' })),
    policy: Type.Optional(OneOf(timelinePolicies, { description: 'Why a policy assigned or unassigned it.' })),
    open: Type.Optional(Type.Integer({ description: 'How many open conversations the member then has.' })),
    capacity: Type.Optional(Type.Integer()),
    minutes: Type.Optional(Type.Integer({ description: 'How long the customer has waited.' })),
    from: Type.Optional(Type.Object(MemberRef.properties, { description: 'The member who is offline.' })),
    mentions: Type.Optional(Type.Array(MemberRef)),
    status: Type.Optional(OneOf(statuses)),
    assignee: Type.Optional(Type.Unsafe<TimelineEntry['member']>(memberOrNull)),
    team: Type.Optional(
      NullableObject({ id: Uuid, name: Type.String() }, { description: 'Null: it is of no team any more.' }),
    ),
    added: Type.Optional(Type.Array(Type.String())),
    removed: Type.Optional(Type.Array(Type.String())),
    until: Type.Optional(DateTime),
    rating: Type.Optional(Type.Integer({ description: 'From 1 to 5.' })),
  }),
  created_at: DateTime,
  idempotency_key: Type.Optional(Type.String({ description: 'Of the request of a member that added it, for a day.' })),
})

const NewNote = Type.Object({
  text: Type.String({ maxLength: 40_000 }),
  mentions: Type.Optional(Type.Array(Uuid, { maxItems: 50, description: 'Ids of members.' })),
})
const NoteParams = Type.Object({ ...IdParams.properties, note_id: Type.String() })

const MentionView = Type.Object({
  id: Type.String({ format: 'uuid', description: 'The id of the note.' }),
  conversation_id: Uuid,
  text: Type.String(),
  author: MemberRef,
  contact: ContactName,
  channel: OneOf(channels),
  read_at: NullableDateTime,
  created_at: DateTime,
})

export const timelineTable = (db: Db, signals: Signals): readonly Row[] => [
  row({
    call: 'GET /conversations/:id/timeline',
    members: roles,
    params: IdParams,
    query: ListQuery({}),
    list: EntryView,
    run: ({ caller, params, query }) => listTimeline(db, caller.workspaceId, params.id, readPosition(query)),
  }),
  row({
    call: 'POST /conversations/:id/notes',
    members: writers,
    audit: false,
    isQuiet: true,
    params: IdParams,
    body: NewNote,
    data: EntryView,
    status: 201,
    run: async ({ caller: { workspaceId, member }, params, body: { text, mentions = [] }, idempotency }) => {
      const input = { id: idempotency?.subject.id, text, mentions }
      const note = await createNote(db, workspaceId, params.id, { memberId: member.id }, input)
      signals.inboxChanged(workspaceId, [params.id])
      for (const id of mentions) signals.memberChanged(id)
      return note
    },
  }),
  row({
    call: 'DELETE /conversations/:id/notes/:note_id',
    members: writers,
    audit: 'note.deleted',
    isQuiet: true,
    params: NoteParams,
    data: Deleted,
    run: async ({ caller: { workspaceId, member }, params: { id, note_id } }) => {
      const { mentions, ...deleted } = await deleteNote(db, workspaceId, id, member.id, note_id)
      signals.inboxChanged(workspaceId, [id])
      for (const memberId of mentions) signals.memberChanged(memberId)
      return deleted
    },
  }),

  row({
    call: 'GET /mentions',
    members: roles,
    query: ListQuery({ unread: Type.Optional(OneOf(['true'])) }),
    list: MentionView,
    run: ({ caller, query }) => listMentions(db, caller, { unread: query.unread === 'true' }, readPosition(query)),
  }),
  row({
    call: 'POST /mentions/read',
    members: roles,
    audit: false,
    isQuiet: true,
    body: Type.Object({ conversation_id: Uuid }),
    data: Type.Object({ read: Type.Integer() }),
    run: async ({ caller: { workspaceId, member }, body }) => {
      const read = await readMentions(db, workspaceId, member.id, body.conversation_id)
      if (read > 0) signals.memberChanged(member.id)
      return { read }
    },
  }),
]
