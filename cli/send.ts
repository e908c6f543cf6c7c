/** `parley send`: sends one message. */
import type { NewMessage, NewReply, Parley } from '../sdk/src/index.ts'
import type { Output } from './output.ts'
import { CommandError, parseUrl } from './target.ts'

type SendOptions = {
  to?: string | undefined
  from?: string | undefined
  conversation?: string | undefined
  text?: string | undefined
  template?: string | undefined
  language?: string | undefined
  param?: string[] | undefined
  button?: string[] | undefined
  media?: string | undefined
  type?: string | undefined
  filename?: string | undefined
  name?: string | undefined
}

/** Retries use the same idempotency key. A user who repeats the command would send the message twice. */
const maxRetries = 2

export async function send(parley: Parley, output: Output, options: SendOptions): Promise<void> {
  if (options.conversation !== undefined) return reply(parley, output, options.conversation, options)
  const sent = await parley.messages.send(toMessage(options), { maxRetries })
  // A response means that the channel accepted the message. Events report the later statuses.
  const result = { ...sent, status: 'sent' }
  output.print(result, [
    `message ${sent.message_id}: ${result.status}`,
    `conversation ${sent.conversation_id}, contact ${sent.contact_id}${sent.contact_created ? ' (new)' : ''}`,
  ])
}

async function reply(parley: Parley, output: Output, conversationId: string, options: SendOptions): Promise<void> {
  const { to, from, name } = options
  if (to !== undefined || from !== undefined || name !== undefined) {
    throw new CommandError('bad_option', '--conversation: not together with --to, --from or --name')
  }
  const sent = await parley.conversations.reply(conversationId, toReply(options), { maxRetries })
  output.print(sent, [`message ${sent.id}: ${sent.status}`, `conversation ${sent.conversation_id}`])
}

/** Returns the body of `POST /messages`. Rejects options that would have no effect. */
export function toMessage(options: SendOptions): NewMessage {
  const { to, from, name } = options
  if (!to) {
    throw new CommandError('bad_option', '--to: required, a phone number such as +14155550100 (or --conversation)')
  }
  return { to, from, name, ...toReply(options) }
}

/** Returns the body without the recipient. */
function toReply({ text, template, language, param, media, type, filename, button }: SendOptions): NewReply {
  const isOneKind =
    template === undefined ? media !== undefined || text !== undefined : media === undefined && text === undefined
  if (!isOneKind) throw new CommandError('bad_option', 'Use exactly one of --text, --template and --media.')
  if (template === undefined) requireAbsent('--template', { language, param })
  if (media === undefined) requireAbsent('--media', { type, filename })
  if (template !== undefined || media !== undefined) requireAbsent('--text alone', { button })
  if (template !== undefined) return { type: 'template', template: { name: template, language, params: param } }
  if (media !== undefined) return { type: parseMediaType(type) ?? mediaTypeOf(media), media_url: media, text, filename }
  if (!button || text === undefined) return { text }
  const buttons = button.map((title) => ({ id: title, title }))
  return { type: 'interactive', interactive: { kind: 'buttons', body: text, buttons } }
}

function requireAbsent(requiredOption: string, options: Record<string, unknown>): void {
  const present = Object.keys(options).find((name) => options[name] !== undefined)
  if (present) throw new CommandError('bad_option', `--${present}: only with ${requiredOption}`)
}

/** File extensions of each media type. Every other file is a document. */
const extensions = {
  image: ['jpg', 'jpeg', 'png', 'webp', 'gif'],
  video: ['mp4', '3gp', 'mov'],
  audio: ['mp3', 'ogg', 'opus', 'aac', 'amr', 'm4a'],
  document: [],
} as const satisfies Record<string, readonly string[]>

type MediaType = keyof typeof extensions
const mediaTypes = Object.keys(extensions) as MediaType[]

function parseMediaType(text: string | undefined): MediaType | undefined {
  const type = mediaTypes.find((known) => known === text)
  if (text !== undefined && !type) throw new CommandError('bad_option', `--type: one of ${mediaTypes.join(', ')}`)
  return type
}

function mediaTypeOf(url: string): MediaType {
  const extension = (parseUrl(url)?.pathname ?? '').split('.').at(-1)?.toLowerCase() ?? ''
  return mediaTypes.find((type) => extensions[type].some((known) => known === extension)) ?? 'document'
}
