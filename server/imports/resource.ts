/** The import as members see it: its schema, its states and its progress. */
import { memberName } from '../accounts/members.ts'
import { delimiters, encodings } from '../lib/csv-format.ts'
import { notFound } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import { type Page, type Position, toPage } from '../lib/page.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import {
  DateTime,
  NullableDateTime,
  NullableInteger,
  NullableObject,
  NullableText,
  OneOf,
  type Static,
  Type,
  Uuid,
} from '../lib/schema.ts'
import { attributeTypes, type ImportOptions, type Target, TargetSchema, updateModes } from './mapping.ts'
import { countRows, type ImportResult, resultFields, toResultView } from './results.ts'
import { getSavedMapping } from './saved-mappings.ts'
import type { Suggestion } from './suggest.ts'

const states = [
  'uploaded',
  'checking',
  'checked',
  'importing',
  'done',
  'failed',
  'canceled',
  'undoing',
  'undone',
] as const

const ColumnSchema = Type.Object({
  name: Type.String({ description: 'The cell of the first row. It may be empty.' }),
  samples: Type.Array(Type.String(), { description: 'Up to three values.' }),
  attribute: Type.Object(
    { key: Type.String(), type: OneOf(attributeTypes) },
    { description: 'The attribute that the column can become.' },
  ),
})

export const OptionsSchema = Type.Object({
  tag: NullableText({ description: 'A tag for the contacts of all rows.' }),
  update: OneOf(updateModes, {
    description:
      'What a row changes of a contact that exists: all fields that have a value, empty ones only, or nothing.',
  }),
})

const summary = {
  id: Uuid,
  filename: NullableText(),
  size_bytes: Type.Integer(),
  state: OneOf(states),
  error: NullableText({ description: 'One sentence, of a failed import.' }),
  check: NullableObject(resultFields, { description: 'What the import would do.' }),
  result: NullableObject(resultFields, { description: 'What the import has done so far.' }),
  undo: NullableObject({
    erased: Type.Integer({ description: 'Contacts that the import created.' }),
    restored: Type.Integer({ description: 'Contacts that have their earlier values again.' }),
    kept: Type.Integer({ description: 'Contacts that changed since, or are used.' }),
  }),
  author: Type.Object({ id: Uuid, name: NullableText({ description: 'Null for a removed member.' }) }),
  created_at: DateTime,
  checked_at: NullableDateTime,
  started_at: NullableDateTime,
  ended_at: NullableDateTime,
  undone_at: NullableDateTime,
  undo_until: NullableText({ format: 'date-time', description: 'Until then it can be undone. Null: it cannot.' }),
}

export const ImportSummary = Type.Object(summary, { title: 'ImportSummary' })

export const ImportSchema = Type.Object(
  {
    ...summary,
    encoding: OneOf(encodings),
    delimiter: OneOf(delimiters),
    columns: Type.Array(ColumnSchema, { description: 'Empty after the import has ended.' }),
    mapping: Type.Array(TargetSchema, { description: 'The current one; before the first check, the suggested one.' }),
    is_mapping_saved: Type.Boolean({
      description: 'The mapping is one that a member saved for a file with this header.',
    }),
    options: OptionsSchema,
    progress: NullableObject(
      {
        is_waiting: Type.Boolean({ description: 'It has not started: another import runs first.' }),
        bytes_done: Type.Integer(),
        rows_done: Type.Integer({ description: 'Rows; contacts of an undo.' }),
        rows_total: NullableInteger,
        rows_per_second: NullableInteger,
        seconds_left: NullableInteger,
      },
      { description: 'Of a check, an import or an undo that runs.' },
    ),
  },
  { title: 'Import' },
)

type Import = Static<typeof ImportSchema>
type ImportListItem = Static<typeof ImportSummary>

export const defaultOptions: ImportOptions = { tag: null, update: 'all' }

type SummaryRow = Omit<ImportListItem, 'check' | 'result' | 'undo' | 'size_bytes'> & {
  size_bytes: number
  check_result: ImportResult | null
  import_result: ImportResult | null
  undo: { erased: number; restored: number; kept: number } | null
}

type ImportRow = SummaryRow &
  Pick<Import, 'encoding' | 'delimiter'> & {
    header: string[]
    columns: StoredColumn[] | null
    mapping: Target[] | null
    options: ImportOptions | null
    first_byte: number
    next_byte: number
    rows_done: number
    resumed_rows: number
    /** Since the worker claimed it. Null: no worker has. */
    resumed_seconds: number | null
    is_leased: boolean
  }

/** What is known about a column of the file before the import. */
export type StoredColumn = { samples: string[] } & Suggestion

