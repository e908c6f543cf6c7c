/** The buttons that move and remove one of several rows: a button of a message, a row of a list, a case of a branch. */
import { IconButton } from '../../../../../ui/controls.tsx'
import { editorWords } from '../../../words/automation-editor.ts'

const { forms: text } = editorWords

type RowButtonsProps<Row> = { name: string; rows: readonly Row[]; index: number; onChange: (rows: Row[]) => void }

export function RowButtons<Row>({ name, rows, index, onChange }: RowButtonsProps<Row>) {
  const without = rows.toSpliced(index, 1)
  const moveUp = () => onChange(without.toSpliced(index - 1, 0, ...rows.slice(index, index + 1)))
  return (
    <>
      <IconButton icon="up" label={text.moveUp(name)} disabled={index === 0} onClick={moveUp} />
      <IconButton
        icon="close"
        label={text.remove(name)}
        disabled={rows.length === 1}
        onClick={() => onChange(without)}
      />
    </>
  )
}
