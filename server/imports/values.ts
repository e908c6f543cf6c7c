/** Values of cells: yes and no in several languages, and numbers. */
import { fold } from '../lib/text.ts'

const yes = new Set([
  'true',
  'yes',
  'y',
  '1',
  'x',
  'on',
  'ja',
  'j',
  'si',
  'sí',
  's',
  'oui',
  'o',
  'sim',
  'да',
  '是',
  'はい',
])
const no = new Set(['false', 'no', 'n', '0', 'off', 'nein', 'non', 'não', 'nao', 'нет', '否', 'いいえ'])
const longest = 10

/** Undefined for any other text. */
export function readBoolean(text: string): boolean | undefined {
  if (text.length > longest) return undefined
  const word = fold(text)
  if (yes.has(word)) return true
  return no.has(word) ? false : undefined
}

/**
 * A number with a decimal point. With `hasDecimalComma` a comma is accepted too. Separators of thousands are refused: 1,234 has two
 * readings.
 */
export function readNumber(text: string, hasDecimalComma: boolean): number | undefined {
  const plain = hasDecimalComma ? text.replace(',', '.') : text
  if (!/^[+-]?\d{1,30}(\.\d{1,30})?$/.test(plain)) return undefined
  return Number(plain)
}

/** Whether a text is a number that stays the same when it is stored as one: not a postal code, a phone or an account number. */
export const isPlainNumber = (text: string): boolean => /^-?(0|[1-9]\d{0,14})([.,]\d{1,10})?$/.test(text)
