/**
 * What the service does not have yet, in the browser: the definition, and a text that is no definition yet. Both survive a reload,
 * leaving the page and closing the browser, until the member signs out.
 */
import { readUnsent, removeUnsent, storeUnsent } from '../../../lib/drafts.ts'
import { type Definition, isDefinition } from './definition.ts'
import { isSame } from './diff.ts'

export type Kept = {
  definition: Definition
  /** The time and the content of the automation that was edited. */
  base: string
  saved: string
}

const keyOf = (id: string): string => `automation-${id}`

export function readKept(id: string): Kept | undefined {
  const stored = readUnsent(keyOf(id))
  if (stored === null) return undefined
  const { definition, base, saved } = parse(stored)
  return isDefinition(definition) && typeof base === 'string' && typeof saved === 'string'
    ? { definition, base, saved }
    : undefined
}

function parse(stored: string): { [Name in keyof Kept]?: unknown } {
  try {
    return JSON.parse(stored) ?? {}
  } catch {
    return {}
  }
}

export const keep = (id: string, kept: Kept): void => storeUnsent(keyOf(id), JSON.stringify(kept))

export const forget = (id: string): void => removeUnsent(keyOf(id))

const textKeyOf = (id: string): string => `automation-text-${id}`

/** The text that was typed in place of this definition. */
export function readKeptText(id: string, definition: unknown): string | undefined {
  const stored = readUnsent(textKeyOf(id))
  if (stored === null) return undefined
  const { text, of } = parse(stored) as { text?: unknown; of?: unknown }
  return typeof text === 'string' && isSame(of, definition) ? text : undefined
}

export const keepText = (id: string, text: string, definition: unknown): void =>
  storeUnsent(textKeyOf(id), JSON.stringify({ text, of: definition }))

export const forgetText = (id: string): void => removeUnsent(textKeyOf(id))
