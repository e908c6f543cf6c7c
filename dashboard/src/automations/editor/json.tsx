/** The definition as JSON. What the member types applies as soon as the outline can show it, and stays in the browser until then. */
import { TextAreaField } from '../../../../ui/controls.tsx'
import { editorWords } from '../../words/automation-editor.ts'
import { useEditing } from './context.ts'
import { type Definition, isDefinition } from './model/definition.ts'
import { forgetText, keepText, readKeptText } from './model/kept.ts'

const { json: text } = editorWords

/** `applied`: the definition that was typed; undefined while it is not one, and `error` says why. */
export type Typed = { text: string; error?: string; applied?: Definition }

/** What the member typed before, if it is not applied. `content`: as of the view. */
export function readTyped(id: string, content: unknown): Typed | undefined {
  const kept = readKeptText(id, content)
  return kept === undefined ? undefined : readJson(kept)
}

type Props = {
  /** Of the automation. */
  id: string
  /** What is stored, also if it is no definition that the outline can show. */
  content: unknown
  typed: Typed | undefined
  onType: (typed: Typed) => void
}

export function JsonView({ id, content, typed, onType }: Props) {
  const { definition, change, canEdit } = useEditing()
  // After an undo or a change elsewhere, the definition is another one.
  const isCurrent = typed && (typed.applied === undefined || typed.applied === definition)
  const type = (value: string) => {
    const read = readJson(value)
    onType(read)
    if (read.applied) {
      forgetText(id)
      change(read.applied, 'json')
    } else keepText(id, value, content)
  }
  return (
    <TextAreaField
      label={text.label}
      hint={text.hint}
      error={isCurrent && typed.error ? text.kept(typed.error) : undefined}
      rows={28}
      spellCheck={false}
      className="editor-json"
      data-own-undo=""
      readOnly={!canEdit}
      value={isCurrent ? typed.text : JSON.stringify(content, null, 2)}
      onChange={({ target }) => type(target.value)}
    />
  )
}

function readJson(value: string): Typed {
  try {
    const parsed: unknown = JSON.parse(value)
    return isDefinition(parsed) ? { text: value, applied: parsed } : { text: value, error: text.notDefinition }
  } catch (error) {
    return { text: value, error: text.notJson(error instanceof Error ? error.message : '') }
  }
}
