/**
 * Which field of a form a refusal is about. The service says `field: what is
 * wrong`; a page shows it beside that field, and what is about none of its
 * fields as `rest`, so that nothing a form was refused for is left unsaid.
 */
import { CallError, messageOf } from './api.ts'

export type Faults<Field extends string> = { [Name in Field | 'rest']?: string }

const ofField = /^([a-z_]+)(?:[[.][^:]*)?: ([\s\S]+)$/

export function faultsOf<Field extends string>(error: unknown, fields: readonly Field[]): Faults<Field> {
  if (!error) return {}
  const [, name, words] = (error instanceof CallError && ofField.exec(error.message)) || []
  const field = fields.find((each) => each === name)
  const faults: Faults<Field> = {}
  if (field && words) faults[field] = words.charAt(0).toUpperCase() + words.slice(1)
  else faults.rest = messageOf(error)
  return faults
}

/** In words, where there is one place to say it: without the name the service has for a field that stands right there. */
export const faultOf = (error: unknown, ...fields: string[]): string | undefined =>
  Object.values(faultsOf(error, fields))[0]
