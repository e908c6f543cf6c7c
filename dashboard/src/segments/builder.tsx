/** Edits a filter: one line per rule, one box per group, and below them how many contacts match now. */
import './builder.css'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Button, IconButton, Input, SegmentedControl, Select } from '../../../ui/controls.tsx'
import { Avatar } from '../../../ui/display.tsx'
import { call, describeError, useCall } from '../lib/api.ts'
import { useDebounced } from '../lib/hooks.ts'
import { nameOf } from '../lib/people.ts'
import { words } from '../words/words.ts'
import {
  completeFilter,
  type Fields,
  type FieldView,
  type Filter,
  firstRule,
  type Group,
  isGroup,
  listedField,
  nameIn,
  opsOf,
  type Rule,
  valueKindOf,
  withField,
  withName,
} from './rules.ts'
import { ValueInput } from './value-input.tsx'

const { segments } = words
const { builder } = segments

type FilterBuilderProps = { fields: Fields; filter: Filter; onChange: (filter: Filter) => void }

const maxRules = 50

export function FilterBuilder({ fields, filter, onChange }: FilterBuilderProps) {
  return (
    <div className="stack">
      <FilterRules label={builder.match} fields={fields} filter={filter} onChange={onChange} />
      <MatchCount fields={fields} filter={filter} />
    </div>
  )
}

/** The rules without the number of contacts. `label`: before the choice between all and any of them. */
export function FilterRules({ label, fields, filter, onChange }: FilterBuilderProps & { label: string }) {
  return (
    <>
      <MatchMode filter={filter} label={label} onChange={onChange} />
      <RuleList
        items={filter.rules}
        onChange={(rules) => onChange({ ...filter, rules })}
        render={(rule, { name, change, remove }) =>
          isGroup(rule) ? (
            <GroupBox fields={fields} group={rule} name={name} onChange={change} onRemove={remove} />
          ) : (
            <RuleLine fields={fields} rule={rule} name={name} onChange={change} onRemove={remove} />
          )
        }
        add={[
          { label: builder.add, create: () => firstRule(fields) },
          { label: builder.addGroup, create: (): Group => ({ match: 'any', rules: [firstRule(fields)] }) },
        ]}
      />
    </>
  )
}

type GroupBoxProps = {
  fields: Fields
  group: Group
  name: string
  onChange: (group: Group) => void
  onRemove: (() => void) | undefined
}

/** Rules that count as one rule of the filter. */
function GroupBox({ fields, group, name, onChange, onRemove }: GroupBoxProps) {
  return (
    <fieldset className="stack segments-group">
      <legend className="offscreen">{builder.group(name)}</legend>
      <div className="row">
        <MatchMode filter={group} label={builder.match} name={builder.group(name)} onChange={onChange} />
        {onRemove && <IconButton icon="close" label={builder.removeGroup(name)} onClick={onRemove} />}
      </div>
      <RuleList
        prefix={`${name}.`}
        items={group.rules}
        onChange={(rules) => onChange({ ...group, rules })}
        render={(rule, { name, change, remove }) => (
          <RuleLine fields={fields} rule={rule} name={name} onChange={change} onRemove={remove} />
        )}
        add={[{ label: builder.add, create: () => firstRule(fields) }]}
      />
    </fieldset>
  )
}

type MatchProps<Rules extends Group | Filter> = {
  filter: Rules
  label: string
  /** For screen readers, by default the label. */
  name?: string
  onChange: (filter: Rules) => void
}

function MatchMode<Rules extends Group | Filter>({ filter, label, name = label, onChange }: MatchProps<Rules>) {
  return (
    <div className="row grow">
      <span>{label}</span>
      <SegmentedControl
        label={name}
        value={filter.match}
        options={[
          { value: 'all', label: builder.all },
          { value: 'any', label: builder.any },
        ]}
        onChange={(match) => onChange({ ...filter, match })}
      />
    </div>
  )
}

type ItemControls<Item> = { name: string; change: (item: Item) => void; remove: (() => void) | undefined }
type RuleListProps<Item> = {
  /** Prefix of the rule number inside a group: `2.` in rule 2.1. */
  prefix?: string
  items: readonly Item[]
  onChange: (items: Item[]) => void
  render: (item: Item, controls: ItemControls<Item>) => ReactNode
  add: readonly { label: string; create: () => Item }[]
}

