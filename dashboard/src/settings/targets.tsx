/** Service level targets in their order. Owners and admins change them; the form shows which open conversations would have a clock. */
import './targets.css'
import { useState } from 'react'
import { Button, IconButton } from '../../../ui/controls.tsx'
import { Badge, Card, EmptyState } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { useConnections } from '../lib/connections.ts'
import { memberName } from '../lib/people.ts'
import { useIsManager } from '../lib/session.tsx'
import { formatMinutes } from '../lib/time.ts'
import { describeFilter } from '../segments/describe-filter.ts'
import { ConfirmCall } from '../ui/dialogs.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'
import { settingsWords } from '../words/settings.ts'
import { clockKinds, type Target, TargetForm, targetQueries, toEdited } from './target-form.tsx'

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
              <EmptyState icon="target" title={texts.empty} text={texts.emptyText} action={add} />
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
  const describe = useConditionsText()
  // Below it no target applies.
  const last = targets.find((target) => target.is_active && target.conditions === null)
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
            cell: ({ name, is_active, position }) => (
              <>
                <span className="settings-target-name">
                  <bdi>{name}</bdi> {!is_active && <Badge>{texts.paused}</Badge>}
                </span>
                {last && is_active && position > last.position && (
                  <small className="settings-target-never">
                    <Icon name="alert" />
                    <span>{texts.neverApplies(last.name)}</span>
                  </small>
                )}
              </>
            ),
          },
          { label: texts.applies, cell: ({ conditions }) => describe(conditions) },
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

/** "Label has VIP and Team is Support": filters store ids, the text shows the names. */
function useConditionsText(): (conditions: Target['conditions']) => string {
  const { data: tags = [] } = useCall('GET /tags', {})
  const { data: labels = [] } = useCall('GET /labels', {})
  const { data: teams = [] } = useCall('GET /teams', {})
  const { data: members = [] } = useCall('GET /members', {})
  const connections = useConnections()
  const named = [...tags, ...labels, ...teams, ...connections].map(({ id, name }) => [id, name] as const)
  const byId = new Map([...named, ...members.map((member) => [member.id, memberName(member)] as const)])
  const names = {
    byId,
    field: (field: string) => texts.fields[field],
    value: (_: string, value: string) => byId.get(value),
  }
  return (conditions) => {
    const filter = toEdited(conditions)
    return filter ? describeFilter(filter, names) : texts.all
  }
}

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
