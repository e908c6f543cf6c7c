/** `/presence`: an open page reports which conversation it shows. The members' stream sends the presence of all members. */

import { roles } from '../accounts/members.ts'
import type { StreamFeed } from '../accounts/stream.ts'
import { type Row, row } from '../accounts/table.ts'
import { createCoalescer } from '../lib/coalescer.ts'
import type { Db } from '../lib/postgres/db.ts'
import { NullableText, OneOf, Type } from '../lib/schema.ts'
import { presenceTopic, type Signals } from '../signals/signals.ts'
import { keyOf } from '../teams/visibility.ts'
import { listPresence, recordPresence, removePresence, typingKinds } from './presence.ts'
import { listVisibleIds } from './visible-step.ts'
import { listVisitorsTyping } from './visitor-presence.ts'

const PageReport = Type.Object({
  page_id: Type.String({ pattern: '^[0-9a-f]{32}$', description: 'Random, chosen by the page when it loads.' }),
  conversation_id: Type.Optional(NullableText({ format: 'uuid' })),
  typing: Type.Optional(
    Type.Unsafe<(typeof typingKinds)[number] | null>({ type: ['string', 'null'], enum: [...typingKinds, null] }),
  ),
  state: OneOf(['open', 'closed'], { description: '`closed`: the page was closed or hidden.' }),
})

export const presenceTable = (db: Db, signals: Signals): readonly Row[] => [
  row({
    call: 'POST /presence',
    members: roles,
    audit: false,
    isQuiet: true,
    body: PageReport,
    data: Type.Object({ is_changed: Type.Boolean() }),
    run: async ({ caller, body }, reply) => {
      const { workspaceId, member } = caller
      // A page that only sends heartbeats keeps no connection open but its stream.
      reply.header('connection', 'close')
      const { page_id: pageId, conversation_id: conversationId = null, typing = null } = body
      const isChanged =
        body.state === 'closed'
          ? await removePresence(db, workspaceId, member.id, pageId)
          : await recordPresence(db, caller, { pageId, conversationId, typing })
      if (isChanged) signals.presenceChanged(workspaceId)
      return { is_changed: isChanged }
    },
  }),
]

/**
 * The event `presence` of the members' stream: members in conversations, and the conversations whose visitor types. The streams of
 * a workspace that see the same share the reads.
 */
export function presenceFeed(db: Db): StreamFeed {
  const coalesce = createCoalescer()
  return {
    event: 'presence',
    isSentFirst: true,
    topicOf: presenceTopic,
    read: (reader) =>
      coalesce(keyOf(reader), async () => {
        const [members, visitors] = await Promise.all([
          listPresence(db, reader.workspaceId),
          listVisitorsTyping(db, reader.workspaceId),
        ])
        const ids = new Set([...members.map((one) => one.conversation_id), ...visitors])
        const visible = await listVisibleIds(db, reader, [...ids])
        return {
          members: members.filter((one) => visible.has(one.conversation_id)),
          visitors: visitors.filter((id) => visible.has(id)),
        }
      }),
  }
}
