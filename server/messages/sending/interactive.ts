/**
 * Buttons, lists, links and locations in a send request: their schemas, and the rules that a schema cannot express. The
 * limits are those of the primary channel. `check.ts` has the limits of the other channels.
 */
import type { Interactive, Location } from '../../channels/channel.ts'
import { badRequest } from '../../lib/errors.ts'
import { inDocument, OneOf, Type } from '../../lib/schema.ts'
import { isHttpsUrl } from '../../lib/text.ts'

const maxRows = 10

const Text = (maxLength: number, description?: string) =>
  Type.String({ minLength: 1, maxLength, ...(description ? { description } : {}) })
const Id = (maxLength: number) =>
  Text(maxLength, 'Returned as `interactive_reply_id` of the message that a tap sends. Unique in the message.')

const ButtonsSchema = Type.Object(
  {
    kind: Type.Literal('buttons'),
    body: Text(1024),
    header: Type.Optional(Text(60)),
    footer: Type.Optional(Text(60)),
    buttons: Type.Array(Type.Object({ id: Id(256), title: Text(20) }), { minItems: 1, maxItems: 3 }),
  },
  { title: 'InteractiveButtons', description: 'A text with one to three buttons that send a reply.' },
)

const ListSchema = Type.Object(
  {
    kind: Type.Literal('list'),
    body: Text(4096),
    button: Text(20, 'The label of the button that opens the list.'),
    sections: Type.Array(
      Type.Object({
        title: Text(24),
        rows: Type.Array(Type.Object({ id: Id(200), title: Text(24), description: Type.Optional(Text(72)) }), {
          minItems: 1,
          maxItems: maxRows,
        }),
      }),
      { minItems: 1, maxItems: 10 },
    ),
  },
  { title: 'InteractiveList', description: `A text with a list of at most ${maxRows} rows in all sections.` },
)

const LinkSchema = Type.Object(
  {
    kind: Type.Literal('link'),
    body: Text(1024),
    text: Text(20, 'The label of the button.'),
    url: Type.String({ maxLength: 2000, description: 'An https URL.', ...inDocument({ format: 'uri' }) }),
  },
  { title: 'InteractiveLink', description: 'A text with a button that opens a URL.' },
)

/** The validator reads `kind` and checks the fields of that kind only, so that an error names the wrong field. */
export const InteractiveSchema = Type.Unsafe<Interactive>({
  title: 'Interactive',
  type: 'object',
  properties: { kind: OneOf(['buttons', 'list', 'link']) },
  required: ['kind'],
  discriminator: { propertyName: 'kind' },
  oneOf: [ButtonsSchema, ListSchema, LinkSchema],
  ...inDocument({ type: undefined, properties: undefined, required: undefined, discriminator: undefined }),
})

export const LocationSchema = Type.Object(
  {
    latitude: Type.Number({ minimum: -90, maximum: 90 }),
    longitude: Type.Number({ minimum: -180, maximum: 180 }),
    name: Type.Optional(Text(1000)),
    address: Type.Optional(Text(1000)),
  },
  { title: 'Location' },
)

/** Keeps the known fields and applies the rules between them. 400 names the field and the rule. */
export function readInteractive(input: Interactive): Interactive {
  const { kind, body } = input
  requireNotBlank(body, 'interactive.body')
  if (kind === 'link') {
    const { text, url } = input
    requireNotBlank(text, 'interactive.text')
    if (!isHttpsUrl(url)) throw badRequest('interactive.url: must be an https URL')
    return { kind, body, text, url: url.trim() }
  }
  if (kind === 'buttons') {
    const { header, footer, buttons } = input
    if (header !== undefined) requireNotBlank(header, 'interactive.header')
    if (footer !== undefined) requireNotBlank(footer, 'interactive.footer')
    const path = (i: number) => `interactive.buttons[${i}]`
    requireDistinct(buttons.map(({ id }, i) => ({ value: id, path: `${path(i)}.id` })))
    requireDistinct(buttons.map(({ title }, i) => ({ value: title, path: `${path(i)}.title` })))
    return {
      ...{ kind, body },
      ...(header === undefined ? {} : { header }),
      ...(footer === undefined ? {} : { footer }),
      buttons: buttons.map(({ id, title }) => ({ id, title })),
    }
  }
  return { kind, body, ...readList(input) }
}

type List = Extract<Interactive, { kind: 'list' }>

function readList({ button, sections }: List): Pick<List, 'button' | 'sections'> {
  requireNotBlank(button, 'interactive.button')
  sections.forEach(({ title }, i) => {
    requireNotBlank(title, `interactive.sections[${i}].title`)
  })
  const rows = sections.flatMap((section, i) =>
    section.rows.map((row, k) => ({ ...row, path: `interactive.sections[${i}].rows[${k}]` })),
  )
  if (rows.length > maxRows) throw badRequest(`interactive.sections: must have at most ${maxRows} rows in total`)
  requireDistinct(rows.map(({ id, path }) => ({ value: id, path: `${path}.id` })))
  for (const { title, path } of rows) requireNotBlank(title, `${path}.title`)
  return {
    button,
    sections: sections.map((section) => ({
      title: section.title,
      rows: section.rows.map(({ id, title, description }) => ({
        ...{ id, title },
        ...(description === undefined ? {} : { description }),
      })),
    })),
  }
}

/** Every value of a kind in the message must be used once and not be blank. */
function requireDistinct(values: readonly { value: string; path: string }[]): void {
  const used = new Set<string>()
  for (const { value, path } of values) {
    requireNotBlank(value, path)
    if (used.has(value)) throw badRequest(`${path}: must be unique in the message`)
    used.add(value)
  }
}

function requireNotBlank(text: string, path: string): void {
  if (text.trim() === '') throw badRequest(`${path}: must not be blank`)
}

export type Choice = { id: string; title: string; description?: string | undefined }

/** The button or row with this id in the stored content of a message that we sent. */
export function findChoice(content: Record<string, unknown> | null, id: string): Choice | undefined {
  const interactive = content?.interactive as Interactive | undefined
  if (interactive?.kind === 'buttons') return interactive.buttons.find((button) => button.id === id)
  if (interactive?.kind !== 'list') return undefined
  return interactive.sections.flatMap(({ rows }) => rows).find((row) => row.id === id)
}

/** Keeps the known fields. */
export function readLocation({ latitude, longitude, name, address }: Location): Location {
  if (name !== undefined) requireNotBlank(name, 'location.name')
  if (address !== undefined) requireNotBlank(address, 'location.address')
  return {
    ...{ latitude, longitude },
    ...(name === undefined ? {} : { name }),
    ...(address === undefined ? {} : { address }),
  }
}
