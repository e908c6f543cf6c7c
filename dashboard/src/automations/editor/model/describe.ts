/** Trigger, conditions and steps as lines that read like text. Pure. */
import { describeFilter, type FilterNames } from '../../../segments/describe-filter.ts'
import type { Filter } from '../../../segments/rules.ts'
import { editorWords } from '../../../words/automation-editor.ts'
import { words } from '../../../words/words.ts'
import { fillNames } from '../../references.ts'
import {
  type Definition,
  type Message,
  optionsOf,
  readSaveAs,
  type SetStep,
  type Step,
  type Trigger,
} from './definition.ts'
import { listSteps } from './tree.ts'

const { line: text, types, lists, spans, triggers } = editorWords

/** The names of members, teams, labels, tags and connections, by their ids. */
export type Names = ReadonlyMap<string, string>

/** `verb` is what the step does, `detail` the rest of its line. */
export type Line = { verb: string; detail: string }

const maxLength = 120

export function describeStep(step: Step, names: Names): Line {
  return { verb: types[step.type], detail: shorten(detailOf(step, names)) }
}

export const toText = ({ verb, detail }: Line): string => `${verb} ${detail}`.trim()

function shorten(line: string): string {
  const characters = [...line.replaceAll(/\s+/g, ' ').trim()]
  return characters.length > maxLength ? `${characters.slice(0, maxLength - 1).join('')}…` : characters.join('')
}

function detailOf(step: Step, names: Names): string {
  switch (step.type) {
    case 'send':
      return describeMessage(step.message)
    case 'ask':
      return `${describeMessage(step.message)} ${text.savedAs(readSaveAs(step.save_as).name)}`
    case 'branch':
      return step.cases.map((_, i) => describeCase(step.cases, i)).join(', ')
    case 'wait':
      return step.until === undefined ? describeSpan(step.for ?? '') : text.untilOpening
    case 'set':
      return describeSet(step, names)
    case 'note':
      return quote(step.text)
    case 'call':
      return [step.url || text.empty, step.save_as === undefined ? '' : text.savedAs(readSaveAs(step.save_as).name)]
        .filter(Boolean)
        .join(' ')
    case 'hand_over': {
      const { assigned_agent_id: member, assigned_team_id: team } = step
      const assigned = [
        team && text.toMember(names.get(team) ?? text.team),
        member && text.toMember(names.get(member) ?? text.member),
      ].filter(Boolean)
      const to = assigned.join(', ') || text.toTeam
      return [to, step.note ? text.withNote(fillNames(step.note)) : ''].filter(Boolean).join(' ')
    }
    case 'end':
      return text.end
  }
}

const quote = (value: string): string => text.quoted(value.trim() ? fillNames(value) : text.empty)

function describeMessage(message: Message): string {
  switch (message.type) {
    case 'text':
      return quote(message.text)
    case 'interactive': {
      const { interactive } = message
      const titles = optionsOf(message).map(({ title }) => title || text.empty)
      const taps =
        interactive.kind === 'link' ? text.message.link(interactive.text || text.empty) : text.message.options(titles)
      return `${quote(interactive.body)} ${titles.length > 0 || interactive.kind === 'link' ? taps : ''}`
    }
    case 'template':
      return text.message.template(message.template.name)
    case 'location': {
      const { name, latitude, longitude } = message.location
      return text.message.location(name ?? `${latitude}, ${longitude}`)
    }
    default:
      return [text.message[message.type], message.text ? quote(message.text) : ''].filter(Boolean).join(' ')
  }
}

const describeCase = (cases: readonly { name?: string }[], index: number): string =>
  cases[index]?.name || lists.caseNumber(index + 1)

/** `2h` as "2 hours". */
function describeSpan(duration: string): string {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(duration) ?? []
  return (count && spans[unit]?.(Number(count))) || text.empty
}

