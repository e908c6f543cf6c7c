/** `/drafts` for members: read and replace one's own unsent replies. Announced to the member's own streams only. */

import { roles, writers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import type { Db } from '../lib/postgres/db.ts'
import { DateTime, IdParams, Type, Uuid } from '../lib/schema.ts'
import type { Signals } from '../signals/signals.ts'
import { type Draft, listDrafts, replaceDraft } from './drafts.ts'

const DraftView = Type.Object(
  { conversation_id: Uuid, text: Type.String(), updated_at: DateTime },
  { title: 'ReplyDraft' },
)

export const draftTable = (db: Db, signals: Pick<Signals, 'memberChanged'>): readonly Row[] => [
  row({
    call: 'GET /drafts',
    members: roles,
    data: Type.Array(DraftView),
    run: ({ caller }) => listDrafts(db, caller),
  }),
  row({
    call: 'PUT /conversations/:id/draft',
    members: writers,
    audit: false,
    isQuiet: true,
    params: IdParams,
    body: Type.Object({ text: Type.String({ maxLength: 40_000, description: 'Empty deletes the draft.' }) }),
    data: Type.Unsafe<Draft | null>({ ...DraftView, type: ['object', 'null'], title: 'StoredReplyDraft' }),
    run: async ({ caller: { workspaceId, member }, params, body }) => {
      const draft = { memberId: member.id, conversationId: params.id, text: body.text }
      const stored = await replaceDraft(db, workspaceId, draft)
      signals.memberChanged(member.id)
      return stored ?? null
    },
  }),
]
