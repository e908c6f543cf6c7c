/**
 * Reads a value by a JSON Schema: checks it, and returns its known fields in the order of the schema. Pure.
 *
 * The validator of requests ignores unknown fields and reports them at no path. Here an unknown field is an error with the field that was
 * probably meant, and the copy is canonical. It knows the keywords that the schemas of definitions and messages use.
 */
import { badRequest } from '../lib/errors.ts'
import { describeRule } from '../lib/http/request-errors.ts'
import { isUuid } from '../lib/id.ts'
import type { TSchema } from '../lib/schema.ts'
import { isStorable, lengthOf } from '../lib/text.ts'

type Schema = {
  type?: string | readonly string[]
  const?: unknown
  enum?: readonly unknown[]
  format?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  items?: Schema
  minItems?: number
  maxItems?: number
  properties?: Record<string, Schema>
  required?: readonly string[]
  additionalProperties?: Schema
  maxProperties?: number
  anyOf?: readonly Schema[]
  oneOf?: readonly Schema[]
  discriminator?: { propertyName: string }
  $ref?: string
  $defs?: Record<string, Schema>
}

/** `nested`: the part of `$defs` that may contain itself, and how often. `root`: the name of the whole value in errors. */
type Options = { root: string; nested?: { name: string; max: number; message: string } }

type Context = Options & { defs: Record<string, Schema>; level: number }

/** Throws 400 with the path of the first fault. */
export function readBySchema(schema: TSchema, value: unknown, options: Options): unknown {
  const { $defs = {}, ...rest } = schema as Schema
  return read(rest, value, '', { ...options, defs: $defs, level: 0 })
}

function read(schema: Schema, value: unknown, path: string, context: Context): unknown {
  if (schema.$ref !== undefined) return readReferred(schema, value, path, context)
  if (schema.oneOf) return readVariant(schema, value, path, context)
  if (schema.anyOf) return readAlternative(schema.anyOf, value, path, context)
  const types = [schema.type ?? []].flat()
  if (types.length > 0 && !types.some((type) => hasType(value, type)))
    throw fault(path, context, 'type', { type: types })
  if (schema.const !== undefined && value !== schema.const) {
    throw fault(path, context, 'enum', { allowedValues: [schema.const] })
  }
  if (schema.enum && !schema.enum.includes(value)) throw fault(path, context, 'enum', { allowedValues: schema.enum })
  if (typeof value === 'string') return readText(schema, value, path, context)
  if (typeof value === 'number') return readNumber(schema, value, path, context)
  if (Array.isArray(value)) return readList(schema, value, path, context)
  if (typeof value === 'object' && value !== null) return readObject(schema, value, path, context)
  return value
}

function readReferred({ $ref = '', ...siblings }: Schema, value: unknown, path: string, context: Context): unknown {
  const name = $ref.slice('#/$defs/'.length)
  const level = context.level + (name === context.nested?.name ? 1 : 0)
  if (context.nested && level > context.nested.max) throw badRequest(`${path}: ${context.nested.message}`)
  return read({ ...context.defs[name], ...siblings }, value, path, { ...context, level })
}

/** The variant that the value names. */
function readVariant(schema: Schema, value: unknown, path: string, context: Context): unknown {
  if (!isRecord(value)) throw fault(path, context, 'type', { type: 'object' })
  const property = schema.discriminator?.propertyName ?? 'type'
  const variants = schema.oneOf ?? []
  const name = Object.hasOwn(value, property) ? value[property] : undefined
  if (name === undefined) throw fault(join(path, property), context, 'required', {})
  const variant = variants.find(({ properties }) => properties?.[property]?.const === name)
  if (variant) return read(variant, value, path, context)
  const allowedValues = variants.map(({ properties }) => properties?.[property]?.const)
  throw fault(join(path, property), context, 'enum', { allowedValues })
}

/** The schema for the type of the value. */
function readAlternative(schemas: readonly Schema[], value: unknown, path: string, context: Context): unknown {
  const schema = schemas.find(({ type }) => [type ?? []].flat().some((each) => hasType(value, each)))
  if (!schema) throw fault(path, context, 'type', { type: schemas.flatMap(({ type }) => type ?? []) })
  return read(schema, value, path, context)
}

function readText({ minLength = 0, maxLength, format }: Schema, text: string, path: string, context: Context): string {
  if (text.length < minLength) throw fault(path, context, 'minLength', { limit: minLength })
  // A character has at most two units: the text of a caller is counted only if it can fit.
  if (maxLength !== undefined && (text.length > 2 * maxLength || lengthOf(text) > maxLength)) {
    throw fault(path, context, 'maxLength', { limit: maxLength })
  }
  if (format === 'uuid' && !isUuid(text)) throw fault(path, context, 'format', { format })
  if (!isStorable(text)) throw badRequest(`${path}: contains a character that is not text`)
  return text
}

