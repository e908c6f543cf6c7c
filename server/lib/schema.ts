/**
 * Schemas that routes share.
 *
 * One TypeBox schema is a route's TypeScript type, its validator, the whitelist of its response and its page in the API
 * reference.
 */
import Type, { type Static, type TObject, type TProperties, type TSchema } from 'typebox'
import { defaultLimit, maxLimit } from './page.ts'

export type { Static, TProperties, TSchema }
export { Type }

declare module 'fastify' {
  interface FastifySchema {
    operationId?: string
    summary?: string
    description?: string
    tags?: readonly string[]
  }
  interface FastifyContextConfig {
    /** Error statuses in addition to those that all routes of this shape have. */
    failures?: readonly (402 | 404 | 502)[]
    /** The schema of one event of a streamed response, for the API document. */
    answers?: TSchema
  }
}

/** A request that the service sends, for the API document. `body` is its schema. */
export type WebhookOperation = {
  name: string
  operationId: string
  summary: string
  description: string
  tags: readonly string[]
  parameters: readonly object[]
  body: object
  responses: Record<string, { description: string }>
}

/**
 * An option of a schema: keywords for the API document that the validator ignores. For rules that a route checks by
 * itself, with an error message of its own.
 */
export const inDocument = (keywords: object): Record<string, unknown> => ({ [documentKeyword]: keywords })
export const documentKeyword = 'x-document'

export const Uuid = Type.String({ format: 'uuid' })
export const DateTime = Type.String({ format: 'date-time' })

/** `['string', 'null']` rather than `anyOf`: the serializer then needs no validator to choose a branch. */
export const NullableText = (options: object = {}) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], ...options })
export const NullableDateTime = NullableText({ format: 'date-time' })
export const NullableInteger = Type.Unsafe<number | null>({ type: ['integer', 'null'] })
/** All fields are required. */
export const NullableObject = <Fields extends TProperties>(properties: Fields, options: object = {}) =>
  Type.Unsafe<Static<TObject<Fields>> | null>({
    ...{ type: ['object', 'null'], properties, required: Object.keys(properties) },
    ...options,
  })
export const Color = Type.String({ pattern: '^#[0-9a-f]{6}$', description: 'Hex, assigned by the service.' })

/** A text of 1 to `maxLength` characters. The route checks it after it has removed white space at both ends. */
export const TrimmedText = (maxLength: number, description = '') =>
  Type.String({
    description: `1 to ${maxLength.toLocaleString('en')} characters. ${description}`.trim(),
    ...inDocument({ minLength: 1, maxLength }),
  })

export const OneOf = <const Values extends readonly string[]>(values: Values, options: object = {}) =>
  Type.Unsafe<Values[number]>({ type: 'string', enum: values, ...options })

/** A field that only members see or send. The public API does not have it. */
export const ForMembers = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional({ ...schema, [memberKeyword]: true } as Schema)
export const memberKeyword = 'x-member'

/** The schema as the public API has it: without the fields for members. */
export const toPublic = <Schema extends TSchema>(schema: Schema): Schema =>
  mapObjects(schema, ({ properties, required }) => ({
    properties: Object.fromEntries(Object.entries(properties).filter(([, field]) => !(memberKeyword in field))),
    required,
  }))

/** The schema of a response to a member: it has all fields for members. */
export const toMemberResponse = <Schema extends TSchema>(schema: Schema): Schema =>
  mapObjects(schema, ({ properties, required = [] }) => ({
    properties,
    required: Object.keys(properties).filter(
      (name) => required.includes(name) || memberKeyword in (properties[name] ?? {}),
    ),
  }))

type ObjectParts = { properties: TProperties; required?: string[] | undefined }

/** Applies a change to all objects of a schema, from the outside inwards. */
function mapObjects<Schema extends TSchema>(schema: Schema, change: (parts: ObjectParts) => ObjectParts): Schema {
  const { properties, required, items } = schema as Partial<ObjectParts> & { items?: TSchema }
  if (items) return { ...schema, items: mapObjects(items, change) }
  if (!properties) return schema
  const changed = change({ properties, required })
  const fields = Object.entries(changed.properties).map(([name, field]) => [name, mapObjects(field, change)])
  return { ...schema, ...changed, properties: Object.fromEntries(fields) }
}

/** The body of a success: `{ data }`. */
export const DataOf = <Schema extends TSchema>(data: Schema, description?: string) =>
  Type.Object({ data }, description ? { description } : {})

/** The body of a list: `{ data: […], meta: { next_cursor } }`. */
export const ListOf = <Schema extends TSchema>(item: Schema) =>
  Type.Object({
    data: Type.Array(item),
    meta: Type.Object({
      next_cursor: NullableText({ description: 'Pass back as `cursor` for the next page; null on the last one.' }),
    }),
  })

/** Neither `const` nor `enum`: some generators of clients refuse a constant that is no text, or make Java that does not compile. */
export const Deleted = Type.Object({
  id: Uuid,
  deleted: Type.Boolean({ description: 'Always true.', examples: [true] }),
})

export const IdParams = Type.Object({ id: Type.String({ description: 'A uuid.' }) })

/** The query of a list with pages of a fixed size. */
export const CursorQuery = Type.Object({
  cursor: Type.Optional(Type.Unknown({ description: 'The `meta.next_cursor` of the page before.' })),
})

/** The query of a list. Invalid values of `limit` and `cursor` are not refused (`readPosition`), so they have no type. */
export const ListQuery = <Filters extends TProperties>(filters: Filters) =>
  Type.Object({
    limit: Type.Optional(
      Type.Unknown({ description: `Page size, 1 to ${maxLimit}; ${defaultLimit} when absent or unusable.` }),
    ),
    cursor: Type.Optional(Type.Unknown({ description: 'The `meta.next_cursor` of the page before.' })),
    ...filters,
  })
