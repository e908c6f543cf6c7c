/** The teams and connections that use a schedule. Choosing one that uses another schedule takes it over. */
import { Checkbox } from '../../../ui/controls.tsx'
import { useCall } from '../lib/api.ts'
import { describeConnection, useConnections } from '../lib/connections.ts'
import { settingsWords } from '../words/settings.ts'
import type { Draft, StoredSchedule } from './hours-text.ts'

const { hours: text } = settingsWords

type Props = {
  draft: Draft
  stored: StoredSchedule | undefined
  all: readonly StoredSchedule[]
  onChange: (changes: Partial<Draft>) => void
}

export function ScheduleUses({ draft, stored, all, onChange }: Props) {
  const teams = useCall('GET /teams', {}).data ?? []
  const connections = useConnections().map((one) => ({ id: one.id, name: describeConnection(one) }))
  const others = all.filter(({ id }) => id !== stored?.id)
  return (
    <div className="stack">
      <p className="soft">{text.usesHint}</p>
      <div className="hours-uses">
        <Choices
          label={text.teams}
          none={text.noTeams}
          items={teams}
          chosen={draft.team_ids}
          otherOf={(id) => others.find(({ team_ids }) => team_ids.includes(id))?.name}
          onChange={(team_ids) => onChange({ team_ids })}
        />
        <Choices
          label={text.connections}
          none={text.noConnections}
          items={connections}
          chosen={draft.connection_ids}
          otherOf={(id) => others.find(({ connection_ids }) => connection_ids.includes(id))?.name}
          onChange={(connection_ids) => onChange({ connection_ids })}
        />
      </div>
    </div>
  )
}

type ChoicesProps = {
  label: string
  none: string
  items: readonly { id: string; name: string }[]
  chosen: readonly string[]
  /** The name of the schedule that an item uses now. */
  otherOf: (id: string) => string | undefined
  onChange: (chosen: string[]) => void
}

function Choices({ label, none, items, chosen, otherOf, onChange }: ChoicesProps) {
  return (
    <fieldset className="stack">
      <legend className="label">{label}</legend>
      {items.length === 0 && <p className="soft small">{none}</p>}
      {items.map(({ id, name }) => {
        const other = otherOf(id)
        return (
          <Checkbox
            key={id}
            label={<span dir="auto">{name}</span>}
            hint={other && text.usesOther(other)}
            checked={chosen.includes(id)}
            onChange={({ target }) => onChange(target.checked ? [...chosen, id] : chosen.filter((one) => one !== id))}
          />
        )
      })}
    </fieldset>
  )
}
