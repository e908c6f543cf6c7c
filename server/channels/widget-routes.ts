/** The members' routes of the web chat widget: every member may read its settings, owners and admins may change them. */

import { nameFields } from '../accounts/audit.ts'
import { managers, roles } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import type { Sealer } from '../lib/crypto.ts'
import type { Db } from '../lib/postgres/db.ts'
import { NullableDateTime, NullableText, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'
import type { Signals } from '../signals/signals.ts'
import { createIdentitySecret, deleteIdentitySecret } from './identity-secret.ts'
import { detailPolicies, maxOrigins, memberNamePolicies, positions, requireWidget, updateWidget } from './widget.ts'

const WidgetView = Type.Object({
  id: Uuid,
  title: NullableText(),
  greeting: NullableText(),
  color: Type.String(),
  position: OneOf(positions),
  ask_details: OneOf(detailPolicies),
  member_names: OneOf(memberNamePolicies),
  show_reply_time: Type.Boolean(),
  allowed_origins: Type.Array(Type.String()),
  identity_secret_at: NullableDateTime,
})

const WidgetChanges = Type.Object({
  title: Type.Optional(NullableText({ maxLength: 1_000 })),
  greeting: Type.Optional(NullableText({ maxLength: 1_000 })),
  color: Type.Optional(Type.String({ maxLength: 100 })),
  position: Type.Optional(OneOf(positions)),
  ask_details: Type.Optional(OneOf(detailPolicies)),
  member_names: Type.Optional(OneOf(memberNamePolicies)),
  show_reply_time: Type.Optional(Type.Boolean()),
  allowed_origins: Type.Optional(Type.Array(Type.String({ maxLength: 300 }), { maxItems: maxOrigins })),
})

type WidgetOptions = { db: Db; sealer: Sealer; signals: Signals }

export const widgetTable = ({ db, sealer, signals }: WidgetOptions): readonly Row[] => [
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
        nameFields(
          body,
          'title',
          'greeting',
          'color',
          'position',
          'ask_details',
          'member_names',
          'show_reply_time',
          'allowed_origins',
        ),
    },
    body: WidgetChanges,
    data: WidgetView,
    run: async ({ caller: { workspaceId }, body }) => {
      const widget = await updateWidget(db, workspaceId, body)
      signals.siteChanged(workspaceId)
      return widget
    },
  }),
  row({
    call: 'POST /channels/web/identity-secret',
    members: managers,
    audit: 'widget.secret_created',
    hasSecret: true,
    data: Type.Object({ secret: Type.String({ description: 'Only this response contains it.' }) }),
    status: 201,
    run: async ({ caller: { workspaceId } }) => {
      const secret = await createIdentitySecret(db, sealer, workspaceId)
      signals.siteChanged(workspaceId)
      return { secret }
    },
  }),
  row({
    call: 'DELETE /channels/web/identity-secret',
    members: managers,
    audit: 'widget.secret_deleted',
    data: Type.Object({ deleted: Type.Literal(true) }),
    run: async ({ caller: { workspaceId } }) => {
      await deleteIdentitySecret(db, workspaceId)
      signals.siteChanged(workspaceId)
      return { deleted: true as const }
    },
  }),
]
