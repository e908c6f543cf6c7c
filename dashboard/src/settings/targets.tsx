/** Service level targets in their order. Owners and admins change them; the form shows which open conversations would have a clock. */
import './targets.css'
import { useState } from 'react'
import { Button, IconButton } from '../../../ui/controls.tsx'
import { Badge, Card, EmptyState } from '../../../ui/display.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { useIsManager } from '../lib/session.tsx'
import { formatMinutes } from '../lib/time.ts'
import { ConfirmCall } from '../ui/dialogs.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'
import { settingsWords } from '../words/settings.ts'
import { clockKinds, type Target, TargetForm, targetQueries } from './target-form.tsx'

const { targets: texts } = settingsWords

export function Targets() {
  const query = useCall('GET /targets', {})
  const isManager = useIsManager()
  const [editing, setEditing] = useState<Target | 'new'>()
  const [deleting, setDeleting] = useState<Target>()
  const add = isManager && <Button label={texts.add} variant="primary" icon="plus" onClick={() => setEditing('new')} />
  return (
    <Page title={texts.title} lead={texts.lead} actions={add}>
      <QueryView query={query}>
        {(all) =>
          all.length === 0 ? (
            <Card>
              <EmptyState icon="clock" title={texts.empty} text={texts.emptyText} action={add} />
            </Card>
          ) : (
            <TargetTable targets={all} onEdit={setEditing} onDelete={setDeleting} />
          )
        }
      </QueryView>
      {editing && <TargetForm target={editing === 'new' ? undefined : editing} onClose={() => setEditing(undefined)} />}
      {deleting && (
        <ConfirmCall
          call="DELETE /targets/{id}"
          input={{ params: { id: deleting.id } }}
          stale={targetQueries}
          title={texts.removeTitle(deleting.name)}
          text={texts.removeText}
          action={texts.removeAction}
          danger
          done={texts.removed(deleting.name)}
          onClose={() => setDeleting(undefined)}
        />
      )}
    </Page>
  )
}

type TableProps = { targets: readonly Target[]; onEdit: (target: Target) => void; onDelete: (target: Target) => void }

function TargetTable({ targets, onEdit, onDelete }: TableProps) {
  const isManager = useIsManager()
  const move = useChange('PATCH /targets/{id}', {
    stale: targetQueries,
    done: ({ name, position }) => texts.moved(name, position + 1),
    reportsError: true,
  })
  const moveBy = ({ id, position }: Target, by: number) =>
    move.mutate({ params: { id }, body: { position: position + by } })
  return (
    <Card flush>
      <Table
        className="settings-targets"
        isCompact
        rows={targets}
        keyOf={({ id }) => id}
        columns={[
          {
            label: texts.name,
            cell: ({ name, is_active }) => (
              <span className="settings-target-name">
                <bdi>{name}</bdi> {!is_active && <Badge>{texts.paused}</Badge>}
              </span>
            ),
          },
          { label: texts.applies, cell: ({ conditions }) => describeConditions(conditions) },
          { label: texts.times, cell: (target) => <Times target={target} /> },
          isManager && {
            label: texts.actions,
            isLabelHidden: true,
            cellClassName: 'end nowrap',
            cell: (target) => (
              <>
                <IconButton
                  label={texts.up(target.name)}
                  icon="up"
                  disabled={target.position === 0 || move.isPending}
                  onClick={() => moveBy(target, -1)}
                />
                <IconButton
                  label={texts.down(target.name)}
                  icon="chevron"
                  disabled={target.position === targets.length - 1 || move.isPending}
                  onClick={() => moveBy(target, 1)}
                />
                <IconButton label={texts.edit(target.name)} icon="edit" onClick={() => onEdit(target)} />
                <IconButton label={texts.remove(target.name)} icon="trash" onClick={() => onDelete(target)} />
              </>
            ),
          },
        ]}
      />
    </Card>
  )
}

const describeConditions = (conditions: Target['conditions']): string =>
  conditions ? texts.rules(conditions.rules.length) : texts.all

function Times({ target }: { target: Target }) {
  const times = clockKinds.flatMap((kind) => {
    const minutes = target[`${kind}_minutes`]
    return minutes === null ? [] : [texts.time(kind, formatMinutes(minutes))]
  })
  return (
    <>
      {times.join(' · ')}
      <small className="soft settings-target-count">{target.is_office_time ? texts.office : texts.calendar}</small>
    </>
  )
}
