/**
 * Parsing of JSON bodies.
 *
 * A body must be UTF-8, well-formed, nested at most 40 levels deep and of a limited number of values: a few bytes of an empty list
 * become many bytes of memory, before any schema is compared. A byte order mark is skipped. Text of known fields must be storable in
 * PostgreSQL: no NUL, no lone surrogate.
 */
import { isUtf8 } from 'node:buffer'
import { badRequest } from '../errors.ts'
import { isStorable } from '../text.ts'

/** A new automation whose steps are nested 8 levels deep, with the cards of a template in the innermost one, has 38. */
const maxDepth = 40
/** A batch of 1,000 contacts with 100 tags and 100 attributes each has 210,000. */
const maxValues = 300_000

/** Parses a request body. An empty body is `undefined`. */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw badRequest('body: not UTF-8')
  const { depth, hasTooManyValues } = measure(bytes)
  if (depth > maxDepth) throw badRequest(`body: nested deeper than ${maxDepth} levels`)
  if (hasTooManyValues) throw badRequest(`body: more than ${maxValues} values`)
  try {
    return JSON.parse(bytes.toString('utf8', startsWithMark(bytes) ? 3 : 0))
  } catch {
    throw badRequest('body: not valid JSON')
  }
}

const startsWithMark = (bytes: Buffer): boolean => bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf

/** Whether JSON has more values than a caller or a provider has a reason to send. */
export const hasTooManyValues = (bytes: Buffer): boolean => measure(bytes).hasTooManyValues

/** The deepest nesting of arrays and objects, and whether there are too many values, in one pass over the bytes. */
function measure(bytes: Buffer): { depth: number; hasTooManyValues: boolean } {
  let depth = 0
  let deepest = 0
  let inString = false
  // Every value but the first of all follows a bracket or a comma.
  let values = 1
  for (let i = 0; i < bytes.length && values <= maxValues; i++) {
    const byte = bytes[i]
    if (inString) {
      if (byte === 0x5c) i++
      else if (byte === 0x22) inString = false
    } else if (byte === 0x22) inString = true
    else if (byte === 0x2c) values++
    else if (byte === 0x5b || byte === 0x7b) {
      values++
      deepest = Math.max(deepest, ++depth)
    } else if (byte === 0x5d || byte === 0x7d) depth--
  }
  return { depth: deepest, hasTooManyValues: values > maxValues }
}

type JsonSchema = {
  type?: unknown
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
}

/**
 * Removes each field that is null, optional and not nullable: null means absent there. It works before validation, at any
 * depth. A required field stays, and the schema refuses it; so does an item of a list.
 */
export function dropNulls(value: unknown, schema: JsonSchema): void {
  for (const option of schema.anyOf ?? schema.oneOf ?? []) dropNulls(value, option)
  if (Array.isArray(value)) {
    if (schema.items) for (const item of value) dropNulls(item, schema.items)
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, known] of Object.entries(schema.properties ?? {})) {
      if (!Object.hasOwn(value, name)) continue
      const field = (value as Record<string, unknown>)[name]
      if (field !== null) dropNulls(field, known)
      else if (!schema.required?.includes(name) && !takesNull(known)) Reflect.deleteProperty(value, name)
    }
  }
}

const takesNull = ({ type, anyOf }: JsonSchema): boolean =>
  anyOf ? anyOf.some(takesNull) : type === undefined || [type].flat().includes('null')

/** A schema that accepts any value: the route reads it itself. */
const isOpen = (schema: JsonSchema): boolean =>
  !('type' in schema || 'anyOf' in schema || 'oneOf' in schema || 'properties' in schema || 'items' in schema)

/** Refuses text that cannot be stored, in fields that the schema knows. Unknown fields are ignored. */
export function requireStorable(value: unknown, schema: JsonSchema, path = ''): void {
  if (isOpen(schema)) return
  for (const option of schema.oneOf ?? []) requireStorable(value, option, path)
  if (typeof value === 'string') {
    const isKnown = schema.type !== undefined || schema.anyOf !== undefined
    if (isKnown && !isStorable(value)) throw badRequest(`${path || 'body'}: contains a character that is not text`)
  } else if (Array.isArray(value)) {
    value.forEach((item, i) => {
      requireStorable(item, schema.items ?? schema, `${path}[${i}]`)
    })
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, field] of Object.entries(value)) {
      const known = schema.properties ? schema.properties[name] : schema
      if (!known || !Object.hasOwn(schema.properties ?? { [name]: known }, name)) continue
      if (!schema.properties && !isStorable(name)) throw badRequest(`${path}: contains a character that is not text`)
      // A name that the caller chose is part of the path only if it is a word.
      const isNamed = schema.properties !== undefined || /^\w+$/.test(name)
      requireStorable(field, known, isNamed ? (path ? `${path}.${name}` : name) : path)
    }
  }
}
