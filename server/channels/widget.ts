/**
 * The settings of the web chat widget of a site: its look, the details it asks for, and the hosts that may embed it. They are part of
 * the connection of the site.
 *
 * A null title or greeting means the widget's own text, in the language of the page. Without allowed origins every site may
 * embed the widget.
 */
import type { JSONValue } from 'postgres'
import { badRequest, notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { lengthOf } from '../lib/text.ts'

export const positions = ['right', 'left'] as const
/** Whether visitors are asked for their name and e-mail before they write. */
export const detailPolicies = ['never', 'optional', 'required'] as const
/** What visitors see of the name of the member who replies. */
export const memberNamePolicies = ['first', 'full', 'hidden'] as const

export type Widget = {
  title: string | null
  greeting: string | null
  /** `#rrggbb`, in lower case. */
  color: string
  position: (typeof positions)[number]
  ask_details: (typeof detailPolicies)[number]
  member_names: (typeof memberNamePolicies)[number]
  /** Whether visitors see how soon members usually reply. */
  show_reply_time: boolean
  /** In the form that browsers send: `https://shop.example`. */
  allowed_origins: string[]
}

const defaults: Widget = {
  title: null,
  greeting: null,
  color: '#5442dc',
  position: 'right',
  ask_details: 'never',
  member_names: 'first',
  show_reply_time: true,
  allowed_origins: [],
}

const maxTitle = 60
const maxGreeting = 300
export const maxOrigins = 50

/** The stored settings, with defaults for the others. */
export const readWidget = (stored: Partial<Widget>): Widget => ({ ...defaults, ...stored })

/** The name of a member as visitors see it. A member without a name has none: visitors never see an email address. */
export function shownName(policy: Widget['member_names'], name: string | null | undefined): string | null {
  const full = (policy !== 'hidden' && name?.trim()) || null
  return policy === 'first' ? (full?.split(/\s/, 1)[0] ?? null) : full
}

/** The settings with the id of the connection, and the time at which its identity secret was created. */
type StoredWidget = Widget & { id: string; identity_secret_at: string | null }

/** A site of a workspace. Without an id: the default one. */
export type SiteRef = { id?: string | undefined }

/** Condition on `channel_connections`: it is the site, and connected. */
export function isSite(sql: Sql, { id }: SiteRef): Fragment {
  const isNamed = id === undefined ? sql`channel = 'web'` : sql`id = ${isUuid(id) ? id : null}::uuid`
  return sql`channel_name = 'web' and disconnected_at is null and ${isNamed}`
}

/** Throws 404 while the site is not connected. */
export async function requireWidget(sql: Sql, workspaceId: string, site: SiteRef): Promise<StoredWidget> {
  const [row] = await sql<Row[]>`
    select id, widget, identity_secret_at from channel_connections
    where workspace_id = ${workspaceId} and ${isSite(sql, site)}`
  return toWidget(row)
}

export async function updateWidget(
  sql: Sql,
  workspaceId: string,
  site: SiteRef,
  changes: WidgetChanges,
): Promise<StoredWidget> {
  const [row] = await sql<Row[]>`
    update channel_connections set widget = widget || ${sql.json(readChanges(changes) as JSONValue)}, updated_at = now()
    where workspace_id = ${workspaceId} and ${isSite(sql, site)}
    returning id, widget, identity_secret_at`
  return toWidget(row)
}

/** Absent settings stay as they are. */
type WidgetChanges = { [Name in keyof Widget]?: Widget[Name] | undefined }
type Row = { id: string; widget: Partial<Widget>; identity_secret_at: string | null }

function toWidget(row: Row | undefined): StoredWidget {
  if (!row) throw notFound('channel')
  const { widget, ...rest } = row
  return { ...readWidget(widget), ...rest }
}

function readChanges({
  title,
  greeting,
  color,
  position,
  ask_details,
  member_names,
  show_reply_time,
  allowed_origins,
}: WidgetChanges): Partial<Widget> {
  return {
    ...(title === undefined ? {} : { title: readText('title', title, maxTitle) }),
    ...(greeting === undefined ? {} : { greeting: readText('greeting', greeting, maxGreeting) }),
    ...(color === undefined ? {} : { color: readColor(color) }),
    ...(position === undefined ? {} : { position }),
    ...(ask_details === undefined ? {} : { ask_details }),
    ...(member_names === undefined ? {} : { member_names }),
    ...(show_reply_time === undefined ? {} : { show_reply_time }),
    ...(allowed_origins === undefined ? {} : { allowed_origins: [...new Set(allowed_origins.map(readOrigin))] }),
  }
}

/** Blank text becomes null. */
function readText(field: string, input: string | null, max: number): string | null {
  const text = input?.trim() || null
  if (text && lengthOf(text) > max) throw badRequest(`${field}: must have at most ${max} characters`)
  return text
}

function readColor(input: string): string {
  const color = input.trim().toLowerCase()
  if (!/^#[0-9a-f]{6}$/.test(color)) throw badRequest('color: must be a colour such as #5442dc')
  return color
}

/** Accepts a pasted URL with a trailing slash and capitals, and returns the origin as browsers send it. */
function readOrigin(input: string, index: number): string {
  const url = URL.parse(input.trim())
  const isBare = url && url.pathname === '/' && !url.search && !url.hash && !url.username && !url.password
  if (!isBare || !/^https?:$/.test(url.protocol)) {
    throw badRequest(
      `allowed_origins[${index}]: must be the URL of a site without a path, such as https://shop.example`,
    )
  }
  return url.origin
}