function readNumber({ minimum, maximum }: Schema, value: number, path: string, context: Context): number {
  if (minimum !== undefined && value < minimum) throw fault(path, context, 'minimum', {}, `must be at least ${minimum}`)
  if (maximum !== undefined && value > maximum) throw fault(path, context, 'maximum', {}, `must be at most ${maximum}`)
  return value
}

function readList({ items, minItems, maxItems }: Schema, list: unknown[], path: string, context: Context): unknown[] {
  if (minItems !== undefined && list.length < minItems) throw fault(path, context, 'minItems', { limit: minItems })
  if (maxItems !== undefined && list.length > maxItems) throw fault(path, context, 'maxItems', { limit: maxItems })
  return items ? list.map((item, i) => read(items, item, `${path}[${i}]`, context)) : list
}

function readObject(schema: Schema, value: object, path: string, context: Context): object {
  const { properties, required = [] } = schema
  if (!properties) return readRecord(schema, value, path, context)
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(properties, name)) throw unknownField(name, Object.keys(properties), path, context)
  }
  const fields = Object.entries(properties).flatMap(([name, property]) => {
    const field = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
    if (field !== undefined) return [[name, read(property, field, join(path, name), context)]]
    if (required.includes(name)) throw fault(join(path, name), context, 'required', {})
    return []
  })
  return Object.fromEntries(fields)
}

/** An object whose names the caller chooses. */
function readRecord(schema: Schema, value: object, path: string, context: Context): object {
  const { additionalProperties: item = {}, maxProperties } = schema
  const entries = Object.entries(value)
  if (maxProperties !== undefined && entries.length > maxProperties) {
    throw fault(path, context, 'maxProperties', {}, `must have at most ${maxProperties} entries`)
  }
  return Object.fromEntries(
    entries.map(([name, field]) => {
      if (!isStorable(name)) throw badRequest(`${path}: contains a character that is not text`)
      return [name, read(item, field, isWord(name) ? join(path, name) : path, context)]
    }),
  )
}

function hasType(value: unknown, type: string): boolean {
  if (type === 'object') return isRecord(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'null') return value === null
  if (type === 'integer') return Number.isSafeInteger(value)
  if (type === 'number') return Number.isFinite(value)
  return typeof value === type
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const join = (path: string, name: string): string => (path ? `${path}.${name}` : name)

function fault(path: string, { root }: Context, keyword: string, params: Record<string, unknown>, message?: string) {
  return badRequest(`${path || root}: ${describeRule({ keyword, params, message })}`)
}

/** A name that can be part of a path in an error. */
const isWord = (name: string): boolean => /^\w{1,60}$/.test(name)

function unknownField(name: string, known: readonly string[], path: string, { root }: Context) {
  if (!isWord(name)) return badRequest(`${path || root}: has an unknown field; use ${known.join(', ')}`)
  const meant = findNearest(name, known)
  const advice = meant ? `did you mean ${meant}` : `use ${known.join(', ')}`
  return badRequest(`${join(path, name)}: unknown field; ${advice}`)
}

/** The known name that differs in at most a third of its letters. */
function findNearest(name: string, known: readonly string[]): string | undefined {
  const [nearest] = known
    .map((each) => ({ each, distance: distanceOf(name.toLowerCase(), each) }))
    .filter(({ each, distance }) => distance <= Math.max(1, Math.floor(each.length / 3)))
    .sort((one, other) => one.distance - other.distance)
  return nearest?.each
}

/** The number of letters to insert, delete, replace or swap with their neighbour. */
function distanceOf(one: string, other: string): number {
  let [earlier, row]: number[][] = [[], Array.from({ length: other.length + 1 }, (_, i) => i)]
  for (let i = 0; i < one.length; i++) {
    const next = [i + 1]
    for (let k = 0; k < other.length; k++) {
      const isSwapped = i > 0 && k > 0 && one[i] === other[k - 1] && one[i - 1] === other[k]
      const replaced = (row?.[k] ?? 0) + (one[i] === other[k] ? 0 : 1)
      const swapped = isSwapped ? (earlier?.[k - 1] ?? 0) + 1 : Infinity
      next.push(Math.min(replaced, swapped, (row?.[k + 1] ?? 0) + 1, (next[k] ?? 0) + 1))
    }
    earlier = row
    row = next
  }
  return row?.[other.length] ?? 0
}
