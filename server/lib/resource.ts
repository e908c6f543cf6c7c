/**
 * A resource is a schema.
 *
 * One TypeBox schema is the TypeScript type (`Static`), the validator, the whitelist of a response and the API document. Here it is
 * also the SQL: the select list of a resource, its JSON in an event, and the rows of a page. A field is the column of the same name,
 * unless it belongs to another row (`Joined`), has an expression (`Column`, `StatementColumn`), or is not in the database
 * (`NoColumn`). So a new field is one line.
 */
import { resolveLists, splitNames } from './id-lists.ts'
import type { Page } from './page.ts'
import { type Form, type ListReaders, layoutOf, writePage, writeRows } from './page-text.ts'
import { type Fragment, isoTime, jsonObject, type Sql } from './postgres/db.ts'
import type { Static, TProperties, TSchema } from './schema.ts'

type Expression = (sql: Sql) => Fragment

/** A list in the row of a page: one text with spaces, which the database writes three times as fast as JSON. */
type ListColumn = {
  /** The ids of the items, or the items themselves, in any order. */
  text: Expression
  /** Reads the items with these ids, in the order to show. Absent: the text has the items. */
  read?: (sql: Sql, workspaceId: string) => (ids: string[]) => Promise<readonly { id: string }[]>
}

type FieldSql = { value?: Expression; list?: ListColumn | undefined; joined?: string; isAbsent?: boolean }

/** A symbol, so that validators and the API document ignore it. Copies of a schema keep it. */
const fieldSql = Symbol('SQL of a field')

/** A field with an expression of its own. `list`: for a list in pages. */
export const Column = <Schema extends TSchema>(schema: Schema, value: Expression, list?: ListColumn): Schema =>
  annotate(schema, { value, list })

/** The column of the same name of the row `alias`, or an object whose fields are columns of that row. */
export const Joined = <Schema extends TSchema>(alias: string, schema: Schema): Schema =>
  annotate(schema, { joined: alias })

/** A field whose expression depends on the statement, which passes it. */
export const StatementColumn = <Schema extends TSchema>(schema: Schema): Schema =>
  Column(schema, () => {
    throw new Error('the statement passes no expression for a StatementColumn')
  })

/** A field that the service adds to the row. */
export const NoColumn = <Schema extends TSchema>(schema: Schema): Schema => annotate(schema, { isAbsent: true })

/** Keeps the properties that are not enumerable, such as the mark of an optional field. */
const annotate = <Schema extends TSchema>(schema: Schema, sql: FieldSql): Schema =>
  Object.defineProperties(
    {},
    { ...Object.getOwnPropertyDescriptors(schema), [fieldSql]: { value: sql, enumerable: true } },
  ) as unknown as Schema

type ObjectSchema = TSchema & { properties: TProperties }

/** Expressions of one statement, instead of those of the schema. */
type Values<Schema extends ObjectSchema> = { [Name in keyof Schema['properties']]?: Fragment }

/** The SQL of a schema whose fields are columns of the row `alias`. */
export function resource<Schema extends ObjectSchema>(alias: string, { properties }: Schema) {
  type Item = Static<Schema>
  const fields = fieldsOf(alias, properties)
  const rowFields = fields.flatMap(toRowFields)
  const columns = selectList(fields)
  const jsonColumns = selectList(fields.map(withTimeAsText))
  const storedColumns = selectList(fields.filter(({ isStored }) => isStored))
  const rowColumns = selectList(rowFields)
  const layout = layoutOf(rowFields)
  const listsOf = (sql: Sql, workspaceId: string): ListReaders =>
    new Map(rowFields.flatMap(({ name, list }) => (list?.read ? [[name, list.read(sql, workspaceId)] as const] : [])))
  return {
    /** The select list of single resources. */
    columns: (sql: Sql, values?: Values<Schema>): Fragment => columns(sql, values),
    /** The same for JSON that a statement builds: with times as text. */
    jsonColumns: (sql: Sql, values?: Values<Schema>): Fragment => jsonColumns(sql, values),
    /** A JSON object without white space, for events. */
    json: (sql: Sql, values?: Values<Schema>): Fragment => jsonObject(sql, jsonColumns(sql, values)),
    /** The fields that are columns of the row, for a relation that takes its place. */
    storedColumns: (sql: Sql): Fragment => storedColumns(sql),
    /** The select list of pages. It starts with the id; further columns may follow. */
    rowColumns: (sql: Sql): Fragment => rowColumns(sql),
    /** A page as bytes, of the values of a statement with `limit + 1`, sorted by id. */
    writePage: (sql: Sql, workspaceId: string, rows: unknown[][], limit: number): Promise<Page<Item>> =>
      writePage(rows, limit, layout, listsOf(sql, workspaceId)),
    /** A page as bytes, of all these values. */
    writeRows: (sql: Sql, workspaceId: string, rows: unknown[][], nextCursor: string | null): Promise<Page<Item>> =>
      writeRows(rows, nextCursor, layout, listsOf(sql, workspaceId)),
    /** The rows of a page as objects, with the items of their lists. */
    fillLists: async <Row extends Item>(sql: Sql, workspaceId: string, rows: readonly object[]): Promise<Row[]> => {
      for (const { name, list } of fields) if (list) await fillList(sql, workspaceId, name, list, rows)
      return rows as unknown as Row[]
    },
  }
}

