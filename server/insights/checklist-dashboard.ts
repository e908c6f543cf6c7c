/** The first steps in a new workspace, for its members: which are taken, and that nobody need see them any more. */
import type { Db } from '../lib/db.ts'
import { DataOf, OneOf, Type } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { dismissChecklist, readChecklist, steps } from './checklist.ts'

const ChecklistView = Type.Object({
  items: Type.Array(Type.Object({ name: OneOf(steps), done: Type.Boolean() })),
  dismissed: Type.Boolean(),
})

export const checklistDashboard = (db: Db) => async (app: App) => {
  app.get('/checklist', { schema: { response: { 200: DataOf(ChecklistView) } } }, async ({ session }) => ({
    data: await readChecklist(db, session.workspaceId),
  }))
  app.post(
    '/checklist/dismiss',
    { config: { audit: false }, schema: { response: { 200: DataOf(ChecklistView) } } },
    async ({ session }) => ({ data: await dismissChecklist(db, session.workspaceId) }),
  )
}
