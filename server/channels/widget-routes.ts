/** The members' routes of the web chat widget: every member may read its settings, owners and admins may change them. */

import { nameFields } from '../accounts/audit.ts'
import { managers, roles } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import type { Db } from '../lib/postgres/db.ts'
import { NullableText, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'
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

export const widgetTable = (db: Db): readonly Row[] => [
  row({
    call: 'GET /channels/web/widget',
    members: roles,
    data: WidgetView,
    run: ({ caller }) => requireWidget(db, caller.workspaceId),
  }),
  row({
    call: 'PATCH /channels/web/widget',
    members: managers,
    audit: {
      action: 'widget.changed',
      summary: (_: unknown, body: Static<typeof WidgetChanges>) =>
        nameFields(body, 'title', 'greeting', 'color', 'position', 'ask_details', 'allowed_origins'),
    },
    body: WidgetChanges,
    data: WidgetView,
    run: ({ caller, body }) => updateWidget(db, caller.workspaceId, body),
  }),
]
