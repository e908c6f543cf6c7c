/**
 * Converts JSON schemas to Python types for the Python SDK.
 *
 * An object becomes a `TypedDict`. Python 3.9 has no `NotRequired`, so the required keys of a type with both kinds are in a base
 * class. An optional key that is a Python keyword, such as `from`, is in a base in the functional form. An object inside another one is
 * named after its parent and its key. `Optional` and `Union` are used instead of `|`, so that `typing.get_type_hints` works on
 * Python 3.9.
 */
import type { Schema } from './types-of-schema.ts'

export type PythonWriter = {
  /** Returns the expression of a type. `name` names the type if the schema is an object without a title. */
  write(schema: Schema, name: string): string
  /** Returns the classes, then the aliases, both sorted by name. */
  declarations(): string[]
  /** Returns the names of all public types. */
  names(): string[]
}

const keywords = new Set(['from', 'import', 'class', 'def', 'global', 'is', 'in', 'not', 'or', 'and', 'return', 'None'])

/** `rename` maps component names that have another meaning in the SDK. */
export function createPythonWriter(rename: Record<string, string> = {}): PythonWriter {
  const classes = new Map<string, string>()
  const aliases = new Map<string, string>()

  function write(schema: Schema, name: string): string {
    if (schema.$ref) {
      const component = schema.$ref.replace(/^.*\//, '')
      return rename[component] ?? component
    }
    if (!schema.title) return writePlain(schema, name)
    const title = rename[schema.title] ?? schema.title
    const isClass = schema.type === 'object' && schema.properties
    // The class of a nullable object cannot have the name of the union.
    const type = writePlain(schema, isClass ? title : `${title}Value`)
    if (!isClass) declare(aliases, title, `${title} = ${quoteNames(type)}\n`)
    return title
  }

  function declare(declared: Map<string, string>, name: string, text: string): void {
    if (declared.has(name) && declared.get(name) !== text)
      throw new Error(`two different schemas have the name ${name}`)
    declared.set(name, text)
  }

  function writePlain(schema: Schema, name: string): string {
    if (schema.enum) return literal(schema.enum)
    if (schema.const !== undefined) return literal([schema.const])
    const types = [schema.type ?? []].flat()
    const options = schema.anyOf ?? (types.length === 0 ? schema.oneOf : undefined)
    const written = options?.map((option) => write(option, name))
    // An option without a type only restricts the type beside it, with a pattern for example.
    if (written && !(written.includes('Any') && types.length > 0)) return union(written)
    // A key that is never present.
    if (schema.not) return 'None'
    return union(types.map((type) => writeType(type, schema, name)))
  }

  function writeType(type: string, schema: Schema, name: string): string {
    switch (type) {
      case 'string':
        return 'str'
      case 'integer':
        return 'int'
      case 'number':
        return 'float'
      case 'boolean':
        return 'bool'
      case 'null':
        return 'None'
      case 'array':
        return `List[${schema.items ? write(schema.items, name.replace(/s$/, '')) : 'Any'}]`
      case 'object':
        return writeObject(schema, name)
      default:
        throw new Error(`no Python type for ${type}`)
    }
  }

  function writeObject(schema: Schema, name: string): string {
    const { properties, required = [], additionalProperties } = schema
    if (!properties) {
      const value = typeof additionalProperties === 'object' ? write(additionalProperties, `${name}Value`) : 'Any'
      return `Dict[str, ${value}]`
    }
    const fields = Object.entries(properties).map(([key, field]) => {
      const isRequired = required.includes(key)
      const isKeyword = keywords.has(key)
      if ((isKeyword && isRequired) || !/^[A-Za-z_]\w*$/.test(key))
        throw new Error(`${name}: ${key} is not a Python name`)
      const type = write(field, name + toPascal(key))
      const line = isKeyword ? `        "${key}": ${quoteNames(type)},` : `    ${key}: ${type}`
      const lines = [...comment(field.description, isKeyword ? 8 : 4), line]
      return { kind: isKeyword ? 'keyword' : isRequired ? 'needed' : 'optional', lines }
    })
    const linesOf = (kind: string) => fields.filter((field) => field.kind === kind).flatMap(({ lines }) => lines)
    const [needed, optional, keyword] = [linesOf('needed'), linesOf('optional'), linesOf('keyword')]
    const header = docstring(schema.description, 4)
    const bases: { base: string; text: string[] }[] = []
    if (needed.length > 0 && optional.length > 0) {
      const base = `_${name}Required`
      bases.push({ base, text: [`class ${base}(TypedDict):`, ...needed] })
    }
    if (keyword.length > 0) {
      const base = `_${name}Keywords`
      const text = [`${base} = TypedDict(`, `    "${base}",`, '    {', ...keyword, '    },', '    total=False,', ')']
      bases.push({ base, text })
    }
    const parents = bases.length > 0 ? bases.map(({ base }) => base) : ['TypedDict']
    const total = optional.length > 0 ? ['total=False'] : []
    const lines = optional.length > 0 ? optional : needed
    const text = [
      ...bases.flatMap((base) => [...base.text, '', '']),
      `class ${name}(${[...parents, ...total].join(', ')}):`,
      ...header,
      ...lines,
    ]
    declare(classes, name, `${text.join('\n')}\n`)
    return name
  }

  const sorted = (declared: Map<string, string>) => [...declared].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    write,
    declarations: () => [...sorted(classes), ...sorted(aliases)].map(([, text]) => text),
    names: () => [...classes.keys(), ...aliases.keys()].sort(),
  }
}

const toPascal = (key: string): string => key.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())

function union(types: string[]): string {
  const unique = [...new Set(types)]
  if (unique.length === 0) return 'Any'
  const some = unique.filter((type) => type !== 'None')
  const inner = some.length > 1 ? `Union[${some.join(', ')}]` : (some[0] ?? 'None')
  return some.length > 0 && some.length < unique.length ? `Optional[${inner}]` : inner
}

const literal = (values: readonly unknown[]): string =>
  `Literal[${values.map((value) => (value === true ? 'True' : value === false ? 'False' : JSON.stringify(value))).join(', ')}]`

/** An alias is evaluated when the module is loaded, so it quotes the names of classes. */
const quoteNames = (type: string): string =>
  type.replace(/\b(?!(?:Union|Optional|List|Dict|Literal|Any|None)\b)[A-Z]\w+/g, "'$&'")

/** Breaks a text into lines of at most 110 characters. */
export function wrap(text: string, width = 110): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

const comment = (text: string | undefined, indent: number): string[] =>
  text ? wrap(text).map((line) => `${' '.repeat(indent)}# ${line}`) : []

/** The lines of a docstring with an empty line after it. */
export function docstring(text: string | undefined, indent: number, more: readonly string[] = []): string[] {
  if (!text) return []
  const safe = (line: string) => line.replaceAll('\\', '\\\\').replaceAll('"""', "'''")
  const [first = '', ...rest] = [...wrap(text), ...more].map(safe)
  const pad = (line: string) => (line ? ' '.repeat(indent) + line : '')
  if (rest.length === 0) return [pad(`"""${first}"""`), '']
  return [pad(`"""${first}`), ...rest.map(pad), pad('"""'), '']
}
