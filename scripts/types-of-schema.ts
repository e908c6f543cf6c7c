/**
 * Converts JSON schemas to TypeScript types, for the dashboard and the SDK.
 *
 * A schema with a title becomes a named type. A reference becomes the name of its component. `documented` writes one field
 * per line, with the schema's description as a comment.
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
  /** Returns the named types so far, sorted by name. */
  declarations(): string[]
}

/** `rename` maps component names that already have another meaning in TypeScript. */
export function createWriter({ documented = false, rename = {} as Record<string, string> } = {}): Writer {
  const named = new Map<string, string>()

  function write(input: unknown): string {
    const schema = input as Schema
    if (schema.$ref) {
      const name = schema.$ref.replace(/^.*\//, '')
      return rename[name] ?? name
    }
    if (!schema.title) return writePlain(schema)
    const name = rename[schema.title] ?? schema.title
    const type = writePlain(schema)
    if (named.has(name) && named.get(name) !== type) throw new Error(`two different schemas have the title ${name}`)
    named.set(name, type)
    return name
  }

  function writePlain(schema: Schema): string {
    if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
    if (schema.const !== undefined) return JSON.stringify(schema.const)
    const types = [schema.type ?? []].flat()
    // `oneOf` next to a type expresses rules between fields, which the TypeScript type omits.
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
