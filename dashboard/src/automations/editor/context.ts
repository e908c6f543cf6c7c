/** What the parts of the editor share. */
import { createContext, useContext } from 'react'
import type { Fields } from '../../segments/rules.ts'
import type { Definition, Step } from './model/definition.ts'
import type { Names } from './model/describe.ts'
import type { Fault } from './model/fault.ts'

/** `trigger`, `conditions` or the id of a step. */
export type LineId = string

export type Editing = {
  definition: Definition
  /** `field`: of a text that the member types; its edits are undone together. */
  change: (definition: Definition, field?: string) => void
  changeStep: (id: LineId, step: Step, field?: string) => void
  canEdit: boolean
  fault: Fault | undefined
  names: Names
  members: readonly { id: string; name: string }[]
  teams: readonly { id: string; name: string }[]
  /** Those of conditions, without the answers. */
  fields: Fields
  /** The ids of buttons and rows that must stay. */
  used: ReadonlySet<string>
  /** The line whose form is open. */
  open: LineId | undefined
  /** Opens the form of a line, or closes all. `focus`: where the focus goes. */
  select: (id: LineId | undefined, focus?: { id: LineId; part: 'form' | 'line' }) => void
  /** The definition right after a step was added: nothing is typed in it yet. */
  untouched: Definition | undefined
  setUntouched: (definition: Definition) => void
  /** The step that was cut or copied. */
  clipboard: Step | undefined
  setClipboard: (step: Step) => void
}

export const EditingContext = createContext<Editing | undefined>(undefined)

export function useEditing(): Editing {
  const editing = useContext(EditingContext)
  if (!editing) throw new Error('useEditing needs an <EditingContext> above it')
  return editing
}
