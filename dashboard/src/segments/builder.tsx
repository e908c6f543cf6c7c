/** Rules, one a line, and below them how many people they mean at this moment. */
import { messageOf, useCall } from '../lib/api.ts'
import { nameOf } from '../lib/people.ts'
import { useStill } from '../lib/use.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { Segmented, Select } from '../ui/form.tsx'
import { Avatar } from '../ui/show.tsx'
import { words } from '../words/words.ts'
import {
  completeFilter,
  type Fields,
  type Filter,
  firstRule,
  opsOf,
  type Rule,
  valueKindOf,
  withField,
} from './rules.ts'
import { useCount } from './use-count.ts'
import { ValueInput } from './value-input.tsx'

const { segments } = words
const { builder } = segments

type BuilderProps = { fields: Fields; filter: Filter; onChange: (filter: Filter) => void }

export function Builder({ fields, filter, onChange }: BuilderProps) {
  const setRule = (place: number, rule: Rule) =>
    onChange({ ...filter, rules: filter.rules.map((other, at) => (at === place ? rule : other)) })
  return (
    <div className="stack">
      <div className="row">
        <span>{builder.match}</span>
        <Segmented
          label={builder.match}
          value={filter.match}
          options={[
            { value: 'all', label: builder.all },
            { value: 'any', label: builder.any },
          ]}
          onChange={(match) => onChange({ ...filter, match })}
        />
      </div>
      <ol className="segments-rules">
        {filter.rules.map((rule, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a rule is its place.
          <li key={place}>
            <RuleLine
              fields={fields}
              rule={rule}
              place={place + 1}
              onChange={(changed) => setRule(place, changed)}
              onRemove={
                filter.rules.length > 1
                  ? () => onChange({ ...filter, rules: filter.rules.filter((_, at) => at !== place) })
                  : undefined
              }
            />
          </li>
        ))}
      </ol>
      <div>
        <Button
          icon="plus"
          size="small"
          disabled={filter.rules.length >= 50}
          onClick={() => onChange({ ...filter, rules: [...filter.rules, firstRule(fields)] })}
        >
          {builder.add}
        </Button>
      </div>
      <Count fields={fields} filter={filter} />
    </div>
  )
}

type RuleLineProps = {
  fields: Fields
  rule: Rule
  place: number
  onChange: (rule: Rule) => void
  onRemove: (() => void) | undefined
}

function RuleLine({ fields, rule, place, onChange, onRemove }: RuleLineProps) {
  return (
    <fieldset className="segments-rule">
      <legend className="offscreen">{builder.rule(place)}</legend>
      <Select
        aria-label={builder.field}
        value={rule.field}
        onChange={(event) => onChange(withField(fields, rule, event.target.value))}
      >
        {fields.map(({ field }) => (
          <option key={field} value={field}>
            {segments.fields[field] ?? field}
          </option>
        ))}
      </Select>
      <Select
        aria-label={builder.op}
        value={rule.op}
        onChange={(event) => onChange({ ...rule, op: event.target.value })}
      >
        {opsOf(fields, rule.field).map(({ op }) => (
          <option key={op} value={op}>
            {segments.ops[op] ?? op}
          </option>
        ))}
      </Select>
      <ValueInput
        kind={valueKindOf(fields, rule)}
        value={rule.value ?? ''}
        onChange={(value) => onChange({ ...rule, value })}
      />
      {onRemove && <IconButton icon="close" size="small" label={builder.remove(place)} onClick={onRemove} />}
    </fieldset>
  )
}

function Count({ fields, filter }: { fields: Fields; filter: Filter }) {
  const complete = completeFilter(fields, filter)
  const still = useStill(complete ? JSON.stringify(complete) : '', 350)
  const counted = useCount(still)
  return (
    <div className="segments-count" role="status" aria-live="polite" aria-busy={counted.isFetching}>
      {!complete ? (
        <span className="soft">{builder.complete}</span>
      ) : counted.error ? (
        <span className="segments-fault">{messageOf(counted.error)}</span>
      ) : counted.data ? (
        <>
          <strong>{builder.count(counted.data.count)}</strong>
          {counted.data.sample.length > 0 && (
            <span className="segments-sample">
              <span className="soft small">{builder.sample}</span>
              {counted.data.sample.map((contact) => (
                <span key={contact.id} className="segments-person">
                  <Avatar name={nameOf(contact)} size="small" />
                  <span className="cut">{nameOf(contact)}</span>
                </span>
              ))}
            </span>
          )}
        </>
      ) : (
        <span className="soft">{builder.counting}</span>
      )}
    </div>
  )
}

/** The fields a rule can be about, which never change while the service runs. */
export const useFields = () => useCall('GET /segments/fields', {})
