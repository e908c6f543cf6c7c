/** `/teams`: the public API lists them; owners and admins create, change and delete them. */

import { managers, roles } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import type { Db } from '../lib/postgres/db.ts'
import { Deleted, IdParams, TrimmedText, Type, Uuid } from '../lib/schema.ts'
import type { Signals } from '../signals/signals.ts'
import { TeamSchema } from './resource.ts'
import { createTeam, deleteTeam, listTeams, maxInTeam, type ReleaseTeam, updateTeam } from './teams.ts'

const Ids = Type.Optional(Type.Array(Uuid, { maxItems: maxInTeam }))
const NewTeam = Type.Object({
  name: TrimmedText(80),
  color: Type.Optional(Type.String({ pattern: '^#[0-9a-f]{6}$' })),
  member_ids: Ids,
  connection_ids: Ids,
})

const nameOf = ({ name }: { name: string }) => name
/** A team of a million conversations loses them in about two minutes. */
const deleteMs = 600_000

type TeamOptions = { db: Db; signals: Pick<Signals, 'inboxChanged'>; release: ReleaseTeam }

export const teamTable = ({ db, signals, release }: TeamOptions): readonly Row[] => [
  row({
    call: 'GET /teams',
    operation: 'listTeams',
    summary: 'List teams',
    description: 'All teams by name, at most 100, with their members and the connections that they serve.',
    scope: 'conversations:read',
    isShared: true,
    list: TeamSchema,
    run: async ({ caller }) => ({ data: await listTeams(db, caller.workspaceId), meta: { next_cursor: null } }),
  }),
  row({
    call: 'GET /teams',
    members: roles,
    data: Type.Array(TeamSchema),
    run: ({ caller }) => listTeams(db, caller.workspaceId),
  }),
  row({
    call: 'POST /teams',
    members: managers,
    audit: { action: 'team.created', summary: nameOf },
    body: NewTeam,
    data: TeamSchema,
    status: 201,
    run: ({ caller, body }) => createTeam(db, caller.workspaceId, body),
  }),
  row({
    call: 'PATCH /teams/:id',
    members: managers,
    audit: { action: 'team.changed', summary: nameOf },
    params: IdParams,
    body: Type.Partial(NewTeam),
    data: TeamSchema,
    run: async ({ caller, params, body }) => {
      const team = await updateTeam(db, caller.workspaceId, params.id, body)
      // Its members may see more or fewer conversations.
      signals.inboxChanged(caller.workspaceId)
      return team
    },
  }),
  row({
    call: 'DELETE /teams/:id',
    members: managers,
    audit: { action: 'team.deleted', summary: nameOf },
    handlerTimeout: deleteMs,
    params: IdParams,
    data: Deleted,
    run: async ({ caller: { workspaceId, member }, params }) => {
      const deleted = await deleteTeam(db, workspaceId, { id: params.id, byId: member.id, release })
      signals.inboxChanged(workspaceId)
      return deleted
    },
  }),
]
