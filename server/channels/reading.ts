/**
 * Reads values of a provider's JSON: any value in, plain values out.
 *
 * No function throws. A value of the wrong type becomes `undefined` or null. Returned text can be stored: it has no NUL, no
 * lone surrogate, and a limited length.
 */
import { createHash } from 'node:crypto'
import { nowMs } from '../lib/clock.ts'
import { isStorable } from '../lib/text.ts'
import type { Person, Report } from './channel.ts'

export type Json = Record<string, unknown>

const maxText = 65_536
export const maxName = 500
const maxId = 512
const maxContent = 256 * 1024
const maxDepth = 32

export function recordOf(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
}

export function recordsOf(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(recordOf).filter((item) => item !== undefined) : []
}

/** Storable text of at most `max` code units, cut at a character boundary; null when nothing is left. */
export function textOf(value: unknown, max: number = maxText): string | null {
  if (typeof value !== 'string' || value === '') return null
  return storable(value, max) || null
}

/** An id of the provider, unchanged, or undefined. A corrected id would identify nothing. */
export function idOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= maxId && isStorable(value) ? value : undefined
}

/** An id for an item without a usable one. It is the same each time the provider repeats the item. */
export const derivedIdOf = (item: Json): string =>
  `derived:${createHash('sha256').update(JSON.stringify(item)).digest('hex')}`

export const isDerivedId = (id: string): boolean => id.startsWith('derived:')

/** The parts that are present, with storable texts; null when there are none, or more than 256 KiB. */
export function contentOf(value: Json): Json | null {
  const kept = Object.entries(value).filter(([, part]) => part !== undefined && part !== null)
  if (kept.length === 0) return null
  const content = Object.fromEntries(kept.map(([name, part]) => [name, storableJson(part)]))
  return JSON.stringify(content).length <= maxContent ? content : null
}

/** Values nested deeper than `maxDepth` become null. */
export function storableJson(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return storable(value, maxText)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= maxDepth) return null
  if (Array.isArray(value)) return value.map((item) => storableJson(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([name, item]) => [storable(name, maxName), storableJson(item, depth + 1)]),
  )
}

const fileTypes = new Set(['image', 'video', 'audio', 'document', 'sticker'])
const fileHandles = new Set(['id', 'sha256', 'url'])

/**
 * Removes the ids, hashes and download links of files from a part of a message: they need the connection's token, so API
 * clients cannot use them. `name` is the name of the part, which shows whether it is a file.
 */
export function withoutFileHandles(value: unknown, name = '', depth = 0): unknown {
  if (typeof value !== 'object' || value === null || depth >= maxDepth) return value
  if (Array.isArray(value)) return value.map((item) => withoutFileHandles(item, name, depth + 1))
  const isFile = fileTypes.has(name) || Object.hasOwn(value, 'mime_type') || Object.hasOwn(value, 'sha256')
  return Object.fromEntries(
    Object.entries(value)
      .filter(([field]) => !isFile || !fileHandles.has(field))
      .map(([field, part]) => [field, withoutFileHandles(part, field, depth + 1)]),
  )
}

const firstYear = Date.UTC(2009)
const dayMs = 24 * 60 * 60 * 1000

/**
 * The provider's time as ISO 8601. It is in seconds on one channel and in milliseconds on the other, as a number or a
 * string. 10^11 separates the two (year 5138 in seconds, 1973 in milliseconds). An impossible time becomes now.
 */
export function timeOf(value: unknown): string {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  const now = nowMs()
  if (typeof number !== 'number') return new Date(now).toISOString()
  const ms = number < 1e11 ? number * 1000 : number
  return new Date(ms >= firstYear && ms <= now + dayMs ? ms : now).toISOString()
}

/** The provider's digits, with or without `+`, in E.164. */
export function phoneOf(value: unknown): string | null {
  const [, digits] = (typeof value === 'string' && /^\+?([1-9]\d{4,19})$/.exec(value)) || []
  return digits ? `+${digits}` : null
}

export function personOf(userId: string | null, name: unknown = null, username: unknown = null): Person {
  return { phone: null, user_id: userId, name: textOf(name, maxName), username: usernameOf(username) }
}

export function usernameOf(value: unknown): string | null {
  return textOf(typeof value === 'string' ? value.replace(/^@/, '') : value, maxName)
}

/** Reads every item of a list on its own. `itemName` is for the reason when one is not an object. */
export function itemsOf(list: unknown, itemName: string, read: (item: Json) => Report[]): Report[] {
  if (list === undefined || list === null) return []
  if (!Array.isArray(list)) return [malformed(`${itemName}: not a list`)]
  return list.flatMap((value) => {
    const item = recordOf(value)
    return item ? read(item) : [malformed(`${itemName}: not an object`)]
  })
}

/** Whether an id is present and is not ours. */
export function isOtherId(id: unknown, ours: string): boolean {
  return id !== undefined && id !== null && id !== ours && !(typeof id === 'number' && String(id) === ours)
}

/** A report that the service does not use. `quoted` is shortened and logged. */
export const ignored = (reason: string, quoted?: unknown): Report => ({
  kind: 'ignored',
  reason: withQuote(reason, quoted),
})

/** An item that cannot be read. */
export const malformed = (reason: string, quoted?: unknown): Report => ({
  kind: 'malformed',
  reason: withQuote(reason, quoted),
})

const withQuote = (reason: string, quoted: unknown): string =>
  quoted === undefined ? reason : `${reason}: ${quote(quoted)}`

function quote(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(storable(value, 200))
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

/** Without NUL, with lone surrogates replaced, and bounded. */
function storable(text: string, max: number): string {
  const cut = text.length <= max ? text : text.slice(0, isPair(text, max - 1) ? max - 1 : max)
  return isStorable(cut) ? cut : cut.replaceAll('\0', '').toWellFormed()
}

/** Whether a surrogate pair starts at `at`, so that a cut after it would split a character. */
function isPair(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00
}