type Field = {
  name: string
  value: Expression
  /** The value is the column of the same name. */
  isStored: boolean
  isTime: boolean
  form: Form
  list?: ListColumn | undefined
  /** The fields of a joined object. */
  parts?: Field[]
}

function fieldsOf(alias: string, properties: TProperties): Field[] {
  return Object.entries(properties).flatMap(([name, schema]): Field[] => {
    const { value, list, joined, isAbsent } = (schema as { [fieldSql]?: FieldSql })[fieldSql] ?? {}
    if (isAbsent) return []
    const { format } = schema as { format?: string }
    const field = { name, isStored: false, isTime: format === 'date-time', form: formOf(schema, list), list }
    if (value) return [{ ...field, value }]
    if (joined === undefined) return [{ ...field, value: (sql) => sql.unsafe(`${alias}.${name}`), isStored: true }]
    if (!isObject(schema)) return [{ ...field, value: (sql) => sql.unsafe(`${joined}.${name}`) }]
    const parts = fieldsOf(joined, schema.properties)
    return [{ ...field, value: (sql) => buildObject(sql, parts), parts }]
  })
}

const isObject = (schema: TSchema): schema is ObjectSchema => 'properties' in schema

/** PostgreSQL writes numbers, uuids and times without characters that JSON escapes. */
function formOf(schema: TSchema, list: ListColumn | undefined): Form {
  const { type = [], format } = schema as { type?: string | string[]; format?: string }
  const [only = ''] = [type].flat().filter((one) => one !== 'null')
  if (list) return list.read ? 'ids' : 'names'
  if (['boolean', 'integer', 'number'].includes(only)) return 'bare'
  if (only !== 'string') return 'json'
  return format === 'uuid' || format === 'date-time' ? 'quoted' : 'text'
}

function buildObject(sql: Sql, parts: readonly Field[]): Fragment {
  const pairs = parts.map(withTimeAsText).map(({ name, value }) => sql`${sql.unsafe(`'${name}', `)}${value(sql)}`)
  return sql`json_build_object(${pairs.reduce((one, other) => sql`${one}, ${other}`)})`
}

/** JSON has times as the driver returns them. */
const withTimeAsText = (field: Field): Field =>
  field.isTime ? { ...field, value: (sql) => isoTime(sql, field.value(sql)), isStored: false } : field

/** The columns of a field in a page: flat, with lists as texts. */
const toRowFields = ({ parts, ...field }: Field): Field[] =>
  parts
    ? parts.flatMap(toRowFields).map((part) => ({ ...part, name: `${field.name}.${part.name}`, isStored: false }))
    : [{ ...field, value: field.list?.text ?? field.value }]

/** The columns with their names. Statements share the fragment: it is text and values, without a connection. */
function selectList(fields: readonly Field[]) {
  const compose = (sql: Sql, values: Record<string, Fragment | undefined>): Fragment => {
    const columns = fields.map(({ name, value, isStored }, i) => {
      const given = values[name]
      const title = isStored && !given ? '' : ` as ${name.includes('.') ? `"${name}"` : name}`
      const end = i === fields.length - 1 ? '' : isStored && fields[i + 1]?.isStored ? ',' : ',\n'
      return sql`${given ?? value(sql)}${sql.unsafe(title + end)}`
    })
    return sql`${columns}`
  }
  let shared: Fragment | undefined
  return (sql: Sql, values?: Record<string, Fragment | undefined>): Fragment => {
    if (values) return compose(sql, values)
    shared ??= compose(sql, {})
    return shared
  }
}

async function fillList(sql: Sql, workspaceId: string, name: string, { read }: ListColumn, rows: readonly object[]) {
  const texts = rows.map((row) => String((row as Record<string, unknown>)[name]))
  const itemsOf = read ? await resolveLists(texts, read(sql, workspaceId)) : splitNames
  // In place: copying the rows takes longer than reading them.
  rows.forEach((row, i) => {
    Object.assign(row, { [name]: itemsOf(texts[i] ?? '') })
  })
}
