/** The values of a template, as a request and the list of templates have them. */
import { inDocument, type Static, Type } from '../lib/schema.ts'

/** Of a text message, and of a value of a template. */
export const maxTextLength = 4096

const Text = Type.String({ maxLength: maxTextLength })
const Texts = Type.Array(Text, { maxItems: 200 })
/** `Type.Record` would drop names with a line break, because its name pattern does not match them. */
const TextByName = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: Text,
  maxProperties: 200,
})

const card = {
  headerMediaUrl: Type.Optional(Type.String({ maxLength: 2000, ...inDocument({ format: 'uri' }) })),
  headerMediaId: Type.Optional(Type.String({ maxLength: 200 })),
  body: Type.Optional(Texts),
  bodyNamed: Type.Optional(TextByName),
  buttonParams: Type.Optional(TextByName),
}

export const StructuredParams = Type.Object(
  {
    ...card,
    headerText: Type.Optional(Text),
    headerFilename: Type.Optional(Type.String({ maxLength: 500 })),
    headerLocation: Type.Optional(
      Type.Object({
        latitude: Type.String({ maxLength: 50 }),
        longitude: Type.String({ maxLength: 50 }),
        name: Type.Optional(Text),
        address: Type.Optional(Text),
      }),
    ),
    cards: Type.Optional(
      Type.Array(Type.Object(card), { maxItems: 50, description: 'One entry per carousel card, in card order.' }),
    ),
  },
  { title: 'TemplateParams', description: 'Values for parts that the template does not have are ignored.' },
)

export const ParamsSchema = Type.Unsafe<string[] | Static<typeof StructuredParams>>({
  anyOf: [Texts, StructuredParams],
  description: 'Body values in placeholder order, or an object with the values of each part.',
})
