/** The fields of conditions: those of the service, with one per answer that is known at the step. Pure. */
import type { Fields, FieldView } from '../../../segments/rules.ts'
import { editorWords as text } from '../../../words/automation-editor.ts'
import type { Answer } from './answers.ts'

/** Those that conditions compare most, in this order. The others follow. */
const firstFields = [
  'message.text',
  'label',
  'tag',
  'status',
  'assignee',
  'team',
  'hours',
  'attributes.NAME',
  'channel',
  'connection',
]

const choiceOps = ['is', 'is_not', 'is_set', 'is_not_set']

/** `hasMessage`: whether a message starts the automation. Only then conditions at the start can compare it. */
export function fieldsFor(fields: Fields, answers: readonly Answer[], hasMessage: boolean): FieldView[] {
  const ops = fields.find(({ field }) => field === 'answers.NAME')?.ops ?? []
  const ofAnswers = answers.map(({ name, kind, options }): FieldView => {
    if (kind === 'object') return { field: `answers.${name}.PATH`, label: text.answerPath(name), ops }
    const view = { field: `answers.${name}`, label: text.answer(name), ops }
    if (kind !== 'choice') return view
    const choices = options.map(({ id, title }) => [id, title || id] as const)
    return { ...view, ops: ops.filter(({ op }) => choiceOps.includes(op)), choices }
  })
  const rankOf = ({ field }: FieldView) => {
    const rank = firstFields.indexOf(field)
    return rank === -1 ? firstFields.length : rank
  }
  const others = fields
    .filter(({ field }) => !field.startsWith('answers.') && (hasMessage || !field.startsWith('message.')))
    .toSorted((one, other) => rankOf(one) - rankOf(other))
    .map((view) => {
      const label = text.conditionFields[view.field]
      return label === undefined ? view : { ...view, label }
    })
  return [...ofAnswers, ...others]
}
