/** `/episodes`: the stretches of work, for reports in other systems. */
import { type Row, row } from '../../accounts/table.ts'
import { readPosition } from '../../lib/page.ts'
import { readChangePosition, updatedAfterFilter } from '../../lib/postgres/changes.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { ListQuery, Type } from '../../lib/schema.ts'
import { listChangedEpisodes, listEpisodes } from './episodes.ts'
import { EpisodeSchema } from './resource.ts'

const EpisodesQuery = ListQuery({
  conversation_id: Type.Optional(Type.String({ format: 'uuid', description: 'Only episodes of this conversation.' })),
  ...updatedAfterFilter('episodes'),
})

export const episodeTable = (db: Db): readonly Row[] => [
  row({
    call: 'GET /episodes',
    operation: 'listEpisodes',
    summary: 'List episodes',
    description:
      'The stretches of work in conversations, each from the message that opened it to its closing. Newest first. With `updated_after`, oldest change first: for a data warehouse.',
    scope: 'conversations:read',
    query: EpisodesQuery,
    list: EpisodeSchema,
    run: ({ caller: { workspaceId }, query }) => {
      const changes = readChangePosition(query)
      return changes
        ? listChangedEpisodes(db, workspaceId, query, changes)
        : listEpisodes(db, workspaceId, query, readPosition(query))
    },
  }),
]
