/**
 * Which passwords members may choose.
 *
 * An attacker tries the common ones first, so length alone is not enough. `common-passwords.txt` is a list of our own: words that
 * people choose in several languages. A password is refused if it is one of them in any spelling (case, `p4$$w0rd`, digits and
 * signs before or after it, repeated), a run of the keyboard or the alphabet, digits only, or a name that the attacker knows:
 * the e-mail, the member or the workspace. There are no rules about kinds of characters, which lead to predictable choices.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { badRequest } from '../../lib/errors.ts'
import { fold, lengthOf } from '../../lib/text.ts'

/** What an attacker knows of the member. */
export type PasswordOwner = { email: string; name?: string | null | undefined; workspaceName: string }

const common = new Set(
  readFileSync(join(import.meta.dirname, 'common-passwords.txt'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map(fold),
)

const runs = [
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  'qwertzuiop',
  'azertyuiop',
  '1234567890',
]

/** Characters that people write instead of letters. */
const lookalikes: Record<string, string> = {
  0: 'o',
  1: 'i',
  3: 'e',
  4: 'a',
  5: 's',
  7: 't',
  '@': 'a',
  $: 's',
  '!': 'i',
}

/** Throws unless a member may have this password. */
export function requirePassword(password: string, owner: PasswordOwner, field = 'password'): void {
  const length = lengthOf(password)
  if (length < 8 || length > 200) throw badRequest(`${field}: must have 8 to 200 characters`)
  if (isCommon(password)) throw badRequest(`${field}: too common; choose one that is harder to guess`)
  if (isNameOf(password, owner)) {
    throw badRequest(`${field}: must not be your email, your name or the name of the workspace`)
  }
}

function isCommon(password: string): boolean {
  const folded = fold(password).replace(/\s/g, '')
  return (
    /^[\d./-]+$/.test(folded) ||
    isRun(unitOf(folded)) ||
    wordsIn(folded).some((word) => common.has(word) || isRun(word))
  )
}

function isNameOf(password: string, { email, name, workspaceName }: PasswordOwner): boolean {
  const [local = ''] = email.split('@')
  const known = new Set([email, local, name ?? '', workspaceName].map(lettersOf).filter(Boolean))
  return wordsIn(fold(password)).some((word) => known.has(lettersOf(word)))
}

/** More characters around a word than this are hard to guess, unless they are a run such as 123456789. */
const maxAround = 6

/**
 * The word that the text consists of apart from digits and signs around it: as written, with letters for lookalikes, and with
 * letters for lookalikes only inside (`pa55word1!`). Once if it is repeated.
 */
function wordsIn(folded: string): string[] {
  const trimmed = trimOf(folded)
  return [trimmed, trimOf(toLetters(folded)), toLetters(trimmed)].flatMap((word) => {
    const around = folded.slice(folded.indexOf(trimmed) + trimmed.length)
    const isLong = folded.length - word.length > maxAround
    return isLong && !(folded.startsWith(trimmed) && isRun(around)) ? [] : [unitOf(word)]
  })
}

const toLetters = (text: string): string => text.replace(/[013457@$!]/g, (character) => lookalikes[character] ?? '')

/** Without digits and signs at both ends. */
const trimOf = (text: string): string => text.replace(/^[^\p{L}]+/u, '').replace(/[^\p{L}]+$/u, '')

/** Letters only. */
const lettersOf = (text: string): string => fold(text).replace(/[^\p{L}]/gu, '')

/** The shortest text whose repetition is `text`: `ab` of `abab`. */
const unitOf = (text: string): string => /^(.+?)\1+$/su.exec(text)?.[1] ?? text

/** A part of a row of the keyboard or of the alphabet in either direction, or a single character. */
function isRun(text: string): boolean {
  const backwards = [...text].reverse().join('')
  return [...text].length === 1 || runs.some((run) => run.includes(text) || run.includes(backwards))
}
