/** `/drafts` for members: read and replace one's own unsent replies. Announced to the member's own streams only. */
import type { Signals } from '../accounts/signals.ts'
import type { Db } from '../lib/db.ts'
import { DataOf, DateTime, IdParams, Type, Uuid } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { type Draft, listDrafts, replaceDraft } from './drafts.ts'

const DraftView = Type.Object(
  { conversation_id: Uuid, text: Type.String(), updated_at: DateTime },
  { title: 'ReplyDraft' },
)

export const draftDashboard = (db: Db, signals: Pick<Signals, 'memberChanged'>) => async (app: App) => {
  app.get('/drafts', { schema: { response: { 200: DataOf(Type.Array(DraftView)) } } }, async ({ session }) => ({
    data: await listDrafts(db, session.workspaceId, session.member.id),
  }))
  app.put(
    '/conversations/:id/draft',
    {
      config: { audit: false, isQuiet: true },
      schema: {
        params: IdParams,
        body: Type.Object({ text: Type.String({ maxLength: 40_000, description: 'Empty deletes the draft.' }) }),
        response: {
          200: DataOf(Type.Unsafe<Draft | null>({ ...DraftView, type: ['object', 'null'], title: 'StoredReplyDraft' })),
        },
      },
    },
    async ({ session: { workspaceId, member }, params, body }) => {
      const draft = { memberId: member.id, conversationId: params.id, text: body.text }
      const stored = await replaceDraft(db, workspaceId, draft)
      signals.memberChanged(member.id)
      return { data: stored ?? null }
    },
  )
}
