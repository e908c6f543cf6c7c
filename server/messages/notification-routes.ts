/** `/notifications`: what the member's browser notifies about. */

import { roles } from '../accounts/members.ts'
import { QuietHours } from '../accounts/preference-routes.ts'
import { type Row, row } from '../accounts/table.ts'
import { contentTypes } from '../channels/channel.ts'
import { ContactName } from '../contacts/contact-name.ts'
import type { Db } from '../lib/postgres/db.ts'
import { NullableText, OneOf, Type, Uuid } from '../lib/schema.ts'
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

export const notificationTable = (db: Db): readonly Row[] => [
  row({
    call: 'GET /notifications',
    members: roles,
    query: NotificationQuery,
    data: AnswerView,
    run: ({ caller, query }) => listNotifications(db, caller, query.after),
  }),
]
