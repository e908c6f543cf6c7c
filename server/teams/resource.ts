/** The team: its schema with the SQL of its fields. */
import { Column, resource } from '../lib/resource.ts'
import { Color, DateTime, type Static, Type, Uuid } from '../lib/schema.ts'

export const TeamSchema = Type.Object(
  {
    id: Uuid,
    name: Type.String({ description: 'Unique in the workspace, without regard to case.' }),
    color: { ...Color, description: 'Hex.' },
    member_ids: Column(
      Type.Array(Uuid, { description: 'Its members (`GET /members`), oldest first.' }),
      (sql) => sql`array(
        select tm.member_id from team_members tm
        where tm.workspace_id = t.workspace_id and tm.team_id = t.id
        order by tm.member_id
      )`,
    ),
    connection_ids: Column(
      Type.Array(Uuid, {
        description: 'The connections that it serves (`GET /connections`): their new conversations are assigned to it.',
      }),
      (sql) => sql`array(
        select tk.connection_id from team_connections tk
        where tk.workspace_id = t.workspace_id and tk.team_id = t.id
        order by tk.connection_id
      )`,
    ),
    created_at: DateTime,
  },
  {
    title: 'Team',
    examples: [
      {
        id: '0199c1d2-b0a0-7c41-9d02-3e4f5a6b7c80',
        name: 'Billing',
        color: '#2563eb',
        member_ids: ['0199c1d2-4f9e-7a18-9b30-1948dc6a2b95'],
        connection_ids: ['0199c1d2-7a10-7c31-8e02-4d5e6f708192'],
        created_at: '2026-01-05T08:00:00.000Z',
      },
    ],
  },
)

export type Team = Static<typeof TeamSchema>

/** The fields of team `t`. */
export const team = resource('t', TeamSchema)

/** The team in a conversation, as members see it. */
export const EmbeddedTeam = { id: Uuid, name: Type.String(), color: Color }
