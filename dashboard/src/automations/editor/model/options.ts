/** Buttons and rows: their ids follow the title until something refers to them, and new ones. Pure. */
import { type Definition, type Interactive, type Message, type Option, optionsOf } from './definition.ts'
import { listSteps } from './tree.ts'

/** An id that reads like the title, and that no other option has. */
function idOfTitle(title: string, others: readonly string[]): string {
  const base =
    title
      .normalize('NFD')
      .toLowerCase()
      .replaceAll(/[\u0300-\u036f]/g, '')
      .replaceAll(/[^a-z0-9]+/g, '_')
      .replaceAll(/^_+|_+$/g, '') || 'option'
  for (let number = 1; ; number++) {
    const id = number === 1 ? base : `${base}_${number}`
    if (!others.includes(id)) return id
  }
}

/** Changes the title of an option. Its id follows while it is made from the title and is not `isUsed`. */
export function retitle(
  options: readonly Option[],
  index: number,
  title: string,
  isUsed: (id: string) => boolean,
): Option[] {
  return options.map((option, i) => {
    if (i !== index) return option
    const others = options.flatMap(({ id }, k) => (k === index ? [] : [id]))
    const isMade = option.id === idOfTitle(option.title, others)
    return { ...option, title, id: isMade && !isUsed(option.id) ? idOfTitle(title, others) : option.id }
  })
}

export const newOption = (options: readonly Option[]): Option => ({
  title: '',
  id: idOfTitle(
    '',
    options.map(({ id }) => id),
  ),
})

/** The ids that must stay: rules compare with them, or a published version has them, whose runs may wait for an answer. */
export function usedIds(definition: Definition, published: unknown): ReadonlySet<string> {
  const used = new Set<string>()
  for (const { step } of listSteps(definition)) {
    if (step.type !== 'branch') continue
    for (const { when } of step.cases) {
      for (const rule of when.rules)
        for (const each of 'rules' in rule ? rule.rules : [rule]) used.add(each.value ?? '')
    }
  }
  if (published) for (const [, id = ''] of JSON.stringify(published).matchAll(/"id":"([^"]*)"/g)) used.add(id)
  return used
}

export const messageKinds = [
  'text',
  'buttons',
  'list',
  'link',
  'image',
  'video',
  'audio',
  'document',
  'location',
  'template',
] as const
export type MessageKind = (typeof messageKinds)[number]

export const kindOf = (message: Message): MessageKind =>
  message.type === 'interactive' ? message.interactive.kind : message.type

/** The text of a message, whatever its kind. */
function textOf(message: Message): string {
  if (message.type === 'interactive') return message.interactive.body
  return 'text' in message ? (message.text ?? '') : ''
}

/** The same message as another kind: it keeps its text, and buttons become rows and back. */
export function toKind(message: Message, kind: MessageKind): Message {
  const text = textOf(message)
  switch (kind) {
    case 'text':
      return { type: 'text', text }
    case 'buttons':
    case 'list':
    case 'link':
      return { type: 'interactive', interactive: toInteractive(kind, text, optionsOf(message)) }
    case 'location':
      return { type: 'location', location: { latitude: 0, longitude: 0 } }
    case 'template':
      return { type: 'template', template: { name: '' } }
    default:
      return { type: kind, media_url: '', ...(text && kind !== 'audio' ? { text } : {}) }
  }
}

function toInteractive(kind: Interactive['kind'], body: string, options: readonly Option[]): Interactive {
  const filled = options.length > 0 ? options : [newOption([])]
  if (kind === 'buttons') return { kind, body, buttons: filled.slice(0, 3).map(({ id, title }) => ({ id, title })) }
  if (kind === 'link') return { kind, body, text: '', url: '' }
  return { kind, body, button: '', sections: [{ title: '', rows: [...filled] }] }
}
