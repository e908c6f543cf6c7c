/** The labels of conversations: name, color and number of conversations. Owners and admins delete them. */
import { useState } from 'react'
import { Link } from 'wouter'
import { Button, IconButton, InputField } from '../../../ui/controls.tsx'
import { Card, EmptyState } from '../../../ui/display.tsx'
import { useToast } from '../../../ui/overlays.tsx'
import type { Label } from '../inbox/model/changes.ts'
import { useCall, useChange } from '../lib/api.ts'
import { fieldErrorsOf } from '../lib/field-errors.ts'
import { useCanWrite, useIsManager } from '../lib/session.tsx'
import { FormDialog } from '../ui/dialogs.tsx'
import { LabelChip } from '../ui/label.tsx'
import { Marked } from '../ui/marked.tsx'
import { Page, QueryView, ViewerNote } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'
import { settingsWords } from '../words/settings.ts'
import { words } from '../words/words.ts'
import { ColorPicker, colors } from './color-picker.tsx'
import { DeleteLabel, isMoreThanCounted, labelQueries } from './delete-label.tsx'

const { labels: texts } = settingsWords

export function Labels() {
  const query = useCall('GET /labels', {})
  const canWrite = useCanWrite()
  const [editing, setEditing] = useState<Label | 'new'>()
  const [deleting, setDeleting] = useState<Label>()
  const add = canWrite && <Button label={texts.add} variant="primary" icon="plus" onClick={() => setEditing('new')} />
  return (
    <Page title={texts.title} lead={<Marked text={texts.lead} isKeys />} actions={add}>
      <ViewerNote />
      <QueryView query={query}>
        {(all) =>
          all.length === 0 ? (
            <Card>
              <EmptyState icon="label" title={texts.empty} text={texts.emptyText} action={add} />
            </Card>
          ) : (
            <LabelTable labels={all} onEdit={setEditing} onDelete={setDeleting} />
          )
        }
      </QueryView>
      {editing && (
        <LabelForm
          label={editing === 'new' ? undefined : editing}
          others={query.data ?? []}
          onClose={() => setEditing(undefined)}
        />
      )}
      {deleting && <DeleteLabel label={deleting} onClose={() => setDeleting(undefined)} />}
    </Page>
  )
}

type TableProps = { labels: readonly Label[]; onEdit: (label: Label) => void; onDelete: (label: Label) => void }

function LabelTable({ labels, onEdit, onDelete }: TableProps) {
  const isManager = useIsManager()
  const canWrite = useCanWrite()
  const counts = new Map(
    useCall('GET /labels/counts', {}).data?.map(({ id, conversation_count: count }) => [id, count]),
  )
  return (
    <Card flush>
      <Table
        className="settings-labels"
        isCompact
        rows={labels}
        keyOf={({ id }) => id}
        columns={[
          { label: texts.name, cell: ({ name, color }) => <LabelChip name={name} color={color} /> },
          { label: texts.conversations, cell: (label) => <Count label={label} count={counts.get(label.id)} /> },
          canWrite && {
            label: texts.actions,
            isLabelHidden: true,
            cellClassName: 'end nowrap',
            cell: (label) => (
              <>
                <IconButton label={texts.edit(label.name)} icon="edit" onClick={() => onEdit(label)} />
                {isManager && (
                  <IconButton label={texts.remove(label.name)} icon="trash" onClick={() => onDelete(label)} />
                )}
              </>
            ),
          },
        ]}
      />
    </Card>
  )
}

/** The number of conversations, which opens them in the inbox. */
function Count({ label: { id, name }, count }: { label: Label; count: number | undefined }) {
  if (count === undefined) return null
  const text = texts.count(count, isMoreThanCounted(count))
  if (count === 0) return text
  return (
    <Link href={`/inbox?status=all&label=${id}`} aria-label={texts.show(name, text)}>
      {text}
    </Link>
  )
}

type FormProps = {
  /** Undefined: a new one. */
  label: Label | undefined
  others: readonly Label[]
  onClose: () => void
}

/** The dialog to add a label, or to change its name and color. The toast offers to undo a change. */
function LabelForm({ label, others, onClose }: FormProps) {
  const toast = useToast()
  const [name, setName] = useState(label?.name ?? '')
  const [color, setColor] = useState(label?.color ?? colors[others.length % colors.length] ?? '')
  const [isTaken, setTaken] = useState(false)
  const undo = useChange('PATCH /labels/{id}', { stale: labelQueries, reportsError: true })
  const create = useChange('POST /labels', {
    stale: labelQueries,
    done: (created) => texts.added(created.name),
    onDone: onClose,
  })
  const update = useChange('PATCH /labels/{id}', {
    stale: labelQueries,
    onDone: ({ id, name: saved }) => {
      const before = label && { name: label.name, color: label.color }
      toast.success(texts.saved(saved), before && (() => undo.mutate({ params: { id }, body: before })))
      onClose()
    },
  })
  const errors = fieldErrorsOf(create.error ?? update.error, ['name'])
  const submit = () => {
    const body = { name: name.trim(), color }
    if (label) return update.mutate({ params: { id: label.id }, body })
    // The service would return the existing label.
    if (others.some((other) => other.name.toLowerCase() === body.name.toLowerCase())) return setTaken(true)
    create.mutate({ body })
  }
  return (
    <FormDialog
      title={label ? texts.editTitle(label.name) : texts.add}
      className="stack settings-form"
      action={label ? words.common.save : texts.add}
      isBusy={create.isPending || update.isPending}
      error={errors.rest}
      onSubmit={submit}
      onClose={onClose}
    >
      <InputField
        label={texts.name}
        error={isTaken ? texts.exists(name.trim()) : errors.name}
        required
        maxLength={80}
        autoComplete="off"
        dir="auto"
        value={name}
        onChange={(event) => {
          setName(event.target.value)
          setTaken(false)
        }}
      />
      <ColorPicker value={color} onChange={setColor} />
    </FormDialog>
  )
}
