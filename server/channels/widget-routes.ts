/** The members' routes of the web chat widget of a site: every member may read its settings, owners and admins may change them. */

import { nameFields } from '../accounts/audit.ts'
import { managers, roles } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import type { Sealer } from '../lib/crypto.ts'
import type { Db } from '../lib/postgres/db.ts'
import { IdParams, NullableDateTime, NullableText, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'
import type { Signals } from '../signals/signals.ts'
import { createIdentitySecret, deleteIdentitySecret } from './identity-secret.ts'
import {
  detailPolicies,
  maxOrigins,
  memberNamePolicies,
  positions,
  requireWidget,
  type SiteRef,
  updateWidget,
} from './widget.ts'

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

const Secret = Type.Object({ secret: Type.String({ description: 'Only this response contains it.' }) })

/** Each call acts on the default site, without an id, or on one site. */
export const widgetTable = ({ db, sealer, signals }: WidgetOptions): readonly Row[] => {
  const changing = {
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
  } as const
  const creating = {
    members: managers,
    audit: 'widget.secret_created',
    hasSecret: true,
    data: Secret,
    status: 201,
  } as const
  const deleting = {
    members: managers,
    audit: 'widget.secret_deleted',
    data: Type.Object({ deleted: Type.Literal(true) }),
  } as const
  const change = async (workspaceId: string, site: SiteRef, body: Static<typeof WidgetChanges>) => {
    const widget = await updateWidget(db, workspaceId, site, body)
    signals.siteChanged(workspaceId)
    return widget
  }
  const createSecret = async (workspaceId: string, site: SiteRef) => {
    const secret = await createIdentitySecret(db, sealer, workspaceId, site)
    signals.siteChanged(workspaceId)
    return { secret }
  }
  const deleteSecret = async (workspaceId: string, site: SiteRef) => {
    await deleteIdentitySecret(db, workspaceId, site)
    signals.siteChanged(workspaceId)
    return { deleted: true as const }
  }
  return [
    row({
      call: 'GET /channels/web/widget',
      members: roles,
      data: WidgetView,
      run: ({ caller }) => requireWidget(db, caller.workspaceId, {}),
    }),
    row({
      call: 'GET /channels/:id/widget',
      members: roles,
      params: IdParams,
      data: WidgetView,
      run: ({ caller, params }) => requireWidget(db, caller.workspaceId, params),
    }),
    row({
      call: 'PATCH /channels/web/widget',
      ...changing,
      run: ({ caller, body }) => change(caller.workspaceId, {}, body),
    }),
    row({
      call: 'PATCH /channels/:id/widget',
      ...changing,
      params: IdParams,
      run: ({ caller, params, body }) => change(caller.workspaceId, params, body),
    }),
    row({
      call: 'POST /channels/web/identity-secret',
      ...creating,
      run: ({ caller }) => createSecret(caller.workspaceId, {}),
    }),
    row({
      call: 'POST /channels/:id/identity-secret',
      ...creating,
      params: IdParams,
      run: ({ caller, params }) => createSecret(caller.workspaceId, params),
    }),
    row({
      call: 'DELETE /channels/web/identity-secret',
      ...deleting,
      run: ({ caller }) => deleteSecret(caller.workspaceId, {}),
    }),
    row({
      call: 'DELETE /channels/:id/identity-secret',
      ...deleting,
      params: IdParams,
      run: ({ caller, params }) => deleteSecret(caller.workspaceId, params),
    }),
  ]
}
