/**
 * Compares two OpenAPI documents of the public API: what worked with the earlier one must work with the later one.
 *
 * A request may be accepted in more ways, and a response may have more fields and more values of an enumeration. Callers must expect
 * this (docs/versions.md). Everything else that differs is a break.
 */
type Schema = {
  $ref?: string
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: boolean | Schema
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  oneOf?: Schema[]
  format?: string
  pattern?: string
  [limit: string]: unknown
}
type Body = { content?: Record<string, { schema: Schema }> }
type Operation = {
  operationId: string
  security?: Record<string, string[]>[]
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[]
  requestBody?: Body & { required?: boolean }
  responses?: Record<string, Body>
}
export type ApiDocument = {
  paths: Record<string, Record<string, Operation>>
  webhooks?: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

/** Whether the service reads the value (a request) or writes it (a response or an event). */
type Direction = 'request' | 'response'

const limits = { least: ['minLength', 'minItems', 'minimum'], most: ['maxLength', 'maxItems', 'maximum'] }

/** What breaks callers of the earlier API, one sentence for each. */
export function listBreaks(earlier: ApiDocument, later: ApiDocument): string[] {
  const breaks: string[] = []

  function compareOperations(old: ApiDocument['paths'], now: ApiDocument['paths'], isEvent: boolean): void {
    for (const [path, operations] of Object.entries(old)) {
      for (const [method, operation] of Object.entries(operations)) {
        const name = isEvent ? `event ${path}` : `${method.toUpperCase()} ${path}`
        const other = now[path]?.[method]
        if (other) compareOperation(operation, other, isEvent, name)
        else breaks.push(`${name}: removed`)
      }
    }
  }

  function compareOperation(old: Operation, now: Operation, isEvent: boolean, name: string): void {
    if (old.operationId !== now.operationId) breaks.push(`${name}: operationId became ${now.operationId}`)
    if (JSON.stringify(old.security) !== JSON.stringify(now.security)) breaks.push(`${name}: needs another scope`)
    for (const parameter of old.parameters ?? []) {
      const other = now.parameters?.find((one) => one.name === parameter.name && one.in === parameter.in)
      if (!other) breaks.push(`${name} ${parameter.name}: removed`)
      else compareSchemas(parameter.schema, other.schema, 'request', `${name} ${parameter.name}`)
    }
    for (const parameter of now.parameters ?? []) {
      const other = old.parameters?.find((one) => one.name === parameter.name && one.in === parameter.in)
      if (parameter.required && !other?.required) breaks.push(`${name} ${parameter.name}: became required`)
    }
    if (now.requestBody?.required && !old.requestBody?.required) breaks.push(`${name} body: became required`)
    compareBodies(old.requestBody, now.requestBody, isEvent ? 'response' : 'request', `${name} body`)
    for (const [status, response] of Object.entries(old.responses ?? {})) {
      if (now.responses?.[status]) compareBodies(response, now.responses[status], 'response', `${name} ${status}`)
      else breaks.push(`${name} ${status}: removed`)
    }
  }

  function compareBodies(old: Body | undefined, now: Body | undefined, direction: Direction, name: string): void {
    for (const [type, { schema }] of Object.entries(old?.content ?? {})) {
      const other = now?.content?.[type]
      if (other) compareSchemas(schema, other.schema, direction, name)
      else breaks.push(`${name}: ${type} removed`)
    }
  }

  /** The pairs that are being compared: a schema can contain itself. */
  const open = new Set<string>()

  function compareSchemas(oldSchema: Schema, nowSchema: Schema, direction: Direction, name: string): void {
    const pair = oldSchema.$ref && nowSchema.$ref && `${oldSchema.$ref} ${nowSchema.$ref}`
    if (pair && open.has(pair)) return
    if (pair) open.add(pair)
    compareResolved(oldSchema, nowSchema, direction, name)
    if (pair) open.delete(pair)
  }

  function compareResolved(oldSchema: Schema, nowSchema: Schema, direction: Direction, name: string): void {
    const [old, now] = [resolve(earlier, oldSchema), resolve(later, nowSchema)]
    const [oldVariants, nowVariants] = [variantsOf(earlier, old), variantsOf(later, now)]
    if (oldVariants.length === 1 && nowVariants.length === 1 && oldVariants[0] && nowVariants[0]) {
      comparePlain(oldVariants[0], nowVariants[0], direction, name)
      return
    }
    for (const [index, variant] of oldVariants.entries()) {
      const attempts = nowVariants.map((other) => attempt(() => comparePlain(variant, other, direction, name)))
      const best = attempts.sort((one, other) => one.length - other.length)[0] ?? [`${name}: variant ${index} removed`]
      breaks.push(...best)
    }
    // A caller that reads a response does not know a further type, such as null.
    const known = oldVariants.flatMap(typesOf)
    const added = nowVariants.flatMap(typesOf).filter((type) => !known.includes(type))
    if (direction === 'response' && known.length > 0 && added.length > 0) breaks.push(`${name}: may be ${added.join()}`)
  }

  /** The breaks that `compare` finds, without recording them. */
  function attempt(compare: () => void): string[] {
    const start = breaks.length
    compare()
    return breaks.splice(start)
  }

  function comparePlain(old: Schema, now: Schema, direction: Direction, name: string): void {
    const [oldTypes, nowTypes] = [typesOf(old), typesOf(now)]
    const [narrow, wide] = direction === 'request' ? [oldTypes, nowTypes] : [nowTypes, oldTypes]
    if (wide.length > 0 && (narrow.length === 0 || narrow.some((type) => !wide.includes(type))))
      breaks.push(`${name}: type ${oldTypes.join()} became ${nowTypes.join()}`)
    const [oldValues, nowValues] = [valuesOf(old), valuesOf(now)]
    if (oldValues && nowValues) {
      const gone = oldValues.filter((value) => !nowValues.includes(value))
      if (gone.length > 0) breaks.push(`${name}: ${gone.join()} removed`)
    } else if (direction === 'request' && nowValues) breaks.push(`${name}: only ${nowValues.join()} are accepted`)
    if (old.format !== now.format && (direction === 'response' ? old.format : now.format))
      breaks.push(`${name}: format ${old.format} became ${now.format}`)
    if (direction === 'request') compareLimits(old, now, name)
    compareFields(old, now, direction, name)
    if (old.items && now.items) compareSchemas(old.items, now.items, direction, `${name}[]`)
    if (typeof old.additionalProperties === 'object' && typeof now.additionalProperties === 'object')
      compareSchemas(old.additionalProperties, now.additionalProperties, direction, `${name}{}`)
  }

  function compareLimits(old: Schema, now: Schema, name: string): void {
    for (const limit of limits.least)
      if (Number(now[limit] ?? Number.NEGATIVE_INFINITY) > Number(old[limit] ?? Number.NEGATIVE_INFINITY))
        breaks.push(`${name}: ${limit} ${old[limit]} became ${now[limit]}`)
    for (const limit of limits.most)
      if (Number(now[limit] ?? Number.POSITIVE_INFINITY) < Number(old[limit] ?? Number.POSITIVE_INFINITY))
        breaks.push(`${name}: ${limit} ${old[limit]} became ${now[limit]}`)
    if (now.pattern !== undefined && now.pattern !== old.pattern) breaks.push(`${name}: pattern became ${now.pattern}`)
  }

  function compareFields(old: Schema, now: Schema, direction: Direction, name: string): void {
    for (const [field, schema] of Object.entries(old.properties ?? {})) {
      const other = now.properties?.[field]
      if (other) compareSchemas(schema, other, direction, `${name}.${field}`)
      else breaks.push(`${name}.${field}: removed`)
    }
    const [strict, lax, what] =
      direction === 'request' ? [now, old, 'became required'] : [old, now, 'is not always present']
    for (const field of strict.required ?? [])
      if (!lax.required?.includes(field) && old.properties) breaks.push(`${name}.${field}: ${what}`)
  }

  compareOperations(earlier.paths, later.paths, false)
  compareOperations(earlier.webhooks ?? {}, later.webhooks ?? {}, true)
  for (const name of Object.keys(earlier.components.schemas))
    if (!later.components.schemas[name]) breaks.push(`the schema ${name}: removed`)
  return [...new Set(breaks)]
}

function resolve(document: ApiDocument, schema: Schema): Schema {
  if (!schema.$ref) return schema
  const target = document.components.schemas[schema.$ref.replace('#/components/schemas/', '')]
  if (!target) throw new Error(`${schema.$ref} does not exist`)
  return resolve(document, target)
}

/** The alternatives of a schema, each with the fields that all of them share. */
function variantsOf(document: ApiDocument, schema: Schema): Schema[] {
  const { anyOf, oneOf, ...shared } = schema
  const branches = anyOf ?? oneOf
  if (!branches) return [schema]
  return branches.flatMap((branch) =>
    variantsOf(document, resolve(document, branch)).map((variant) => ({
      ...shared,
      ...variant,
      ...(shared.properties || variant.properties
        ? { properties: { ...shared.properties, ...variant.properties } }
        : {}),
      ...(shared.required || variant.required
        ? { required: [...(shared.required ?? []), ...(variant.required ?? [])] }
        : {}),
    })),
  )
}

const typesOf = ({ type, const: value }: Schema): string[] => {
  if (type === undefined) return value === undefined ? [] : [typeof value]
  // Every integer is a number.
  return [type].flat().flatMap((one) => (one === 'number' ? ['number', 'integer'] : one))
}

const valuesOf = ({ enum: values, const: value }: Schema): unknown[] | undefined =>
  value === undefined ? values?.filter((one) => one !== null) : [value]
