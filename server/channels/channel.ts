/**
 * The channel contract: what every adapter does, in our words.
 *
 * An adapter turns a provider's dialect into these types and back. It has no
 * SQL and no rules: it never decides whether something may be sent, and never
 * throws for what the other side said. What a provider reports is a list of
 * `Report`s; what it answers to a send is a `Sent`. A message of a known sender
 * is always a report, `unsupported` when its content cannot be read. Anything
 * else becomes `ignored` (not used here) or `malformed` (not readable), with a
 * reason for the log, and never stops its neighbours.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { ChannelName } from '../contacts/contacts.ts'

/** What an adapter must know to speak for a workspace. */
export type Connection = {
  workspace_id: string
  id: string
  channel: ChannelName
  /** The provider's id of the business account: whom `entry[].id` names. Empty on `web`. */
  account_id: string
  /** The provider's id of the sending number; empty on `social` and `web`. */
  phone_number_id: string
  /** Where the provider is, without a slash at the end: `https://graph.facebook.com`, or a simulator. */
  base_url: string
  /** The version segment of its paths: `v25.0`. */
  api_version: string
  access_token: string
  app_secret: string
  verify_token: string
  messages_per_second: number
  /** Made by the operator, so it may be at a private address: the simulator's is. */
  is_private: boolean
}

/** How a channel names somebody: a number in E.164 or an opaque user id, as they are in `contact_identities`. */
export type Person = {
  phone: string | null
  user_id: string | null
  name: string | null
  username: string | null
}

export const contentTypes = [
  'text',
  'image',
  'video',
  'audio',
  'document',
  'sticker',
  'location',
  'contacts',
  'interactive',
  'button',
  'reaction',
  'template',
  'unsupported',
] as const
export type ContentType = (typeof contentTypes)[number]

/** Media as the provider names it: by id, by link, or both. */
export type MediaReference = {
  id: string | null
  url: string | null
  mime_type: string | null
  filename: string | null
}

/** What the provider tells us. */
export type Report =
  | ({ kind: 'message'; from: Person } & Written)
  /** The business wrote, here or in the provider's own app. */
  | ({ kind: 'echo'; to: Person } & Written)
  | {
      kind: 'status'
      external_id: string
      /** Our own id, which travelled with the send; null when the provider did not give it back. */
      message_id: string | null
      status: 'sent' | 'delivered' | 'read' | 'failed'
      at: string
      /** Why it failed, in the provider's words: code and text. */
      error: string | null
      /** Names of the recipient that came along: a rewritten number, a user id. */
      recipient: Person | null
    }
  /** Everything up to this message was read (social). */
  | { kind: 'read_up_to'; external_id: string; from: Person; at: string }
  /** Somebody changed or took back a message of theirs; `from` is null when it was the business. */
  | { kind: 'edit'; from: Person | null; external_id: string; text: string; at: string }
  | { kind: 'revoke'; from: Person | null; external_id: string; at: string }
  /** A person has a new number or user id. */
  | { kind: 'moved'; from: Person; to: Person; at: string }
  | { kind: 'template'; name: string; language: string; changes: TemplateChanges }
  | ({ kind: 'signal' } & Signal)
  /** The person wants no marketing any more, or wants it again. */
  | { kind: 'preference'; from: Person; wants: 'stop' | 'resume'; at: string }
  | { kind: 'ignored' | 'malformed'; reason: string }

/** What the provider changed of a template: the fields that are present. */
export type TemplateChanges = {
  status?: string
  /** Why it has this status, in the provider's words; null when it gave no reason. */
  status_reason?: string | null
  quality?: string
  category?: string
}

export const severities = ['restriction', 'warning', 'info'] as const
export type Severity = (typeof severities)[number]

/**
 * Something about the account that members should know. A later signal with the same `key` replaces it; `resolved` removes
 * it. `restriction`: the provider blocks part of the account's messages.
 */
export type Signal = {
  key: string
  severity: Severity | 'resolved'
  text: string
  at: string
  /** When it ends by itself. */
  expires_at: string | null
}

export type Written = {
  external_id: string
  /** The provider's time, ISO 8601. */
  at: string
  content_type: ContentType
  content_text: string | null
  media: MediaReference | null
  /** The channel id of the message it answers or reacts to. */
  reply_to: string | null
  interactive_reply_id: string | null
  /**
   * What does not fit in a line of text, in the provider's own structure: a location, contact cards, an order, a form's
   * answer, a referral, a shared post. No media ids or tokens. `docs/message-content.md` lists it by type.
   */
  content: Record<string, unknown> | null
}

/** A template as the provider lists it; `components` are its own words, kept as they came. */
export type Template = {
  external_id: string
  name: string
  language: string
  status: string
  category: string
  parameter_format: string
  components: unknown
  /** Why it has its status, how customers take it (`GREEN`, `YELLOW`, `RED`), and its category before the last change. */
  status_reason?: string | null
  quality?: string | null
  previous_category?: string | null
}

