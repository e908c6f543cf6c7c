/** The members' routes of the web chat widget: every member may read its settings, owners and admins may change them. */
import { nameFields } from '../accounts/audit.ts'
import { managers } from '../accounts/members.ts'
import type { Db } from '../lib/db.ts'
import { DataOf, NullableText, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { detailPolicies, maxOrigins, positions, requireWidget, updateWidget } from './widget.ts'

const WidgetView = Type.Object({
  id: Uuid,
  title: NullableText(),
  greeting: NullableText(),
  color: Type.String(),
  position: OneOf(positions),
  ask_details: OneOf(detailPolicies),
  allowed_origins: Type.Array(Type.String()),
})

const WidgetChanges = Type.Object({
  title: Type.Optional(NullableText({ maxLength: 1_000 })),
  greeting: Type.Optional(NullableText({ maxLength: 1_000 })),
  color: Type.Optional(Type.String({ maxLength: 100 })),
  position: Type.Optional(OneOf(positions)),
  ask_details: Type.Optional(OneOf(detailPolicies)),
  allowed_origins: Type.Optional(Type.Array(Type.String({ maxLength: 300 }), { maxItems: maxOrigins })),
})

export const widgetDashboard = (db: Db) => async (app: App) => {
  app.get('/channels/web/widget', { schema: { response: { 200: DataOf(WidgetView) } } }, async ({ session }) => ({
    data: await requireWidget(db, session.workspaceId),
  }))
  app.patch(
    '/channels/web/widget',
    {
      config: {
        members: managers,
        audit: {
          action: 'widget.changed',
          summary: (_: unknown, body: Static<typeof WidgetChanges>) =>
            nameFields(body, 'title', 'greeting', 'color', 'position', 'ask_details', 'allowed_origins'),
        },
      },
      schema: { body: WidgetChanges, response: { 200: DataOf(WidgetView) } },
    },
    async ({ session, body }) => ({ data: await updateWidget(db, session.workspaceId, body) }),
  )
}
