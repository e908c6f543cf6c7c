/**
 * The last page and the browser of a web visitor, stored with the visitor's identity. Query strings and fragments of a page's
 * address are dropped, because sites put tokens and personal data there.
 */
import type { StreamFeed } from '../accounts/stream.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { DateTime, NullableObject, NullableText, type Static, Type } from '../lib/schema.ts'
import { visitTopic } from '../signals/signals.ts'

export const VisitSchema = NullableObject({
  url: Type.String({ description: 'Without query string and fragment.' }),
  title: NullableText(),
  user_agent: NullableText(),
  seen_at: DateTime,
  customer_id: NullableText({
    description:
      "The customer's id on your site, from a token that its server signed. Null: nothing proves who the visitor is.",
  }),
})
type Visit = NonNullable<Static<typeof VisitSchema>>

const maxUrlLength = 1_000
const maxTitleLength = 200
const maxUserAgentLength = 400

/** The origin and path of a page; null for anything that is not an http address. */
function readPageUrl(input: string): string | null {
  const url = URL.canParse(input) ? new URL(input) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return null
  return cut(`${url.origin}${url.pathname}`, maxUrlLength)
}

/** The event `visits` of the members' stream: the contacts whose visit changed; null when any may have. */
export const visitFeed: StreamFeed = {
  event: 'visits',
  isSentFirst: false,
  topicOf: visitTopic,
  read: async (_reader, ids) => ({ contact_ids: ids ?? null }),
}

/**
 * Stores the page of a visitor who has written before, at most once per `pageMs`. Returns the contact if it did. An address that
 * cannot be read changes nothing.
 */
export async function recordVisit(
  sql: Sql,
  workspaceId: string,
  visitorId: string,
  page: { url: string; title?: string | null | undefined; userAgent: string | null },
  { pageMs }: { pageMs: number },
): Promise<string | undefined> {
  const url = readPageUrl(page.url)
  if (url === null) return undefined
  const title = page.title?.trim() ? cut(page.title.trim(), maxTitleLength) : null
  const visit = { url, title, user_agent: page.userAgent && cut(page.userAgent, maxUserAgentLength) }
  // A page that reconnects its stream changes nothing for a minute.
  const [recorded] = await sql<{ contact_id: string }[]>`
    update contact_identities set visit = ${JSON.stringify(visit)}::text::jsonb || jsonb_build_object('seen_at', now())
    where workspace_id = ${workspaceId} and channel = 'web' and external_id = ${visitorId} and (
      visit is null or (visit ->> 'seen_at')::timestamptz < now() - case
        when visit - 'seen_at' = ${JSON.stringify(visit)}::text::jsonb then interval '1 minute'
        else make_interval(secs => ${pageMs / 1_000}) end
    )
    returning contact_id`
  return recorded?.contact_id
}

/** Stores the customer's id on the site with the identity of a visitor whom the site signed in. */
export async function recordCustomer(
  sql: Sql,
  workspaceId: string,
  visitorId: string,
  customerId: string,
): Promise<void> {
  await sql`
    update contact_identities set customer_id = ${customerId}
    where workspace_id = ${workspaceId} and channel = 'web' and external_id = ${visitorId} and customer_id is null`
}

const cut = (text: string, length: number): string =>
  [...text.replaceAll('\0', '')].slice(0, length).join('').toWellFormed()

/** The latest visit of a contact; null for a contact that never wrote in the web chat. */
export async function getLastVisit(sql: Sql, workspaceId: string, contactId: string): Promise<Visit | null> {
  const [row] = await sql<{ visit: Visit }[]>`
    select i.visit || jsonb_build_object('seen_at', to_char((i.visit ->> 'seen_at')::timestamptz at time zone 'utc',
      'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'customer_id', i.customer_id) as visit
    from contact_identities i
    where i.workspace_id = ${workspaceId} and i.contact_id = ${contactId} and i.channel = 'web' and i.visit is not null
    order by (i.visit ->> 'seen_at')::timestamptz desc
    limit 1`
  return row?.visit ?? null
}
