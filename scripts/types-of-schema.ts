/**
 * JSON schemas as TypeScript, for those who call the service: the dashboard
 * and the SDK.
 *
 * A schema with a title is written once, under that name; a reference is the
 * name of a component. `documented` sets every field on a line of its own,
 * below what its schema says of it.
 */

export type Schema = {
  $ref?: string
  type?: string | readonly string[]
  title?: string
  description?: string
  enum?: readonly unknown[]
  const?: unknown
  anyOf?: readonly Schema[]
  oneOf?: readonly Schema[]
  not?: Schema
  items?: Schema
  properties?: Record<string, Schema>
  required?: readonly string[]
  additionalProperties?: boolean | Schema
}

export type Writer = {
  write(schema: unknown): string
  /** What was written under a name so far, in the order of names. */
  declarations(): string[]
}

/** `rename`: what a component is called instead, where its own name means something else already. */
export function createWriter({ documented = false, rename = {} as Record<string, string> } = {}): Writer {
  const named = new Map<string, string>()

  function write(given: unknown): string {
    const schema = given as Schema
    if (schema.$ref) {
      const name = schema.$ref.replace(/^.*\//, '')
      return rename[name] ?? name
    }
    if (!schema.title) return writePlain(schema)
    const name = rename[schema.title] ?? schema.title
    const type = writePlain(schema)
    if (named.has(name) && named.get(name) !== type) throw new Error(`two schemas are called ${name}`)
    named.set(name, type)
    return name
  }

  function writePlain(schema: Schema): string {
    if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
    if (schema.const !== undefined) return JSON.stringify(schema.const)
    const types = [schema.type ?? []].flat()
    // Beside a type, alternatives are rules between the fields, which TypeScript is not told.
    const options = schema.anyOf ?? (types.length === 0 ? schema.oneOf : undefined)
    if (options) return options.map(write).join(' | ')
    if (schema.not) return 'undefined'
    return types.map((type) => writeType(type, schema)).join(' | ') || 'unknown'
  }

  function writeType(type: string, schema: Schema): string {
    switch (type) {
      case 'integer':
        return 'number'
      case 'array':
        return `(${schema.items ? write(schema.items) : 'unknown'})[]`
      case 'object':
        return writeObject(schema)
      default:
        return type
    }
  }

  function writeObject({ properties, required = [], additionalProperties }: Schema): string {
    if (!properties) {
      const value = typeof additionalProperties === 'object' ? write(additionalProperties) : 'unknown'
      return `Record<string, ${value}>`
    }
    const fields = Object.entries(properties).map(([name, schema]) => {
      const type = write(schema)
      const field = required.includes(name)
        ? `${keyOf(name)}: ${type}`
        : `${keyOf(name)}?: ${type === 'undefined' ? type : `${type} | undefined`}`
      return documented ? commentOf(schema) + field : field
    })
    if (fields.length === 0) return 'Record<string, never>'
    return documented ? `{\n${fields.map(indent).join('\n')}\n}` : `{ ${fields.join('; ')} }`
  }

  return {
    write,
    declarations: () => [...named].sort().map(([name, type]) => `export type ${name} = ${type}\n`),
  }
}

const keyOf = (name: string): string => (/^\w+$/.test(name) ? name : JSON.stringify(name))
const indent = (text: string): string => text.replace(/^/gm, '  ')
const commentOf = ({ description }: Schema): string =>
  description ? `/** ${description.replaceAll('*/', '* /')} */\n` : ''
