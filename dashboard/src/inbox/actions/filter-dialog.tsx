/** The filters that have no button of their own: assignee, label, channel and waiting time. Each change applies at once. */
import { Button, Field, Select } from '../../../../ui/controls.tsx'
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
        <Field label={flow.assignee}>
          {(wiring) => (
            <Select
              {...wiring}
              value={filters.assigned}
              onChange={(event) => setFilters({ assigned: event.target.value })}
            >
              <option value="">{flow.anyAssignee}</option>
              <option value="me">{list.mine}</option>
              <option value={unassigned}>{list.unassigned}</option>
              {members.map((member) => (
                <option key={member.id} value={member.id}>
                  {memberName(member)}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label={flow.label}>
          {(wiring) => (
            <Select {...wiring} value={filters.label} onChange={(event) => setFilters({ label: event.target.value })}>
              <option value="">{flow.anyLabel}</option>
              {filters.label && !isNamed && <option value={filters.label}>{filters.label}</option>}
              {labels.map(({ id, name }) => (
                <option key={id} value={filters.label === name ? name : id}>
                  {name}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label={list.channel}>
          {(wiring) => (
            <Select
              {...wiring}
              value={filters.channel}
              onChange={(event) => setFilters({ channel: event.target.value as Filters['channel'] })}
            >
              <option value="">{list.anyChannel}</option>
              {(['msgapp', 'social', 'web'] as const).map((channel) => (
                <option key={channel} value={channel}>
                  {words.channels[channel]}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label={flow.waiting}>
          {(wiring) => (
            <Select
              {...wiring}
              value={filters.waiting}
              onChange={(event) => setFilters({ waiting: event.target.value })}
            >
              <option value="">{flow.anyWait}</option>
              {Object.entries(flow.waits).map(([minutes, label]) => (
                <option key={minutes} value={minutes}>
                  {label}
                </option>
              ))}
            </Select>
          )}
        </Field>
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
