/** Undoing an import: the button with its question, and the result with what stays. */
import { Link } from 'wouter'
import { Button } from '../../../../ui/controls.tsx'
import { Card, EmptyState } from '../../../../ui/display.tsx'
import { type ItemOf, pathOf, usePages } from '../../lib/api.ts'
import { formatNumber, formatTime } from '../../lib/time.ts'
import { ConfirmButton } from '../../ui/dialogs.tsx'
import { AnchorButton } from '../../ui/link-button.tsx'
import { PagedList } from '../../ui/page.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { importWords } from '../../words/imports.ts'
import type { Import } from './state.tsx'

const { undo: text } = importWords

export function UndoCard({ value }: { value: Import }) {
  const { id, result, undo_until: until } = value
  if (!until || !result || result.created + result.changed === 0) return null
  return (
    <Card title={text.title}>
      <p>{text.until(formatTime(until))}</p>
      <div className="row">
        <ConfirmButton
          button={<Button label={text.action} />}
          title={text.confirmTitle}
          text={text.confirmText(result.created, result.changed)}
          action={text.confirm}
          danger
          call="POST /imports/{id}/undo"
          input={{ params: { id } }}
          stale={['GET /imports/{id}', 'GET /imports']}
          done={text.started}
        />
      </div>
    </Card>
  )
}

const outcomes = ['erased', 'restored', 'kept'] as const

export function UndoneCard({ value: { id, undo } }: { value: Import }) {
  if (!undo) return null
  return (
    <>
      <Card title={importWords.states.undone}>
        <dl className="imports-counts">
          {outcomes.map((name) => (
            <div key={name} data-name={name}>
              <dt className="soft small">{text[name]}</dt>
              <dd>
                <strong className="numeric">{formatNumber(undo[name])}</strong>
              </dd>
            </div>
          ))}
        </dl>
      </Card>
      <Kept id={id} count={undo.kept} />
    </>
  )
}

function Kept({ id, count }: { id: string; count: number }) {
  const pages = usePages('GET /imports/{id}/kept', { params: { id }, query: { limit: 100 } }, { enabled: count > 0 })
  if (count === 0) return <EmptyState icon="check" title={text.keptNone} text={text.keptNoneText} />
  const download = (
    <AnchorButton
      label={text.download}
      icon="download"
      href={pathOf('GET /imports/{id}/kept.csv', { params: { id } })}
      download
    />
  )
  return (
    <Card title={text.keptTitle} flush actions={download}>
      <PagedList pages={pages} empty={<EmptyState icon="check" title={text.keptNone} />}>
        {(rows) => <Table isCompact rows={rows} keyOf={({ contact }) => contact.id} columns={columns} />}
      </PagedList>
    </Card>
  )
}

type KeptContact = ItemOf<'GET /imports/{id}/kept'>

function describeReason({ reason, fields }: KeptContact): string {
  if (reason !== 'fields') return text.reasons[reason]
  return text.reasons.fields(
    fields.map((field) => text.fieldNames[field] ?? field.replace('attributes.', '')).join(', '),
  )
}

const columns: Column<KeptContact>[] = [
  {
    label: text.contact,
    cell: ({ contact: { id, name, phone, email } }) => (
      <Link href={`/contacts/${id}`}>{name ?? phone ?? email ?? id}</Link>
    ),
  },
  { label: text.why, cell: describeReason },
]
