/** `parley send`: one message, as its options say. */
import type { NewMessage, Parley } from '../sdk/src/index.ts'
import type { Output } from './output.ts'
import { Failure } from './target.ts'

export type Sending = {
  to?: string | undefined
  text?: string | undefined
  template?: string | undefined
  language?: string | undefined
  param?: string[] | undefined
  media?: string | undefined
  type?: string | undefined
  filename?: string | undefined
  name?: string | undefined
}

/** A line that breaks is tried again under the same key: whoever would type it again would send it twice. */
const maxRetries = 2

export async function send(parley: Parley, output: Output, sending: Sending): Promise<void> {
  const sent = await parley.messages.send(toMessage(sending), { maxRetries })
  // An answer means that the channel accepted it; what becomes of it afterwards is told by events.
  const answer = { ...sent, status: 'sent' }
  output.print(answer, [
    `message ${sent.message_id}: ${answer.status}`,
    `conversation ${sent.conversation_id}, contact ${sent.contact_id}${sent.contact_created ? ' (new)' : ''}`,
  ])
}

/** The body of `POST /messages`. An option that would have no effect is refused: it was meant to have one. */
export function toMessage({ to, text, template, language, param, media, type, filename, name }: Sending): NewMessage {
  if (!to) throw new Failure('bad_option', '--to: required, a phone number such as +14155550100')
  const isOne =
    template === undefined ? media !== undefined || text !== undefined : media === undefined && text === undefined
  if (!isOne) throw new Failure('bad_option', oneOf)
  if (template === undefined) refuse('--template', { language, param })
  if (media === undefined) refuse('--media', { type, filename })
  if (template !== undefined)
    return { to, name, type: 'template', template: { name: template, language, params: param } }
  if (media !== undefined) return { to, name, type: readType(type) ?? typeOf(media), media_url: media, text, filename }
  return { to, name, text }
}

const oneOf = 'what to send: one of --text, --template and --media'

function refuse(needed: string, options: Record<string, unknown>): void {
  const idle = Object.keys(options).find((name) => options[name] !== undefined)
  if (idle) throw new Failure('bad_option', `--${idle}: only with ${needed}`)
}

const endings = {
  image: ['jpg', 'jpeg', 'png', 'webp', 'gif'],
  video: ['mp4', '3gp', 'mov'],
  audio: ['mp3', 'ogg', 'opus', 'aac', 'amr', 'm4a'],
  /** Whatever else it is. */
  document: [],
} as const satisfies Record<string, readonly string[]>

type MediaType = keyof typeof endings
const mediaTypes = Object.keys(endings) as MediaType[]

function readType(text: string | undefined): MediaType | undefined {
  const type = mediaTypes.find((known) => known === text)
  if (text !== undefined && !type) throw new Failure('bad_option', `--type: one of ${mediaTypes.join(', ')}`)
  return type
}

/** What a file is by the ending of its address; a document when that says nothing. */
function typeOf(url: string): MediaType {
  const ending = (URL.parse(url)?.pathname ?? '').split('.').at(-1)?.toLowerCase() ?? ''
  return mediaTypes.find((type) => endings[type].some((known) => known === ending)) ?? 'document'
}
