/**
 * The channel contract: the types and functions that every adapter implements.
 *
 * An adapter translates between a provider's format and these types. It has no SQL and no rules: it never decides whether a
 * message may be sent, and it never throws because of what the provider sent. A callback becomes a list of `Report`s, and
 * the answer to a send a `SendAnswer`. A message of a known sender is always a report, `unsupported` when its content cannot
 * be read. Everything else is `ignored` (not used) or `malformed` (not readable), with a reason for the log. One item never
 * affects the others.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { ChannelName } from '../contacts/resource.ts'

/** The account of a workspace on a channel, with everything an adapter needs to call the provider. */
export type Connection = {
  workspace_id: string
  id: string
  channel: ChannelName
  /** Unique in the workspace. */
  name: string
  /** The phone number in E.164, the user name, or the host of the site; null until it is known. */
  address: string | null
  /** Used when nothing else decides. One connection of each channel is the default. */
  is_default: boolean
  /** Stands before stored user ids and template names, which are unique per provider account (`contacts/scope.ts`). */
  scope: string
  /** The provider's id of the business account, which is in `entry[].id`. Empty on `web`. */
  account_id: string
  /** The provider's id of the sending number; empty on `social` and `web`. */
  phone_number_id: string
  /** The provider's base URL without a trailing slash: `https://graph.facebook.com`, or a simulator. */
  base_url: string
  /** The version segment of its paths: `v25.0`. */
  api_version: string
  access_token: string
  app_secret: string
  verify_token: string
  messages_per_second: number
  /** The operator created it, so its base URL may be a private address, as that of the simulator is. */
  is_private: boolean
}

/** A person as a channel identifies them: a number in E.164 or an opaque user id, as in `contact_identities`. */
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

/** The provider's reference to media: an id, a link, or both. */
export type MediaReference = {
  id: string | null
  url: string | null
  mime_type: string | null
  filename: string | null
}

/** One item of a provider's callback. */
export type Report =
  | ({ kind: 'message'; from: Person } & WrittenMessage)
  /** A message of the business, sent by us or in the provider's app. */
  | ({ kind: 'echo'; to: Person } & WrittenMessage)
  | {
      kind: 'status'
      external_id: string
      /** Our message id, which the send carried; null when the provider did not return it. */
      message_id: string | null
      status: 'sent' | 'delivered' | 'read' | 'failed'
      at: string
      /** The reason of a failure: the provider's code and text. */
      error: string | null
      /** Further identities of the recipient in the report: a rewritten number, a user id. */
      recipient: Person | null
    }
  /** The person read all messages up to this one (social). */
  | { kind: 'read_up_to'; external_id: string; from: Person; at: string }
  /** The sender edited or deleted a message; `from` is null when the sender is the business. */
  | { kind: 'edit'; from: Person | null; external_id: string; text: string; at: string }
  | { kind: 'revoke'; from: Person | null; external_id: string; at: string }
  /** A person has a new number or user id. */
  | { kind: 'moved'; from: Person; to: Person; at: string }
  | { kind: 'template'; name: string; language: string; changes: TemplateChanges }
  | ({ kind: 'signal' } & AccountSignal)
  | ({ kind: 'foreign' } & ForeignCallback)
  /** The person opts out of marketing, or in again. */
  | { kind: 'preference'; from: Person; wants: 'stop' | 'resume'; at: string }
  | { kind: 'ignored' | 'malformed'; reason: string }

