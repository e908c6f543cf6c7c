/** The period, the interval, office hours and the filters of a report. They are in the URL. */
import { Button, Select, Switch } from '../../../ui/controls.tsx'
import { useCall } from '../lib/api.ts'
import { describeConnection, useConnections } from '../lib/connections.ts'
import { memberName } from '../lib/people.ts'
import { reportWords } from '../words/reports.ts'
import {
  type FilterName,
  hasIntervals,
  hasOfficeHours,
  intervals,
  type Period,
  periods,
  type ReportKey,
  type ReportRequest,
  setSearch,
} from './request.ts'

const { controls: text } = reportWords

type ControlsProps = {
  report: ReportKey
  request: ReportRequest
  /** The days that the page shows. */
  shown: { from_day: string; to_day: string } | undefined
}

export function Controls({ report, request, shown }: ControlsProps) {
  const { period, days, interval, isInOfficeHours, offered, filters } = request
  const choosePeriod = (value: Period) => {
    if (value !== 'own') return setSearch({ period: value === '30' ? '' : value, from: '', to: '' })
    const { from, to } = days ?? { from: shown?.from_day ?? '', to: shown?.to_day ?? '' }
    if (from && to) setSearch({ period: value, from, to })
  }
  const isFiltered = Object.keys(filters).length > 0
  const isAnyBlocked = offered.some((name) => !request.canAdd(name))
  return (
    <search className="row toolbar reports-controls" aria-label={text.label}>
      <Select
        aria-label={text.period}
        value={period}
        options={periods.map((each) => [each, text.periods[each]] as const)}
        onChange={({ target }) => choosePeriod(target.value as Period)}
      />
      {period === 'own' && days && (
        <>
          <DayInput label={text.from} value={days.from} onChange={(from) => setSearch({ from })} />
          <DayInput label={text.to} value={days.to} onChange={(to) => setSearch({ to })} />
        </>
      )}
      {hasIntervals(report) && (
        <Select
          aria-label={text.interval}
          value={interval}
          options={intervals.map((each) => [each, text.by[each]] as const)}
          onChange={({ target }) => setSearch({ interval: target.value })}
        />
      )}
      {offered.map((name) => (
        <Filter key={name} name={name} report={report} request={request} />
      ))}
      {hasOfficeHours(report) && (
        <span className="reports-office" title={text.officeHoursHint}>
          <Switch
            label={text.officeHours}
            checked={isInOfficeHours}
            onChange={({ target }) => setSearch({ office: target.checked ? 'true' : '' })}
          />
        </span>
      )}
      {isFiltered && (
        <Button
          label={text.clear}
          variant="quiet"
          icon="close"
          onClick={() => setSearch(Object.fromEntries(Object.keys(filters).map((name) => [name, ''])))}
        />
      )}
      {isAnyBlocked && <p className="soft small reports-blocked">{text.blocked}</p>}
    </search>
  )
}

type DayInputProps = { label: string; value: string; onChange: (day: string) => void }

/** While a part of the date is missing, the former day stays. */
const DayInput = ({ label, value, onChange }: DayInputProps) => (
  <input
    type="date"
    className="input"
    aria-label={label}
    required
    defaultValue={value}
    onChange={({ target }) => target.value && onChange(target.value)}
  />
)

type FilterProps = { name: FilterName; report: ReportKey; request: ReportRequest }

function Filter({ name, report, request }: FilterProps) {
  const options = useOptions(name)
  const value = request.filters[name] ?? ''
  const isBlocked = !request.canAdd(name)
  // An id of the URL that is not known any more stays chosen.
  const isKnown = value === '' || options.some(([id]) => id === value)
  if (options.length === 0 && value === '') return null
  return (
    <Select
      aria-label={text.filters[name]}
      value={value}
      disabled={isBlocked}
      options={[
        ['', isBlocked ? text.filters[name] : text.all[name]],
        ...options,
        ...(name in text.none && report !== 'availability'
          ? [['none', text.none[name as keyof typeof text.none]] as const]
          : []),
        ...(isKnown || value === 'none' ? [] : [[value, text.gone[name]] as const]),
      ]}
      onChange={({ target }) => setSearch({ [name]: target.value })}
    />
  )
}

/** The values of a filter. With at most one connection there is nothing to choose. */
function useOptions(name: FilterName): (readonly [id: string, label: string])[] {
  const members = useCall('GET /members', {}, { enabled: name === 'member' }).data ?? []
  const teams = useCall('GET /teams', {}, { enabled: name === 'team' }).data ?? []
  const labels = useCall('GET /labels', {}, { enabled: name === 'label' }).data ?? []
  const targets = useCall('GET /targets', {}, { enabled: name === 'target' }).data ?? []
  const connections = useConnections()
  switch (name) {
    case 'member':
      return members
        .filter(({ state }) => state === 'active')
        .map((member) => [member.id, memberName(member)] as const)
        .toSorted(([, one], [, other]) => one.localeCompare(other))
    case 'team':
      return teams.map((team) => [team.id, team.name])
    case 'target':
      return targets.map((target) => [target.id, target.name])
    case 'label':
      return labels.map((label) => [label.id, label.name])
    case 'connection':
      return connections.length > 1 ? connections.map((each) => [each.id, describeConnection(each)]) : []
  }
}
