/** The definition that the service does not have yet, in the browser: it survives a reload, and leaving the page. */
import { readUnsent, removeUnsent, storeUnsent } from '../../../lib/drafts.ts'
import { type Definition, isDefinition } from './definition.ts'

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
