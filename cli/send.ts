/** `parley send`: one message, as its options say. */
import type { Api } from './api.ts'
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

export type Sent = {
  message_id: string
  msgapp_message_id: string
  conversation_id: string
  contact_id: string
  contact_created: boolean
}

export async function send(api: Api, output: Output, sending: Sending): Promise<void> {
  const sent = await api.call<Sent>('POST', '/messages', toMessage(sending))
  // An answer means that the channel accepted it; what becomes of it afterwards is told by events.
  const answer = { ...sent, status: 'sent' }
  output.print(answer, [
    `message ${sent.message_id}: ${answer.status}`,
    `conversation ${sent.conversation_id}, contact ${sent.contact_id}${sent.contact_created ? ' (new)' : ''}`,
  ])
}

/** The body of `POST /messages`. */
export function toMessage({ to, text, template, language, param, media, type, filename, name }: Sending): object {
  if (!to) throw new Failure('bad_option', '--to: required, a phone number such as +14155550100')
  const who = { to, ...(name === undefined ? {} : { name }) }
  if (template !== undefined) {
    if (text !== undefined || media !== undefined) throw new Failure('bad_option', oneOf)
    return {
      ...who,
      type: 'template',
      template: {
        name: template,
        ...(language === undefined ? {} : { language }),
        ...(param === undefined ? {} : { params: param }),
      },
    }
  }
  if (media !== undefined) {
    return {
      ...who,
      type: type ?? typeOf(media),
      media_url: media,
      ...(text === undefined ? {} : { text }),
      ...(filename === undefined ? {} : { filename }),
    }
  }
  if (text === undefined) throw new Failure('bad_option', oneOf)
  return { ...who, text }
}

const oneOf = 'what to send: one of --text, --template and --media'

const endings: Record<string, readonly string[]> = {
  image: ['jpg', 'jpeg', 'png', 'webp', 'gif'],
  video: ['mp4', '3gp', 'mov'],
  audio: ['mp3', 'ogg', 'opus', 'aac', 'amr', 'm4a'],
}

/** What a file is by the ending of its address; a document when that says nothing. */
function typeOf(url: string): string {
  const ending = (URL.parse(url)?.pathname ?? '').split('.').at(-1)?.toLowerCase() ?? ''
  return Object.keys(endings).find((type) => endings[type]?.includes(ending)) ?? 'document'
}
