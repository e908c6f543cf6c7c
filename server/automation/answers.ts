/**
 * Reads the answer of a customer to a question. Pure.
 *
 * An answer that could mean two things is refused, so that the customer is asked once more, with one exception: 3/4/2026 is 3 April.
 */
import { maxTextLength } from '../channels/template-schema.ts'
import { maxAttributeLength } from '../contacts/attributes.ts'
import { toDomain } from '../lib/email-domain.ts'
import { bareOf, fold, lengthOf, toDigits } from '../lib/text.ts'
import { type Answer, type AskStep, type Message, readSaveAs } from './definition.ts'

export type AnswerResult = { ok: true; value: string | number } | { ok: false }

/** `message`: the question as it was sent, with its texts filled. */
type Question = Pick<AskStep, 'message' | 'answer' | 'save_as'>

/** `text`: of the customer's message, null if it has none. `buttonId`: of the button or row that the customer tapped. */
export function readAnswer(question: Question, text: string | null, buttonId: string | null): AnswerResult {
  const { message, answer, save_as } = question
  const value = readValue(answer, message, text?.trim() ?? '', buttonId)
  if (value === undefined) return { ok: false }
  const max = readSaveAs(save_as).isAttribute ? maxAttributeLength : maxTextLength
  return typeof value === 'string' && lengthOf(value) > max ? { ok: false } : { ok: true, value }
}

function readValue(
  answer: Answer,
  message: Message,
  text: string,
  buttonId: string | null,
): string | number | undefined {
  switch (answer.type) {
    case 'text':
      return text || undefined
    case 'number': {
      const { min = -Infinity, max = Infinity } = answer
      const value = readNumber(text)
      return value !== undefined && value >= min && value <= max ? value : undefined
    }
    case 'email':
      return readEmail(text)
    case 'date':
      return readDate(text)
    case 'choice':
      return readChoice(message, text, buttonId)
  }
}

/** No number that a customer writes is longer. All the patterns below then take constant time. */
const maxNumberLength = 40

/** Whole groups of thousands, all with the same separator, and a decimal mark that is another one. */
const grouped = /^(\d{1,3}(?:([.,' ])\d{3})(?:\2\d{3})*)(?:([.,])(\d+))?$/
const plain = /^(\d*)(?:[.,](\d+))?$/

function readNumber(input: string): number | undefined {
  if (input.length > maxNumberLength) return undefined
  const text = toDigits(input)
    .replace(/[\u2212\u2013]/g, '-')
    .replace(/[\u00a0\u2009\u202f]/g, ' ')
    .replace(/[\u2019\u066c]/g, "'")
    .replaceAll('\u066b', ',')
  const [, sign = '', digits = ''] = /^([+-]?) ?(.*)$/s.exec(text) ?? []
  const value = readGrouped(digits) ?? readPlain(digits)
  if (value === undefined || !Number.isFinite(value)) return undefined
  return sign === '-' && value !== 0 ? -value : value
}

/** Undefined for a number without thousands separators. NaN when the separator could be the decimal mark: 1.234. */
function readGrouped(text: string): number | undefined {
  const [, whole, separator = '', mark, fraction] = grouped.exec(text) ?? []
  // A group does not start with a zero: 0.125 is a decimal.
  if (whole === undefined || whole.startsWith('0') || mark === separator) return undefined
  const groups = whole.split(separator)
  const isAmbiguous = groups.length === 2 && mark === undefined && (separator === '.' || separator === ',')
  return isAmbiguous ? Number.NaN : Number(`${groups.join('')}.${fraction ?? '0'}`)
}

function readPlain(text: string): number | undefined {
  const [, whole = '', fraction = ''] = plain.exec(text) ?? []
  return whole || fraction ? Number(`${whole || '0'}.${fraction || '0'}`) : undefined
}

const maxEmailLength = 254

function readEmail(input: string): string | undefined {
  if (input.length > maxEmailLength + 10) return undefined
  const text = input.replace(/^(?:mailto:|<)+/i, '').replace(/[>.,;!]+$/, '')
  const at = text.lastIndexOf('@')
  const [name, domain] = [text.slice(0, at), text.slice(at + 1)]
  const isName = /^[^\s@<>()[\]\\,;:"]{1,64}$/.test(name) && !/^\.|\.\.|\.$/.test(name)
  return at > 0 && isName && toDomain(domain) && text.length <= maxEmailLength ? text : undefined
}

const isoDate = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$/
const localDate = /^(\d{1,2}) ?([./-]) ?(\d{1,2}) ?\2 ?(\d{4})$/

/** As `YYYY-MM-DD`. The day comes first, unless only the second number with slashes can be one: 12/31/2026. */
function readDate(input: string): string | undefined {
  if (input.length > maxNumberLength) return undefined
  const text = toDigits(bareOf(input))
  const [, isoYear, isoMonth, isoDay] = isoDate.exec(text) ?? []
  if (isoYear) return toDate(Number(isoYear), Number(isoMonth), Number(isoDay))
  const [, first, separator, second, year] = localDate.exec(text) ?? []
  if (!first) return undefined
  const isMonthFirst = separator === '/' && Number(second) > 12
  const [day, month] = isMonthFirst ? [second, first] : [first, second]
  return toDate(Number(year), Number(month), Number(day))
}

/** Undefined for a day that the calendar does not have. */
function toDate(year: number, month: number, day: number): string | undefined {
  const time = new Date(0)
  time.setUTCFullYear(year, month - 1, day)
  const isReal = year > 0 && time.getUTCMonth() === month - 1 && time.getUTCDate() === day
  return isReal ? time.toISOString().slice(0, 10) : undefined
}

/** The id of a button or row: tapped, or typed as its title or its number, from 1. */
function readChoice(message: Message, text: string, buttonId: string | null): string | undefined {
  const choices = listChoices(message)
  if (buttonId !== null) return choices.find(({ id }) => id === buttonId)?.id
  const key = fold(bareOf(text))
  const titled = choices.filter(({ title }) => fold(bareOf(title)) === key && key !== '')
  if (titled.length > 0) return titled.length === 1 ? titled[0]?.id : undefined
  const number = /^\d{1,2}$/.test(toDigits(key)) ? Number(toDigits(key)) : 0
  return choices[number - 1]?.id
}

function listChoices(message: Message): readonly { id: string; title: string }[] {
  if (message.type !== 'interactive') return []
  const { interactive } = message
  if (interactive.kind === 'buttons') return interactive.buttons
  return interactive.kind === 'list' ? interactive.sections.flatMap(({ rows }) => rows) : []
}