/** The values of a template send, as the API takes them. */
export type TemplateParams = {
  body?: readonly string[] | undefined
  bodyNamed?: Readonly<Record<string, string>> | undefined
  headerText?: string | undefined
  headerMediaUrl?: string | undefined
  headerMediaId?: string | undefined
  headerFilename?: string | undefined
  headerLocation?:
    | { latitude: string; longitude: string; name?: string | undefined; address?: string | undefined }
    | undefined
  buttonParams?: Readonly<Record<string, string>> | undefined
  cards?: readonly TemplateCard[] | undefined
}
type TemplateCard = Pick<TemplateParams, 'headerMediaUrl' | 'headerMediaId' | 'body' | 'bodyNamed' | 'buttonParams'>

/** A template with its values: what goes over the wire, and what a person reads. */
export type Filled =
  | { ok: true; components: unknown[]; text: string; content: Record<string, unknown> }
  /** A value is missing or unusable; `message` names it: `template.params.body[1]: required`. */
  | { ok: false; fault: 'params'; message: string }
  /** The stored template itself cannot be read. */
  | { ok: false; fault: 'template'; message: string }

/** A template as a customer would see it; a variable without a value stands as it is in the text, and is `missing`. */
export type Previewed =
  | { ok: true; shown: Shown; missing: string[] }
  | { ok: false; fault: 'template'; message: string }

export type Shown = ShownCard & { footer: string | null; cards: ShownCard[] }
export type ShownCard = {
  header: { format: string; text?: string; url?: string; id?: string; filename?: string; location?: object } | null
  body: string | null
  buttons: { text: string | null }[]
}

export type Content =
  | { type: 'text'; text: string }
  | { type: 'image' | 'video' | 'document' | 'audio'; media_url: string; text: string | null; filename: string | null }
  | { type: 'template'; name: string; language: string; components: unknown[] }

export type Outgoing = {
  /** Our message id. It comes back with every report of this message. */
  message_id: string
  to: Person
  content: Content
  /** The channel id of the message that is quoted. */
  reply_to: string | null
  /** A person wrote it, and the customer's last message is older than the ordinary window. */
  late_reply: boolean
}

export type Sent =
  /** `person`: what the provider calls the recipient, which may differ from what we said. */
  | { ok: true; external_id: string | null; person: Person | null }
  /**
   * It said no; nothing was sent. `again`: the very same may be sent later. `isDenied`: it refused the credentials without
   * a code, as something that stands in front of it may do.
   */
  | { ok: false; outcome: 'rejected'; again: boolean; code: number | null; message: string; isDenied?: boolean }
  /** The request never left, for want of a connection: nothing was sent, and the very same may be sent later. */
  | { ok: false; outcome: 'unsent'; message: string }
  /** No answer, a broken one, or an error of its own: it may have been sent. */
  | { ok: false; outcome: 'unknown'; message: string }

export type Profile = { name: string | null; username: string | null; avatar_url: string | null }

export type FetchedMedia =
  | { ok: true; bytes: Readable; mime_type: string }
  /** `again`: it may come later; otherwise it is gone or too large. */
  | { ok: false; again: boolean; message: string }

/** One step of a connection's check, in words a person understands; `field` is the setting to mend. */
export type CheckStep = { step: string; ok: boolean; field: string | null; message: string }

export type Callback = { headers: IncomingHttpHeaders; body: Buffer }

export type Channel = {
  name: ChannelName
  /** How long after the customer's last message a free reply may be sent; null: always. */
  windowMs: number | null
  /** How much longer a reply written by a person may be. */
  lateWindowMs: number | null
  /**
   * The id to quote a message by, from the id it was stored with and ours (null while it is unsent); null: it cannot be
   * quoted. Absent: the stored id is the channel's.
   */
  quotableId?(externalId: string | null, ourId: string | null): string | null
  send(connection: Connection, outgoing: Outgoing): Promise<Sent>
  /** The challenge to answer with, or undefined when the verify token is wrong. */
  answerHandshake(connection: Connection, query: Record<string, unknown>): string | undefined
  isSigned(connection: Connection, callback: Callback): boolean
  /** Never throws. */
  parse(connection: Connection, body: unknown): Report[]
  fetchMedia(connection: Connection, media: MediaReference, maxBytes: number): Promise<FetchedMedia>
  fetchProfile?(connection: Connection, userId: string): Promise<Profile | undefined>
  /** Every template, through all pages; undefined when the provider did not answer as it should. */
  listTemplates?(connection: Connection): Promise<Template[] | undefined>
  fillTemplate?(template: Template, params: TemplateParams): Filled
  /** The same for somebody who is still choosing values. */
  previewTemplate?(template: Template, params: TemplateParams): Previewed
  /** One plain sentence for an error it gave, code first; undefined: its own words say it best. */
  explainError?(error: string): string | undefined
  check(connection: Connection): Promise<CheckStep[]>
}
