// @ts-check
/**
 * Reading JSON Schema: what a reader wants to know of one. Nothing here
 * touches the page.
 */

/** @typedef {Record<string, any>} Schema */
/** @typedef {Record<string, Schema>} Schemas */
/** @typedef {{ name: string, schema: Schema, required: boolean }} Field */
/** @typedef {{ title?: string, fields: Field[] }} Group */

/**
 * A schema with its `$ref` followed, its `allOf` merged and its `null` option moved into `type`. `name` is the
 * component it came from; `options` are alternatives that remain.
 * @param {Schemas} schemas
 * @param {Schema | undefined} schema
 * @returns {Schema}
 */
export function resolve(schemas, schema) {
  if (!schema || typeof schema !== 'object') return {}
  const { $ref, allOf, anyOf, oneOf, ...own } = schema
  if ($ref) {
    const name = String($ref).split('/').at(-1) ?? ''
    return { ...resolve(schemas, schemas[name]), name, ...own }
  }
  if (allOf) return allOf.map((/** @type {Schema} */ part) => resolve(schemas, part)).reduce(merge, own)
  const options = (anyOf ?? oneOf)?.map((/** @type {Schema} */ option) => resolve(schemas, option))
  if (!options) return schema
  const real = options.filter((/** @type {Schema} */ option) => option.type !== 'null')
  const nullable = real.length < options.length
  if (real.length === 1) return { ...real[0], ...own, ...(nullable ? { type: [real[0].type, 'null'].flat() } : {}) }
  if (real.every((/** @type {Schema} */ option) => 'const' in option)) {
    const type = [...new Set(real.map((/** @type {Schema} */ option) => option.type ?? typeof option.const))]
    return {
      ...own,
      type: nullable ? [...type, 'null'] : type,
      enum: real.map((/** @type {Schema} */ { const: value }) => value),
    }
  }
  return { ...own, options: real, nullable }
}

/** @param {Schema} one @param {Schema} other @returns {Schema} */
function merge(one, other) {
  return {
    ...other,
    ...one,
    properties: { ...one.properties, ...other.properties },
    required: [...(one.required ?? []), ...(other.required ?? [])],
  }
}

/**
 * `string | null`, `Tag[]`, `Record<string, string>`.
 * @param {Schemas} schemas
 * @param {Schema} schema
 * @returns {string}
 */
export function typeOf(schemas, schema) {
  const shape = resolve(schemas, schema)
  if (shape.options) {
    const types = shape.options.map((/** @type {Schema} */ option) => typeOf(schemas, option))
    return [...new Set(types), ...(shape.nullable ? ['null'] : [])].join(' | ')
  }
  const types = [
    shape.type ?? (shape.properties ? 'object' : shape.items ? 'array' : typeof (shape.const ?? shape.enum?.[0])),
  ].flat()
  const named = types.map((type) => {
    if (type === 'array') {
      const item = typeOf(schemas, shape.items ?? {})
      return item.includes(' | ') ? `(${item})[]` : `${item}[]`
    }
    if (type === 'object' && valuesOf(shape) && !shape.properties)
      return `Record<string, ${typeOf(schemas, valuesOf(shape))}>`
    if (type === 'object' && shape.name) return shape.name
    return type === 'undefined' ? 'any' : type
  })
  return named.join(' | ')
}

/** The schema of a map's values. @param {Schema} shape */
function valuesOf(shape) {
  if (shape.additionalProperties && typeof shape.additionalProperties === 'object') return shape.additionalProperties
  return Object.values(shape.patternProperties ?? {})[0]
}

/**
 * What is inside: the fields of an object, of an array's items, of a map's values, of each alternative.
 * @param {Schemas} schemas
 * @param {Schema} schema
 * @returns {Group[]}
 */
export function insideOf(schemas, schema) {
  const shape = resolve(schemas, schema)
  if (shape.options) {
    return shape.options.flatMap((/** @type {Schema} */ option) =>
      insideOf(schemas, option).map((group) => ({ title: typeOf(schemas, option), ...group })),
    )
  }
  if (shape.items) return insideOf(schemas, shape.items)
  if (shape.properties) {
    const fields = Object.entries(shape.properties).map(([name, part]) => ({
      name,
      schema: part,
      required: shape.required?.includes(name) ?? false,
    }))
    return fields.length > 0 ? [{ fields }] : []
  }
  const values = valuesOf(shape)
  return values && insideOf(schemas, values).length > 0
    ? [{ fields: [{ name: '{key}', schema: values, required: false }] }]
    : []
}

/**
 * The limits a value must keep, in words.
 * @param {Schema} shape
 * @returns {string[]}
 */
export function limitsOf(shape) {
  const said = [
    range(shape.minLength, shape.maxLength, 'character'),
    range(shape.minItems, shape.maxItems, 'item'),
    range(shape.minimum, shape.maximum, ''),
    shape.uniqueItems && 'no item twice',
    shape.pattern && `matches \`${shape.pattern}\``,
    shape.default !== undefined && `default \`${JSON.stringify(shape.default).replaceAll('"', '')}\``,
  ]
  return said.filter((limit) => typeof limit === 'string')
}

/** @param {number | undefined} least @param {number | undefined} most @param {string} unit */
function range(least, most, unit) {
  if (least === undefined && most === undefined) return undefined
  const [low, high] = [least, most].map((limit) => limit?.toLocaleString('en-US'))
  const what = unit && ` ${unit}${(most ?? least) === 1 ? '' : 's'}`
  if (least === undefined || (least === 0 && most !== undefined)) return `at most ${high}${what}`
  return most === undefined ? `at least ${low}${what}` : `${low} to ${high}${what}`
}