function describeSet(step: SetStep, names: Names): string {
  const nameOf = (id: string) => names.get(id) ?? id
  const { status, assigned_agent_id: member, assigned_team_id: team, snooze_for: snooze } = step
  const parts = [
    step.add_labels?.length && text.addLabels(step.add_labels.map(nameOf)),
    step.remove_labels?.length && text.removeLabels(step.remove_labels.map(nameOf)),
    step.add_tags?.length && text.addTags(step.add_tags.map(nameOf)),
    step.remove_tags?.length && text.removeTags(step.remove_tags.map(nameOf)),
    status && text.status(words.statuses[status as keyof typeof words.statuses] ?? status),
    member === null && text.unassign,
    member && text.assign(names.get(member) ?? text.member),
    team === null && text.leaveTeam,
    team && text.assignTeam(names.get(team) ?? text.team),
    snooze && text.snooze(describeSpan(snooze)),
    ...Object.entries(step.attributes ?? {}).map(([name, value]) =>
      value === null ? text.removeAttribute(name) : text.attribute(name, fillNames(String(value))),
    ),
  ].filter(Boolean)
  return parts.length > 0 ? parts.join(', ') : text.nothing
}

/** The heading of a list within a step. */
export function describeList(step: Step, name: string): string {
  const [, index] = /^cases\[(\d+)\]/.exec(name) ?? []
  if (step.type === 'branch' && index !== undefined) return lists.case(describeCase(step.cases, Number(index)))
  if (step.type === 'ask' && name === 'timeout.steps') return lists.timeout(describeSpan(step.timeout?.after ?? ''))
  return name === 'otherwise' ? lists.otherwise : lists.on_error
}

export function describeTrigger(trigger: Trigger): string {
  switch (trigger.type) {
    case 'message': {
      const { when = 'any', contains = [], button, content_types: types = [] } = trigger
      const start =
        when === 'first'
          ? triggers.first
          : when === 'first_since_closed'
            ? triggers.first_since_closed
            : triggers.message
      return [
        start,
        contains.length > 0 && triggers.contains(contains),
        button !== undefined && triggers.button(button),
        types.length > 0 && triggers.contentTypes(types.map((type) => words.segments.contentTypes[type] ?? type)),
      ]
        .filter(Boolean)
        .join(' ')
    }
    case 'silence': {
      const span = describeSpan(trigger.after)
      if (trigger.event === 'no_reply') return triggers.no_reply(span)
      return trigger.event === 'window_ends' ? triggers.window_ends(span) : triggers.waiting(span)
    }
    case 'target':
      return trigger.event === 'due' ? triggers.due(describeSpan(trigger.before ?? '')) : triggers.breached
    case 'conversation':
      if (trigger.event === 'label_added') return triggers.label_added(trigger.label ?? '')
      if (trigger.event === 'label_removed') return triggers.label_removed(trigger.label ?? '')
      return trigger.event === 'closed'
        ? triggers.closed
        : trigger.event === 'assigned'
          ? triggers.assigned
          : triggers.opened
    case 'contact':
      if (trigger.event === 'tag_added') return triggers.tag_added(trigger.tag ?? '')
      if (trigger.event === 'tag_removed') return triggers.tag_removed(trigger.tag ?? '')
      if (trigger.event === 'attribute_changed') return triggers.attribute_changed(trigger.attribute ?? '')
      return triggers.created
    case 'rating':
      return triggers.rating(trigger.at_most)
    case 'manual':
      return triggers.manual
  }
}

/** Conditions as text: values of choices as their titles, members, teams, labels and tags as their names. */
export function describeConditions(filter: Filter, names: Names, definition: Pick<Definition, 'steps'>): string {
  const titles = new Map<string, string>(
    listSteps(definition).flatMap(({ step }) =>
      step.type === 'ask'
        ? optionsOf(step.message).map(
            (each) => [`answers.${readSaveAs(step.save_as).name} ${each.id}`, each.title] as const,
          )
        : [],
    ),
  )
  const described: FilterNames = {
    byId: names,
    field: (field) =>
      field.startsWith('answers.') ? field.slice('answers.'.length) : editorWords.conditionFields[field],
    value: (field, value) => titles.get(`${field} ${value}`) ?? describeValue(field, value, names),
  }
  return describeFilter(filter, described)
}

function describeValue(field: string, value: string, names: Names): string | undefined {
  if (field === 'status') return words.statuses[value as keyof typeof words.statuses]
  if (field === 'hours') return words.segments.hours[value]
  if (field === 'message.type') return words.segments.contentTypes[value]
  return ['label', 'assignee', 'team'].includes(field) ? names.get(value) : undefined
}
