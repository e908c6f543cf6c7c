/** The filters that have no button of their own, several values each. Each change applies at once. */
import { type ReactNode, useState } from 'react'
import { Button, Checkbox, InputField, SelectField } from '../../../../ui/controls.tsx'
import { Icon } from '../../../../ui/icon.tsx'
import { useCall } from '../../lib/api.ts'
import { listFilterable, useConnections } from '../../lib/connections.ts'
import { memberName } from '../../lib/people.ts'
import { type Anchor, Popover } from '../../ui/popover.tsx'
import { words } from '../../words/words.ts'
import { type Filters, noFilters, setFilters, toggleValue, unassigned, useFilters, valuesOf } from '../model/filters.ts'

const { list, flow } = words.inbox

/** Ids with their names. */
type Choices = readonly (readonly [string, string])[]

export default function FilterDialog({ anchor, onClose }: { anchor: Anchor | undefined; onClose: () => void }) {
  const { filters } = useFilters()
  const members = (useCall('GET /members', {}).data ?? []).filter(({ state }) => state === 'active')
  const labels = useCall('GET /labels', {}).data ?? []
  const teams = useCall('GET /teams', {}).data ?? []
  const tags = useCall('GET /tags', {}).data ?? []
  const connections = listFilterable(useConnections())
  const named = (all: readonly { id: string; name: string }[]): Choices => all.map(({ id, name }) => [id, name])
  const people: Choices = [
    ['me', list.mine],
    [unassigned, list.unassigned],
    ...members.map((member) => [member.id, memberName(member)] as const),
  ]
  return (
    <Popover title={flow.filters} anchor={anchor} onClose={onClose}>
      <div className="inbox-filter-form">
        <Checkbox
          label={flow.noReply}
          checked={filters.no_reply}
          onChange={(event) => setFilters({ no_reply: event.target.checked })}
        />
        <Checkbox
          label={flow.overdue}
          checked={filters.overdue}
          onChange={(event) => setFilters({ overdue: event.target.checked })}
        />
        <Group filters={filters} name="assigned" label={flow.assignee} choices={people} />
        {teams.length > 0 && (
          <Group
            filters={filters}
            name="team"
            label={flow.team}
            choices={[[unassigned, flow.noTeam], ...named(teams)]}
          />
        )}
        <Group filters={filters} name="label" label={flow.labels} choices={named(labels)} />
        <Group filters={filters} name="tag" label={flow.tags} choices={named(tags)} />
        <Group filters={filters} name="channel" label={list.channel} choices={Object.entries(words.channels)} />
        <Group filters={filters} name="connection" label={list.connection} choices={named(connections)} />
        <Fold label={flow.lastMessage} isOpen={filters.days !== '' || filters.after !== '' || filters.before !== ''}>
          <SelectField
            label={flow.period}
            value={filters.days}
            options={[['', flow.anyPeriod], ...Object.entries(flow.periods)]}
            onChange={(event) => setFilters({ days: event.target.value, after: '', before: '' })}
          />
          <InputField
            label={flow.from}
            type="date"
            value={filters.after}
            max={filters.before || undefined}
            onChange={(event) => setFilters({ after: event.target.value, days: '' })}
          />
          <InputField
            label={flow.to}
            type="date"
            value={filters.before}
            min={filters.after || undefined}
            onChange={(event) => setFilters({ before: event.target.value, days: '' })}
          />
        </Fold>
        <SelectField
          label={flow.waiting}
          value={filters.waiting}
          options={[['', flow.anyWait], ...Object.entries(flow.waits)]}
          onChange={(event) => setFilters({ waiting: event.target.value })}
        />
      </div>
      <div className="dialog-foot">
        <Button
          label={flow.clearFilters}
          onClick={() => setFilters({ ...noFilters, status: filters.status, sort: filters.sort })}
        />
        <Button label={flow.done} variant="primary" onClick={onClose} />
      </div>
    </Popover>
  )
}

type GroupProps = {
  filters: Filters
  name: 'assigned' | 'team' | 'label' | 'tag' | 'channel' | 'connection'
  label: string
  choices: Choices
}

/** The values of a filter as check boxes: conversations with one of those checked are listed. */
function Group({ filters, name, label, choices }: GroupProps) {
  const chosen = valuesOf(filters[name])
  if (choices.length === 0) return null
  // A link may name a label or a tag instead of its id.
  const isChosen = ([id, text]: readonly [string, string]) => chosen.includes(id) || text === filters[name]
  const toggle = (choice: readonly [string, string]) => {
    const [id, text] = choice
    setFilters({ [name]: text === filters[name] ? '' : toggleValue(filters[name], id) })
  }
  return (
    <Fold label={label} count={chosen.length} isOpen={chosen.length > 0}>
      <fieldset className="inbox-filter-values">
        <legend className="offscreen">{label}</legend>
        {choices.map((choice) => (
          <Checkbox key={choice[0]} label={choice[1]} checked={isChosen(choice)} onChange={() => toggle(choice)} />
        ))}
      </fieldset>
    </Fold>
  )
}

type FoldProps = { label: string; count?: number; isOpen: boolean; children: ReactNode }

/** `isOpen` at first: a value that is removed does not fold what the member uses. */
function Fold({ label, count = 0, isOpen, children }: FoldProps) {
  const [isOpenAtFirst] = useState(isOpen)
  return (
    <details className="inbox-filter-fold" open={isOpenAtFirst}>
      <summary>
        <Icon name="chevron" />
        {label}
        {count > 0 && <small> {count}</small>}
      </summary>
      {children}
    </details>
  )
}
