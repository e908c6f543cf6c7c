/** Reads JSON Schema for display: types, limits and nested fields. */

export type Schema = {
  $ref?: string
  type?: string | string[]
  description?: string
  format?: string
  pattern?: string
  enum?: unknown[]
  const?: unknown
  default?: unknown
  allOf?: Schema[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  patternProperties?: Record<string, Schema>
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  minimum?: number
  maximum?: number
  uniqueItems?: boolean
  deprecated?: boolean
  /** Set by `resolve`: the component that the schema came from. */
  name?: string
  /** Set by `resolve`: alternatives that it could not merge. */
  options?: Schema[]
  isNullable?: boolean
}
export type Schemas = Record<string, Schema>
export type Field = { name: string; schema: Schema; required: boolean }
type FieldGroup = { title?: string; fields: Field[] }

/** Follows `$ref`, merges `allOf`, and moves a `null` alternative into `type`. */
export function resolve(schemas: Schemas, schema: Schema | undefined): Schema {
  if (!schema) return {}
  const { $ref, allOf, anyOf, oneOf, ...own } = schema
  if ($ref) {
    const name = $ref.split('/').at(-1) ?? ''
    return { ...resolve(schemas, schemas[name]), name, ...own }
  }
  if (allOf) return allOf.map((part) => resolve(schemas, part)).reduce(merge, own)
  const options = (anyOf ?? oneOf)?.map((option) => resolve(schemas, option))
  // Beside a type, alternatives are rules between the fields.
  if (!options || own.type) return own
  const nonNull = options.filter(({ type }) => type !== 'null')
  const isNullable = nonNull.length < options.length
  const [only] = nonNull
  if (only && nonNull.length === 1)
    return { ...only, ...own, ...(isNullable ? { type: [only.type ?? [], 'null'].flat() } : {}) }
  if (nonNull.every((option) => 'const' in option)) {
    const types = [...new Set(nonNull.flatMap((option) => option.type ?? typeof option.const))]
    return { ...own, type: isNullable ? [...types, 'null'] : types, enum: nonNull.map((option) => option.const) }
  }
  return { ...own, options: nonNull, isNullable }
}

const merge = (one: Schema, other: Schema): Schema => ({
  ...other,
  ...one,
  properties: { ...one.properties, ...other.properties },
  required: [...(one.required ?? []), ...(other.required ?? [])],
})

/** Returns a type such as `string | null`, `Tag[]` or `Record<string, string>`. */
export function typeOf(schemas: Schemas, schema: Schema): string {
  const shape = resolve(schemas, schema)
  if (shape.options) {
    const types = shape.options.map((option) => typeOf(schemas, option))
    return [...new Set(types), ...(shape.isNullable ? ['null'] : [])].join(' | ')
  }
  const inferred = shape.properties ? 'object' : shape.items ? 'array' : typeof (shape.const ?? shape.enum?.[0])
  const names = [shape.type ?? inferred].flat().map((type) => {
    if (type === 'array') {
      const item = typeOf(schemas, shape.items ?? {})
      return item.includes(' | ') ? `(${item})[]` : `${item}[]`
    }
    const values = valuesOf(shape)
    if (type === 'object' && values && !shape.properties) return `Record<string, ${typeOf(schemas, values)}>`
    if (type === 'object' && shape.name) return shape.name
    return type === 'undefined' ? 'any' : type
  })
  return names.join(' | ')
}

/** The schema of a map's values. */
function valuesOf({ additionalProperties, patternProperties = {} }: Schema): Schema | undefined {
  return typeof additionalProperties === 'object' ? additionalProperties : Object.values(patternProperties)[0]
}

/** Lists the nested fields: of an object, of an array's items, of a map's values, of each alternative. */
export function listFields(schemas: Schemas, schema: Schema): FieldGroup[] {
  const shape = resolve(schemas, schema)
  if (shape.options) {
    return shape.options.flatMap((option) =>
      listFields(schemas, option).map((group) => ({ title: typeOf(schemas, option), ...group })),
    )
  }
  if (shape.items) return listFields(schemas, shape.items)
  if (shape.properties) {
    const fields = Object.entries(shape.properties).map(([name, part]) => ({
      name,
      schema: part,
      required: shape.required?.includes(name) ?? false,
    }))
    return fields.length > 0 ? [{ fields }] : []
  }
  const values = valuesOf(shape)
  return values && listFields(schemas, values).length > 0
    ? [{ fields: [{ name: '{key}', schema: values, required: false }] }]
    : []
}

/** Describes the limits of a value, such as "1 to 255 characters". */
export function limitsOf(shape: Schema): string[] {
  const limits = [
    describeRange(shape.minLength, shape.maxLength, 'character'),
    describeRange(shape.minItems, shape.maxItems, 'item'),
    describeRange(shape.minimum, shape.maximum, ''),
    shape.uniqueItems && 'unique items',
    shape.pattern && `matches \`${shape.pattern}\``,
    shape.default !== undefined && `default \`${JSON.stringify(shape.default).replaceAll('"', '')}\``,
  ]
  return limits.filter((limit) => typeof limit === 'string')
}

function describeRange(min: number | undefined, max: number | undefined, unit: string): string | undefined {
  if (min === undefined && max === undefined) return undefined
  const [low, high] = [min, max].map((limit) => limit?.toLocaleString('en-US'))
  const units = unit && ` ${unit}${(max ?? min) === 1 ? '' : 's'}`
  if (min === undefined || (min === 0 && max !== undefined)) return `at most ${high}${units}`
  return max === undefined ? `at least ${low}${units}` : `${low} to ${high}${units}`
}
