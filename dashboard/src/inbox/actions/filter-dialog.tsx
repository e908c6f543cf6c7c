/** The filters that have no button of their own: assignee, label, channel and waiting time. Each change applies at once. */
import { Button, SelectField } from '../../../../ui/controls.tsx'
import { Dialog } from '../../../../ui/overlays.tsx'
import { useCall } from '../../lib/api.ts'
import { memberName } from '../../lib/people.ts'
import { words } from '../../words/words.ts'
import { type Filters, noFilters, setFilters, unassigned, useFilters } from '../model/filters.ts'

const { list, flow } = words.inbox

export default function FilterDialog({ onClose }: { onClose: () => void }) {
  const { filters } = useFilters()
  const members = (useCall('GET /members', {}).data ?? []).filter(({ state }) => state === 'active')
  const labels = useCall('GET /labels', {}).data ?? []
  const isNamed = labels.some(({ id, name }) => filters.label === id || filters.label === name)
  return (
    <Dialog title={flow.filters} onClose={onClose}>
      <div className="inbox-filter-form">
        <SelectField
          label={flow.assignee}
          value={filters.assigned}
          options={[
            ['', flow.anyAssignee],
            ['me', list.mine],
            [unassigned, list.unassigned],
            ...members.map((member) => [member.id, memberName(member)] as const),
          ]}
          onChange={(event) => setFilters({ assigned: event.target.value })}
        />
        <SelectField
          label={flow.label}
          value={filters.label}
          options={[
            ['', flow.anyLabel],
            ...(filters.label && !isNamed ? [[filters.label, filters.label] as const] : []),
            ...labels.map(({ id, name }) => [filters.label === name ? name : id, name] as const),
          ]}
          onChange={(event) => setFilters({ label: event.target.value })}
        />
        <SelectField
          label={list.channel}
          value={filters.channel}
          options={[['', list.anyChannel], ...Object.entries(words.channels)]}
          onChange={(event) => setFilters({ channel: event.target.value as Filters['channel'] })}
        />
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
    </Dialog>
  )
}
