/** Ratings of contacts, as members see them. */
import { memberName } from '../accounts/members.ts'
import { requireContact } from '../contacts/contacts.ts'
import { type Page, type Position, toPage } from '../lib/page.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { DateTime, NullableObject, NullableText, type Static, Type, Uuid } from '../lib/schema.ts'
import { type Reader, visibleTo } from '../teams/visibility.ts'

export const RatingSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'The message that asked.' }),
    conversation_id: Uuid,
    episode_id: Uuid,
    rating: Type.Integer({ minimum: 1, maximum: 5 }),
    comment: NullableText(),
    member: NullableObject(
      { id: Uuid, name: NullableText({ description: 'Null for a removed member.' }) },
      { description: 'The member who replied last before the question.' },
    ),
    asked_at: DateTime,
    rated_at: DateTime,
  },
  { title: 'Rating' },
)

type Rating = Static<typeof RatingSchema>

/** The ratings of a contact in conversations that the reader sees, the newest question first. */
export async function listRatings(
  sql: Sql,
  reader: Reader,
  contactId: string,
  { limit, before }: Position,
): Promise<Page<Rating>> {
  const { id } = await requireContact(sql, reader.workspaceId, contactId)
  const rows = await sql<Rating[]>`
    select r.message_id as id, r.conversation_id, r.episode_id, r.rating, r.comment, r.asked_at, r.rated_at,
      case when r.member_id is not null then json_build_object('id', r.member_id, 'name', ${memberName(sql, sql`m`)}) end as member
    from ratings r
    join conversations v on v.workspace_id = r.workspace_id and v.id = r.conversation_id
    left join members m on m.workspace_id = r.workspace_id and m.id = r.member_id
    where r.workspace_id = ${reader.workspaceId} and r.contact_id = ${id} and r.state = 'rated' and r.message_id < ${before}
      and ${visibleTo(sql, reader)}
    order by r.message_id desc
    limit ${limit + 1}`
  return toPage(rows, limit)
}