/** Columns of import `i` with its author `m`. */
const summaryColumns = (sql: Sql): Fragment => sql`
  i.id, i.filename, i.size_bytes::float8 as size_bytes, i.state, i.error, i.check_result, i.result as import_result,
  case when i.undone_at is not null or i.state = 'undoing'
    then json_build_object('erased', i.erased_count, 'restored', i.restored_count, 'kept', i.kept_count) end as undo,
  json_build_object('id', i.created_by, 'name', ${memberName(sql, sql`m`)}) as author,
  i.created_at, i.checked_at, i.started_at, i.ended_at, i.undone_at,
  case when i.has_changes and i.state in ('done', 'failed', 'canceled') and i.changes_until > now() then i.changes_until end
    as undo_until`

const toSummary = ({ check_result, import_result, ...row }: SummaryRow): ImportListItem => ({
  ...row,
  check: check_result && toResultView(check_result),
  result: import_result && toResultView(import_result),
})

/** Newest first. */
export async function listImports(
  sql: Sql,
  workspaceId: string,
  { limit, before }: Position,
): Promise<Page<ImportListItem>> {
  const rows = await sql<SummaryRow[]>`
    select ${summaryColumns(sql)}
    from contact_imports i
    left join members m on m.workspace_id = i.workspace_id and m.id = i.created_by
    where i.workspace_id = ${workspaceId} and i.id < ${before} and i.state <> 'uploading'
    order by i.id desc
    limit ${limit + 1}`
  return toPage(rows.map(toSummary), limit)
}

export async function requireRowOf(sql: Sql, workspaceId: string, id: string): Promise<ImportRow> {
  const [row] = isUuid(id)
    ? await sql<ImportRow[]>`
        select ${summaryColumns(sql)}, i.encoding, i.delimiter, i.header, i.columns, i.mapping, i.options,
          i.first_byte::float8 as first_byte, i.next_byte::float8 as next_byte, i.rows_done, i.resumed_rows,
          extract(epoch from clock_timestamp() - i.resumed_at)::float8 as resumed_seconds,
          coalesce(i.leased_until > now(), false) as is_leased
        from contact_imports i
        left join members m on m.workspace_id = i.workspace_id and m.id = i.created_by
        where i.workspace_id = ${workspaceId} and i.id = ${id} and i.state <> 'uploading'`
    : []
  if (!row) throw notFound('import')
  return row
}

export async function requireImport(sql: Sql, workspaceId: string, id: string): Promise<Import> {
  const row = await requireRowOf(sql, workspaceId, id)
  const { encoding, delimiter, header } = row
  const columns = row.columns ?? []
  const saved = row.mapping ? undefined : await getSavedMapping(sql, workspaceId, header)
  return {
    ...toSummary(row),
    ...{ encoding, delimiter },
    columns: columns.map(({ samples, attribute }, i) => ({ name: header[i] ?? '', samples, attribute })),
    mapping: row.mapping ?? saved ?? columns.map(({ target }) => target),
    is_mapping_saved: saved !== undefined,
    options: row.options ?? defaultOptions,
    progress: toProgress(row),
  }
}

/** The columns of the file for the rejected rows: their names. 404 when there is no such import. */
export async function requireHeader(sql: Sql, workspaceId: string, id: string): Promise<string[]> {
  return (await requireRowOf(sql, workspaceId, id)).header
}

function toProgress(row: ImportRow): Import['progress'] {
  const { state, rows_done, resumed_rows, resumed_seconds, is_leased, size_bytes, next_byte, first_byte } = row
  if (state !== 'checking' && state !== 'importing' && state !== 'undoing') return null
  const rows_total = totalOf(row)
  const speed = is_leased && resumed_seconds ? (rows_done - resumed_rows) / Math.max(resumed_seconds, 0.5) : 0
  const share = rows_total === null ? (next_byte - first_byte) / Math.max(1, size_bytes - first_byte) : 0
  const rowsLeft =
    rows_total === null ? rows_done * (1 / Math.max(share, 1e-6) - 1) : Math.max(0, rows_total - rows_done)
  return {
    is_waiting: !is_leased && rows_done === 0,
    bytes_done: next_byte,
    rows_done,
    rows_total,
    rows_per_second: speed > 0 ? Math.round(speed) : null,
    seconds_left: speed > 0 ? Math.ceil(rowsLeft / speed) : null,
  }
}

/** The rows of an import, the contacts of an undo; null for a file whose rows are not counted yet. */
function totalOf({ state, check_result, import_result }: ImportRow): number | null {
  if (state === 'importing') return check_result && countRows(check_result)
  return state === 'undoing' && import_result ? import_result.created + import_result.changed : null
}
