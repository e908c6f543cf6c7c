/** The error of the service about a definition: the part of the outline that it is about, and what it says. Pure. */
import { editorWords } from '../../../words/automation-editor.ts'
import type { Definition } from './definition.ts'

const { errors: text } = editorWords

/** `owner`: the id of a step, `trigger`, `conditions`, or empty for the whole definition. `path`: below the owner. */
export type Fault = { owner: string; path: string; message: string }

const stepPath = /^steps\[\d+\](?:\.(?:cases\[\d+\]\.steps|otherwise|timeout\.steps|on_error)\[\d+\])*/

export function readFault(message: string, definition: Definition): Fault {
  const [, path = '', rule = message] = /^([\w.[\]]+): ([\s\S]+)$/.exec(message) ?? []
  const [owner = ''] = stepPath.exec(path) ?? /^(?:trigger|conditions)/.exec(path) ?? []
  const below = path.slice(owner.length).replace(/^\./, '')
  return { owner, path: below, message: describe({ path, below, owner, rule }, definition) }
}

type Parts = { path: string; below: string; owner: string; rule: string }

function describe({ path, below, owner, rule }: Parts, definition: Definition): string {
  if (rule.startsWith('never runs')) return text.neverRuns
  if (path === 'steps' && definition.steps.length === 0) return text.noSteps
  const field = labelOf(below) ?? (owner ? below : path)
  const value = valueAt(definition, path)
  if (field && (value === undefined || (typeof value === 'string' && value.trim() === ''))) return text.missing(field)
  return text.fault(field, field ? rule : capitalize(rule))
}

/** The name that the form has for a field. */
function labelOf(path: string): string | undefined {
  const numbers = Array.from(path.matchAll(/\[(\d+)\]/g), ([, number]) => Number(number) + 1)
  return text.fields[path.replaceAll(/\[\d+\]/g, '[#]')]?.(...numbers)
}

function valueAt(definition: Definition, path: string): unknown {
  let value: unknown = definition
  for (const [name] of path.matchAll(/\w+/g)) {
    if (typeof value !== 'object' || value === null) return undefined
    value = Object.entries(value).find(([key]) => key === name)?.[1]
  }
  return value
}

const capitalize = (rule: string): string => rule.charAt(0).toUpperCase() + rule.slice(1)
