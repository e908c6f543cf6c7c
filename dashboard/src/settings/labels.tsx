/** The labels of conversations: name, color and number of conversations. Owners and admins delete them. */
import { useState } from 'react'
import { Link } from 'wouter'
import { Button, IconButton } from '../../../ui/controls.tsx'
import { Card, EmptyState } from '../../../ui/display.tsx'
import { DeleteLabel, isMoreThanCounted } from '../inbox/actions/delete-label.tsx'
import type { Label } from '../inbox/model/changes.ts'
import { useCall } from '../lib/api.ts'
import { useCanWrite, useIsManager } from '../lib/session.tsx'
import { Page, QueryView, ViewerNote } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'
import { Tag } from '../ui/tag.tsx'
import { words } from '../words/words.ts'
import { LabelForm } from './label-form.tsx'

const { labels: texts } = words.settings

export function Labels() {
  const query = useCall('GET /labels', {})
  const canWrite = useCanWrite()
  const [editing, setEditing] = useState<Label | 'new'>()
  const [deleting, setDeleting] = useState<Label>()
  const add = canWrite && <Button label={texts.add} variant="primary" icon="plus" onClick={() => setEditing('new')} />
  return (
    <Page title={texts.title} lead={texts.lead} actions={add}>
      <ViewerNote />
      <QueryView query={query}>
        {(all) =>
          all.length === 0 ? (
            <Card>
              <EmptyState icon="tag" title={texts.empty} text={texts.emptyText} action={add} />
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
        rows={labels}
        keyOf={({ id }) => id}
        columns={[
          { label: texts.name, cell: ({ name, color }) => <Tag name={name} color={color} /> },
          { label: texts.conversations, cell: (label) => <Count label={label} count={counts.get(label.id)} /> },
          canWrite && {
            label: texts.actions,
            isLabelHidden: true,
            cellClassName: 'end nowrap',
            cell: (label) => (
              <>
                <IconButton label={texts.edit(label.name)} icon="edit" size="small" onClick={() => onEdit(label)} />
                {isManager && (
                  <IconButton
                    label={texts.remove(label.name)}
                    icon="trash"
                    size="small"
                    onClick={() => onDelete(label)}
                  />
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
