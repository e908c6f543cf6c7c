/**
 * The chat on somebody's site: how it looks, what it asks for, and which sites
 * may have it. Part of the web channel's connection, and gone with it.
 *
 * A title or greeting that is null is the widget's own, in the language of the
 * page it is on. Without allowed origins every site may have it; with some,
 * only those.
 */
import type { JSONValue } from 'postgres'
import type { Sql } from '../lib/db.ts'
import { badRequest, notFound } from '../lib/errors.ts'
import { lengthOf } from '../lib/text.ts'

export const positions = ['right', 'left'] as const
/** Whether visitors are asked for their name and e-mail before they write. */
export const detailWishes = ['never', 'optional', 'required'] as const

export type Widget = {
  title: string | null
  greeting: string | null
  /** `#rrggbb`, in lower case. */
  color: string
  position: (typeof positions)[number]
  ask_details: (typeof detailWishes)[number]
  /** As browsers say them: `https://shop.example`. */
  allowed_origins: string[]
}

const defaults: Widget = {
  title: null,
  greeting: null,
  color: '#5442dc',
  position: 'right',
  ask_details: 'never',
  allowed_origins: [],
}

const maxTitle = 60
const maxGreeting = 300
export const maxOrigins = 50

/** What was stored, with the defaults of what was not. */
export const readWidget = (stored: Partial<Widget>): Widget => ({ ...defaults, ...stored })

/** The widget of a workspace, with the id of its site; 404 while the web channel is not connected. */
export async function requireWidget(sql: Sql, workspaceId: string): Promise<Widget & { id: string }> {
  const [row] = await sql<Row[]>`
    select id, widget from channel_connections where workspace_id = ${workspaceId} and channel = 'web'`
  return toWidget(row)
}

/** Change what is given; the rest stays. */
export async function updateWidget(sql: Sql, workspaceId: string, changes: Changes): Promise<Widget & { id: string }> {
  const [row] = await sql<Row[]>`
    update channel_connections set widget = widget || ${sql.json(readChanges(changes) as JSONValue)}, updated_at = now()
    where workspace_id = ${workspaceId} and channel = 'web'
    returning id, widget`
  return toWidget(row)
}

/** What a member may say; what is absent stays. */
type Changes = { [Name in keyof Widget]?: Widget[Name] | undefined }
type Row = { id: string; widget: Partial<Widget> }

function toWidget(row: Row | undefined): Widget & { id: string } {
  if (!row) throw notFound('channel')
  return { ...readWidget(row.widget), id: row.id }
}

function readChanges({ title, greeting, color, position, ask_details, allowed_origins }: Changes): Partial<Widget> {
  return {
    ...(title === undefined ? {} : { title: readText('title', title, maxTitle) }),
    ...(greeting === undefined ? {} : { greeting: readText('greeting', greeting, maxGreeting) }),
    ...(color === undefined ? {} : { color: readColor(color) }),
    ...(position === undefined ? {} : { position }),
    ...(ask_details === undefined ? {} : { ask_details }),
    ...(allowed_origins === undefined ? {} : { allowed_origins: [...new Set(allowed_origins.map(readOrigin))] }),
  }
}

/** Blank is the same as none. */
function readText(field: string, given: string | null, max: number): string | null {
  const text = given?.trim() || null
  if (text && lengthOf(text) > max) throw badRequest(`${field}: must have at most ${max} characters`)
  return text
}

function readColor(given: string): string {
  const color = given.trim().toLowerCase()
  if (!/^#[0-9a-f]{6}$/.test(color)) throw badRequest('color: must be a colour such as #5442dc')
  return color
}

/** An address that somebody pastes has a slash at its end, and capitals; a browser's has neither. */
function readOrigin(given: string, place: number): string {
  const url = URL.parse(given.trim())
  const isBare = url && url.pathname === '/' && !url.search && !url.hash && !url.username && !url.password
  if (!isBare || !/^https?:$/.test(url.protocol)) {
    throw badRequest(
      `allowed_origins[${place}]: must be the address of a site without a path, such as https://shop.example`,
    )
  }
  return url.origin
}
