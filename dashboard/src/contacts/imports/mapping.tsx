/** What each column of the file becomes, and the options of the import. Sending it checks the file. */
import { useId, useState } from 'react'
import { navigate } from 'wouter/use-browser-location'
import {
  Button,
  Checkbox,
  Form,
  Input,
  InputField,
  Select,
  SelectField,
  SubmitButton,
} from '../../../../ui/controls.tsx'
import { Card, ErrorNote, Note } from '../../../../ui/display.tsx'
import { describeError, useChange } from '../../lib/api.ts'
import { ConfirmButton } from '../../ui/dialogs.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { importWords } from '../../words/imports.ts'
import type { Import } from './state.tsx'

const { map: text } = importWords

type Target = Import['mapping'][number]
type FileColumn = Import['columns'][number] & { index: number; title: string }

/** The keys of an object of texts as options of a select. */
const optionsOf = (texts: Record<string, string>) => Object.entries(texts)

const stale = ['GET /imports/{id}', 'GET /imports'] as const

export function MappingForm({ value }: { value: Import }) {
  const { id, columns, is_mapping_saved: isSaved } = value
  const [mapping, setMapping] = useState<readonly Target[]>(value.mapping)
  const [tag, setTag] = useState(value.options.tag ?? '')
  const [update, setUpdate] = useState(value.options.update)
  const [isKept, setKept] = useState(false)
  const check = useChange('POST /imports/{id}/check', { stale })
  const rows = columns.map((column, index) => ({ ...column, index, title: column.name || text.unnamed(index + 1) }))
  const change = (index: number, target: Target) =>
    setMapping((all) => all.map((each, at) => (at === index ? target : each)))
  const submit = () =>
    check.mutate({
      params: { id },
      body: { mapping: [...mapping], options: { tag: tag.trim() || null, update }, save_mapping: isKept },
    })
  return (
    <Form className="stack" onSubmit={submit}>
      <Card title={text.title} flush actions={<DelimiterSelect value={value} />}>
        <div className="card-body">
          <p className="soft">{text.lead(columns.length)}</p>
          {isSaved && <Note tone="green">{text.saved}</Note>}
        </div>
        <Table
          label={text.title}
          rows={rows}
          keyOf={({ index }) => index}
          columns={[...columnTexts, targetColumn(mapping, change)]}
        />
      </Card>
      <Card title={text.options}>
        <div className="imports-options">
          <InputField
            label={text.tag}
            hint={text.tagHint}
            value={tag}
            maxLength={80}
            onChange={(event) => setTag(event.target.value)}
          />
          <SelectField
            label={text.update}
            hint={text.updateHint}
            value={update}
            options={optionsOf(text.updates)}
            onChange={(event) => setUpdate(event.target.value as typeof update)}
          />
        </div>
        <Checkbox label={text.save} checked={isKept} onChange={(event) => setKept(event.target.checked)} />
        {check.error && <ErrorNote>{describeError(check.error)}</ErrorNote>}
        <div className="row">
          <SubmitButton label={text.check} busy={check.isPending} />
          <RemoveButton id={id} />
        </div>
      </Card>
    </Form>
  )
}

/** A change reads the first rows again, so the columns are other ones. */
function DelimiterSelect({ value: { id, delimiter } }: { value: Import }) {
  const selectId = useId()
  const change = useChange('PATCH /imports/{id}', { stale, reportsError: true })
  return (
    <div className="imports-delimiter">
      <label className="soft small" htmlFor={selectId}>
        {text.delimiter}
      </label>
      <Select
        id={selectId}
        value={change.isPending ? change.variables.body.delimiter : delimiter}
        options={optionsOf(text.delimiters)}
        disabled={change.isPending}
        onChange={(event) =>
          change.mutate({ params: { id }, body: { delimiter: event.target.value as Import['delimiter'] } })
        }
      />
    </div>
  )
}

const RemoveButton = ({ id }: { id: string }) => (
  <ConfirmButton
    button={<Button label={text.remove} icon="trash" />}
    title={text.removeTitle}
    text={text.removeText}
    action={text.remove}
    danger
    call="DELETE /imports/{id}"
    input={{ params: { id } }}
    stale={['GET /imports']}
    done={text.removed}
    onDone={() => navigate('/contacts/import')}
  />
)

const columnTexts: Column<FileColumn>[] = [
  { label: text.column, cell: ({ title }) => <strong>{title}</strong> },
  {
    label: text.samples,
    cellClassName: 'soft small',
    cell: ({ samples }) => (
      <span className="imports-samples">{samples.length > 0 ? samples.join(' · ') : text.empty}</span>
    ),
  },
]

const targetColumn = (
  mapping: readonly Target[],
  change: (index: number, target: Target) => void,
): Column<FileColumn> => ({
  label: text.target,
  cell: (column) => (
    <TargetInput
      column={column}
      target={mapping[column.index] ?? { to: 'nothing' }}
      onChange={(target) => change(column.index, target)}
    />
  ),
})

type TargetInputProps = { column: FileColumn; target: Target; onChange: (target: Target) => void }

function TargetInput({ column, target, onChange }: TargetInputProps) {
  const { title, attribute } = column
  return (
    <div className="imports-target">
      <Select
        aria-label={text.targetOf(title)}
        value={target.to}
        options={optionsOf(text.targets)}
        onChange={(event) => onChange(toTarget(event.target.value as Target['to'], attribute))}
      />
      {target.to === 'attribute' && (
        <>
          <Input
            aria-label={text.keyOf(title)}
            value={target.key ?? ''}
            maxLength={40}
            required
            pattern="[a-z][a-z0-9_]*"
            onChange={(event) => onChange({ ...target, key: event.target.value })}
          />
          <Select
            aria-label={text.typeOf(title)}
            value={target.type ?? 'text'}
            options={optionsOf(text.types)}
            onChange={(event) => onChange({ ...target, type: event.target.value as NonNullable<Target['type']> })}
          />
        </>
      )}
      {target.to === 'tags' && (
        <Select
          aria-label={text.separatorOf(title)}
          value={target.separator ?? ';'}
          options={optionsOf(text.separators)}
          onChange={(event) =>
            onChange({ ...target, separator: event.target.value as NonNullable<Target['separator']> })
          }
        />
      )}
    </div>
  )
}

function toTarget(to: Target['to'], attribute: FileColumn['attribute']): Target {
  if (to === 'attribute') return { to, ...attribute }
  return to === 'tags' ? { to, separator: ';' } : { to }
}