function RuleList<Item>({ prefix = '', items, onChange, render, add }: RuleListProps<Item>) {
  const controlsOf = (position: number): ItemControls<Item> => ({
    name: `${prefix}${position + 1}`,
    change: (changed) => onChange(items.map((item, at) => (at === position ? changed : item))),
    remove: items.length > 1 ? () => onChange(items.filter((_, at) => at !== position)) : undefined,
  })
  return (
    <>
      <ol className="stack stack-tight segments-rules">
        {items.map((item, position) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a rule has no identity but its position.
          <li key={position}>{render(item, controlsOf(position))}</li>
        ))}
      </ol>
      <div className="row">
        {add.map(({ label, create }) => (
          <Button
            label={label}
            key={label}
            icon="plus"
            size="small"
            disabled={items.length >= maxRules}
            onClick={() => onChange([...items, create()])}
          />
        ))}
      </div>
    </>
  )
}

/** What is typed as the name of an attribute (`builder.attributeRule`), or as the path of a value. */
const toName = (typed: string, isPath: boolean): string =>
  isPath
    ? typed.replaceAll(/[^\w.-]/g, '_')
    : typed
        .toLowerCase()
        .replaceAll(/[^a-z0-9_]/g, '_')
        .replace(/^[^a-z]+/, '')

const labelOf = ({ field, label }: FieldView): string => label ?? segments.fields[field] ?? field

type RuleLineProps = {
  fields: Fields
  rule: Rule
  name: string
  onChange: (rule: Rule) => void
  onRemove: (() => void) | undefined
}

function RuleLine({ fields, rule, name, onChange, onRemove }: RuleLineProps) {
  const listed = listedField(fields, rule.field)
  const typed = nameIn(fields, rule.field)
  const isPath = listed?.field.endsWith('.PATH') ?? false
  const label = isPath ? builder.path : builder.attribute
  return (
    <fieldset className={typed === undefined ? 'segments-rule' : 'segments-rule segments-rule-attribute'}>
      <legend className="offscreen">{builder.rule(name)}</legend>
      <Select
        aria-label={builder.field}
        value={listed?.field ?? rule.field}
        options={fields.map((each) => [each.field, labelOf(each)])}
        onChange={(event) => onChange(withField(fields, rule, event.target.value))}
      >
        {!listed && <option value={rule.field}>{rule.field}</option>}
      </Select>
      {typed !== undefined && (
        <Input
          aria-label={label}
          placeholder={label}
          value={typed}
          maxLength={40}
          title={isPath ? builder.pathRule : builder.attributeRule}
          onChange={({ target }) =>
            onChange({ ...rule, field: withName(fields, rule.field, toName(target.value, isPath)) })
          }
        />
      )}
      <Select
        aria-label={builder.op}
        value={rule.op}
        options={opsOf(fields, rule.field).map(({ op }) => [op, segments.ops[op] ?? op])}
        onChange={(event) => onChange({ ...rule, op: event.target.value })}
      />
      <ValueInput
        kind={valueKindOf(fields, rule)}
        choices={choicesOf(listed, rule.op)}
        value={rule.value ?? ''}
        onChange={(value) => onChange({ ...rule, value })}
      />
      {onRemove && <IconButton icon="close" label={builder.remove(name)} onClick={onRemove} />}
    </fieldset>
  )
}

/** The values of a field that has only these, for the conditions that compare with a whole value. */
const choicesOf = (field: FieldView | undefined, op: string): FieldView['choices'] =>
  op === 'is' || op === 'is_not' ? field?.choices : undefined

function MatchCount({ fields, filter }: { fields: Fields; filter: Filter }) {
  const complete = completeFilter(fields, filter)
  const settledFilter = useDebounced(complete ? JSON.stringify(complete) : '', 350)
  const count = useCount(settledFilter)
  return (
    <div className="row segments-count" role="status" aria-live="polite" aria-busy={count.isFetching}>
      {!complete ? (
        <span className="soft">{builder.complete}</span>
      ) : count.error ? (
        <span className="segments-error">{describeError(count.error)}</span>
      ) : count.data ? (
        <>
          <strong>{builder.count(count.data.count)}</strong>
          {count.data.sample.length > 0 && (
            <span className="row segments-sample">
              <span className="soft small">{builder.sample}</span>
              {count.data.sample.map((contact) => (
                <span key={contact.id} className="line segments-person small">
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

/** The fields a rule can use. They do not change while the service runs. */
export const useFields = () => useCall('GET /segments/fields', {})

/** The number of contacts that match a filter, cached by its JSON. The previous result stays while the next one loads. */
function useCount(filterText: string) {
  return useQuery({
    queryKey: ['POST /segments/count', filterText],
    queryFn: async ({ signal }) => {
      const { data } = await call('POST /segments/count', { body: { filter: JSON.parse(filterText) } }, signal)
      return data
    },
    enabled: filterText !== '',
    placeholderData: keepPreviousData,
    staleTime: 10_000,
  })
}
