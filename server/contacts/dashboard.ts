/** What members do with a contact: look, change, and switch broadcasts off or on for them. */
import { nameFields } from '../accounts/audit.ts'
import type { Db } from '../lib/db.ts'
import { DataOf, IdParams, NullableDateTime, type Static, Type } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { requireContact, updateContact } from './contacts.ts'
import { deciders } from './opt-out.ts'
import { ContactSchema, changeFields } from './routes.ts'

/** With what is no part of the public contact. */
const ContactView = Type.Object({
  ...ContactSchema.properties,
  opted_out_at: NullableDateTime,
  opted_out_by: Type.Unsafe<(typeof deciders)[number] | null>({ type: ['string', 'null'], enum: [...deciders, null] }),
})

const Changes = Type.Object({ ...changeFields, opted_out: Type.Optional(Type.Boolean()) })

const whatChanged = (_: unknown, body: Static<typeof Changes>) =>
  nameFields(body, 'phone', 'name', 'email', 'company', 'tags', 'opted_out')

export const contactDashboard = (db: Db) => async (app: App) => {
  app.get(
    '/contacts/:id',
    { schema: { params: IdParams, response: { 200: DataOf(ContactView) } } },
    async ({ session, params }) => ({ data: await requireContact(db, session.workspaceId, params.id) }),
  )
  app.patch(
    '/contacts/:id',
    {
      config: { audit: { action: 'contact.changed', summary: whatChanged } },
      schema: { params: IdParams, body: Changes, response: { 200: DataOf(ContactView) } },
    },
    async ({ session, params, body }) => {
      const { workspaceId, defaultCountry } = session
      return { data: await updateContact(db, workspaceId, defaultCountry, params.id, body, body.opted_out) }
    },
  )
}
