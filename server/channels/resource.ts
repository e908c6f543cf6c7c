/** The connection: its schema with the SQL of its fields. */
import { channels } from '../contacts/resource.ts'
import { Column, resource } from '../lib/resource.ts'
import { DateTime, NullableText, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'

const connectionStatuses = ['connected', 'disconnected', 'failing'] as const

const name = Type.String({ description: 'Unique in the workspace.' })
const address = NullableText({
  description:
    'The phone number in E.164 (`msgapp`), the user name (`social`) or the host of the site (`web`). Null until it is known.',
})

export const PublicConnectionSchema = Type.Object(
  {
    id: Uuid,
    channel: Column(OneOf(channels), (sql) => sql`k.channel_name`),
    name,
    address,
    is_default: Column(
      Type.Boolean({ description: 'The connection of its channel that is used when nothing else decides.' }),
      (sql) => sql`k.channel is not null`,
    ),
    status: Column(
      OneOf(connectionStatuses, {
        description:
          '`failing`: its last use or check failed. `disconnected`: it is kept for its conversations and unfinished broadcasts.',
      }),
      (sql) => sql`
        case when k.disconnected_at is not null then 'disconnected' when k.state = 'failing' then 'failing' else 'connected' end`,
    ),
    created_at: DateTime,
  },
  {
    title: 'Connection',
    examples: [
      {
        id: '0199c1d2-7a10-7c31-8e02-4d5e6f708192',
        channel: 'msgapp',
        name: 'Sales',
        address: '+14155550100',
        is_default: true,
        status: 'connected',
        created_at: '2026-01-05T08:00:00.000Z',
      },
    ],
  },
)

export type PublicConnection = Static<typeof PublicConnectionSchema>

/** The fields of connection `k` that all callers see. */
export const publicConnection = resource('k', PublicConnectionSchema)

/** The connection in a conversation. */
export const EmbeddedConnection = { id: Uuid, name, address }
export const embeddedConnectionExample = {
  id: '0199c1d2-7a10-7c31-8e02-4d5e6f708192',
  name: 'Sales',
  address: '+14155550100',
}
