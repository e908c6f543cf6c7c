/** The fields by which pages name a contact: in mentions, notifications and other lists of something else. */
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { NullableText, type Static, Type, Uuid } from '../lib/schema.ts'

export const ContactName = Type.Object({
  id: Uuid,
  name: NullableText(),
  phone: NullableText(),
  social_username: NullableText(),
  username: NullableText(),
  email: NullableText(),
})
export type ContactName = Static<typeof ContactName>

/** The name of contact `c` as JSON. */
export const contactName = (sql: Sql): Fragment => sql`json_build_object(
  'id', c.id, 'name', c.name, 'phone', c.phone, 'social_username', c.social_username, 'username', c.username,
  'email', c.email
)`