/** The fields of a template that the provider changed. */
export type TemplateChanges = {
  status?: string
  /** The provider's reason for the status, or null. */
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
export type AccountSignal = {
  key: string
  severity: Severity | 'resolved'
  text: string
  at: string
  /** The time when it expires. */
  expires_at: string | null
}

/** A part of a callback that is about another number or account than that of the connection. It is ignored. */
export type ForeignCallback = {
  /** The key of the signal that names it. */
  key: string
  /** The provider's id of the number (msgapp) or account (social); null: the callback does not name it. */
  id: string | null
  /** The number or account as members know it. */
  shown: string
  /** Why it is ignored, if the workspace has not connected it. */
  reason: string
  /** Customers wrote. */
  hasMessages: boolean
}

export type WrittenMessage = {
  external_id: string
  /** The provider's time, ISO 8601. */
  at: string
  content_type: ContentType
  content_text: string | null
  media: MediaReference | null
  /** The channel's id of the message it replies or reacts to. */
  reply_to: string | null
  interactive_reply_id: string | null
  /**
   * Content that is not text, in the provider's structure: a location, contact cards, an order, the answer to a form, a
   * referral, a shared post. It has no media ids or tokens. `docs/message-content.md` lists it by type.
   */
  content: Record<string, unknown> | null
}

/** A template as the provider lists it. `components` is stored unchanged. */
export type Template = {
  external_id: string
  name: string
  language: string
  status: string
  category: string
  parameter_format: string
  components: unknown
  /** The reason for its status, its quality rating (`GREEN`, `YELLOW`, `RED`), and its category before the last change. */
  status_reason?: string | null
  quality?: string | null
  previous_category?: string | null
}

/** The values of a template, as in the API. */
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

/** The result of filling a template: the components for the wire, and the text that the customer reads. */
export type FillResult =
  | { ok: true; components: unknown[]; text: string; content: Record<string, unknown> }
  /** A value is missing or unusable. `message` has its path: `template.params.body[1]: required`. */
  | { ok: false; fault: 'params'; message: string }
  /** The stored template itself cannot be read. */
  | { ok: false; fault: 'template'; message: string }

/** A template as a customer would see it. A variable without a value stays in the text and is listed in `missing`. */
export type TemplatePreview =
  | { ok: true; shown: ShownTemplate; missing: string[] }
  | { ok: false; fault: 'template'; message: string }

export type ShownTemplate = ShownCard & { footer: string | null; cards: ShownCard[] }
export type ShownCard = {
  header: { format: string; text?: string; url?: string; id?: string; filename?: string; location?: object } | null
  body: string | null
  buttons: { text: string | null }[]
}

/** Choices or a link below a text. Buttons and rows have ids, which the customer's tap returns. */
export type Interactive =
  | {
      kind: 'buttons'
      body: string
      header?: string | undefined
      footer?: string | undefined
      buttons: readonly { id: string; title: string }[]
    }
  | { kind: 'list'; body: string; button: string; sections: readonly ListSection[] }
  | { kind: 'link'; body: string; text: string; url: string }
type ListSection = {
  title: string
  rows: readonly { id: string; title: string; description?: string | undefined }[]
}

export type Location = {
  latitude: number
  longitude: number
  name?: string | undefined
  address?: string | undefined
}

export type Content =
  | { type: 'text'; text: string }
  | { type: 'image' | 'video' | 'document' | 'audio'; media_url: string; text: string | null; filename: string | null }
  | { type: 'template'; name: string; language: string; components: unknown[] }
  | { type: 'interactive'; interactive: Interactive }
  | { type: 'location'; location: Location }
  /** A reaction to the message `reply_to`. An empty emoji removes it. */
  | { type: 'reaction'; emoji: string }

export type OutgoingMessage = {
  /** Our message id. The provider returns it in every report of this message. */
  message_id: string
  to: Person
  content: Content
  /** The channel's id of the quoted message, or of the message that a reaction is for. */
  reply_to: string | null
  /** A member wrote it after the ordinary window has closed. */
  late_reply: boolean
}

export type SendAnswer =
  /** `person`: the recipient's identities at the provider, which may differ from ours. */
  | { ok: true; external_id: string | null; person: Person | null }
  /**
   * The provider refused it; nothing was sent. `again`: the refusal is temporary. `isDenied`: the credentials were refused
   * without a code, for example by a proxy in front of the provider.
   */
  | { ok: false; outcome: 'rejected'; again: boolean; code: number | null; message: string; isDenied?: boolean }
  /** There was no connection: nothing was sent, and the message may be sent later. */
  | { ok: false; outcome: 'unsent'; message: string }
  /** No answer, an incomplete one, or a 5xx: the message may have been sent. */
  | { ok: false; outcome: 'unknown'; message: string }

export type Profile = { name: string | null; username: string | null; avatar_url: string | null }

export type FetchedMedia =
  | { ok: true; bytes: Readable; mime_type: string }
  /** `again`: a later attempt may succeed. Otherwise the media is gone or too large. */
  | { ok: false; again: boolean; message: string }

/** One step of a connection check, for members. `field` is the setting to fix. */
export type CheckStep = { step: string; ok: boolean; field: string | null; message: string }

export type Callback = { headers: IncomingHttpHeaders; body: Buffer }

export type Channel = {
  name: ChannelName
  /** How long after the customer's last message a free-form reply may be sent; null: always. */
  windowMs: number | null
  /** The longer window for a reply that a member writes; null: there is none. */
  lateWindowMs: number | null
  /**
   * The channel's id for quoting a message, from its stored id and our id (null while it is unsent). Null: it cannot be
   * quoted. Without this function the stored id is used.
   */
  quotableId?(externalId: string | null, ourId: string | null): string | null
  send(connection: Connection, outgoing: OutgoingMessage): Promise<SendAnswer>
  /** The challenge to return, or undefined when the verify token is wrong. */
  answerHandshake(connection: Connection, query: Record<string, unknown>): string | undefined
  isSigned(connection: Connection, callback: Callback): boolean
  /** Never throws. */
  parse(connection: Connection, body: unknown): Report[]
  fetchMedia(connection: Connection, media: MediaReference, maxBytes: number): Promise<FetchedMedia>
  fetchProfile?(connection: Connection, userId: string): Promise<Profile | undefined>
  /** The phone number or user name of the account; undefined when the provider did not answer with it. */
  fetchAddress?(connection: Connection): Promise<string | undefined>
  /** The templates of all pages; undefined when the provider did not answer or returned an error. */
  listTemplates?(connection: Connection): Promise<Template[] | undefined>
  fillTemplate?(template: Template, params: TemplateParams): FillResult
  /** Whether only people with a phone number can get the template; absent: none needs one. */
  needsPhone?(template: Pick<Template, 'category'>): boolean
  /** The same while a member still enters values. */
  previewTemplate?(template: Template, params: TemplateParams): TemplatePreview
  /** A plain sentence for an error that starts with the provider's code; undefined when there is none. */
  explainError?(error: string): string | undefined
  /** Blocks a person, or ends it. The provider then passes on no messages of the person. Absent: the channel has no such call. */
  setBlocked?(connection: Connection, person: Person, isBlocked: boolean): Promise<BlockAnswer>
  check(connection: Connection): Promise<CheckStep[]>
}

/** `isRefused`: the provider did not do it. Otherwise the outcome is unknown. */
export type BlockAnswer = { ok: true } | { ok: false; isRefused: boolean; message: string }
