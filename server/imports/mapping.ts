/**
 * What the columns of a file become: a field, an attribute, tags, or nothing.
 *
 * A mapping has one target per column, in the order of the columns. Two columns may be the name: a first and a last name, which are
 * joined in the order of the columns.
 */
import { maxAttributes, namePattern } from '../contacts/attributes.ts'
import { type TagSeparator, tagSeparators } from '../contacts/tags.ts'
import { badRequest } from '../lib/errors.ts'
import { OneOf, type Static, Type } from '../lib/schema.ts'

const targets = ['nothing', 'phone', 'name', 'email', 'company', 'opted_out', 'tags', 'attribute'] as const
export const attributeTypes = ['text', 'number', 'boolean'] as const
export type AttributeType = (typeof attributeTypes)[number]

export const TargetSchema = Type.Object(
  {
    to: OneOf(targets),
    key: Type.Optional(Type.String({ maxLength: 100, description: 'The name of an attribute.' })),
    type: Type.Optional(OneOf(attributeTypes, { description: 'Of an attribute.' })),
    separator: Type.Optional(OneOf(tagSeparators, { description: 'Between the tags of a cell.' })),
  },
  { title: 'ImportTarget' },
)
export type Target = Static<typeof TargetSchema>
type Mapping = readonly Target[]

export const updateModes = ['all', 'empty', 'never'] as const
export type UpdateMode = (typeof updateModes)[number]

export type ImportOptions = {
  /** A tag for the contacts of all rows. */
  tag: string | null
  /** What a row changes of a contact that exists: all fields that have a value, only those that are empty, or nothing. */
  update: UpdateMode
}

/** The mapping without needless fields. Throws 400 for one that no file can be imported with. */
export function requireMapping(mapping: Mapping, columnCount: number): Target[] {
  if (mapping.length !== columnCount) {
    throw badRequest(`mapping: must have one entry for each column, ${columnCount} in this file`)
  }
  const countOf = (to: Target['to']) => mapping.filter((target) => target.to === to).length
  if (countOf('phone') === 0) throw badRequest('mapping: no column is mapped to phone')
  for (const field of ['phone', 'email', 'company', 'opted_out'] as const) {
    if (countOf(field) > 1) throw badRequest(`mapping: two columns are mapped to ${field}`)
  }
  if (countOf('name') > 2) throw badRequest('mapping: more than two columns are mapped to name')
  if (countOf('attribute') > maxAttributes) throw badRequest(`mapping: must have at most ${maxAttributes} attributes`)
  const keys = new Set<string>()
  return mapping.map((target, i) => {
    if (target.to === 'tags') return { to: 'tags', separator: target.separator ?? ';' }
    if (target.to !== 'attribute') return { to: target.to }
    const { key = '', type } = target
    if (!namePattern.test(key)) {
      throw badRequest(`mapping[${i}].key: must have 1 to 40 characters of a-z, 0-9 and _, and begin with a letter`)
    }
    if (!type) throw badRequest(`mapping[${i}].type: must be one of ${attributeTypes.join(', ')}`)
    if (keys.has(key)) throw badRequest(`mapping: two columns are mapped to the attribute ${key}`)
    keys.add(key)
    return { to: 'attribute', key, type }
  })
}

/** A mapping by target: the indexes of columns. Absent ones are undefined. */
export type MappedColumns = {
  /** Of the file. */
  count: number
  phone: number
  names: readonly number[]
  email: number | undefined
  company: number | undefined
  optedOut: number | undefined
  tags: readonly { column: number; separator: TagSeparator }[]
  attributes: readonly { column: number; key: string; type: AttributeType }[]
}

/** The columns of a valid mapping. */
export function toColumns(mapping: Mapping): MappedColumns {
  const all = mapping.map((target, column) => ({ ...target, column }))
  const of = (to: Target['to']) => all.filter((target) => target.to === to)
  const indexOf = (to: Target['to']) => of(to)[0]?.column
  return {
    count: mapping.length,
    phone: indexOf('phone') ?? 0,
    names: of('name').map(({ column }) => column),
    email: indexOf('email'),
    company: indexOf('company'),
    optedOut: indexOf('opted_out'),
    tags: of('tags').map(({ column, separator = ';' }) => ({ column, separator })),
    attributes: of('attribute').map(({ column, key = '', type = 'text' }) => ({ column, key, type })),
  }
}
