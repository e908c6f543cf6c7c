/** `/notifications`: what the member's browser notifies about. */
import { QuietHours } from '../accounts/preference-dashboard.ts'
import { contentTypes } from '../channels/channel.ts'
import { ContactName } from '../contacts/contact-name.ts'
import type { Db } from '../lib/db.ts'
import { DataOf, NullableText, OneOf, Type, Uuid } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { listNotifications, notificationKinds } from './notifications.ts'

const NotificationView = Type.Object({
  id: Uuid,
  kind: OneOf(notificationKinds),
  conversation_id: Uuid,
  contact: ContactName,
  author: NullableText(),
  content_type: OneOf(contentTypes),
  text: NullableText(),
})
const AnswerView = Type.Object({
  items: Type.Array(NotificationView),
  cursor: Uuid,
  sound: Type.Boolean(),
  quiet_hours: QuietHours,
})
const NotificationQuery = Type.Object({ after: Type.Optional(Uuid) })

export const notificationDashboard = (db: Db) => async (app: App) => {
  app.get(
    '/notifications',
    { schema: { querystring: NotificationQuery, response: { 200: DataOf(AnswerView) } } },
    async ({ session: { workspaceId, member }, query }) => ({
      data: await listNotifications(db, workspaceId, member.id, query.after),
    }),
  )
}
