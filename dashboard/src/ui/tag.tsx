/** A tag of a contact. `onRemove` adds a button that removes it. */
import { Icon } from '../../../ui/icon.tsx'
import { words } from '../words/words.ts'

export function Tag({ name, color, onRemove }: { name: string; color: string; onRemove?: (() => void) | undefined }) {
  return (
    <span className="tag">
      <span className="swatch" style={{ background: color }} />
      <span className="cut">{name}</span>
      {onRemove && (
        <button type="button" aria-label={words.common.removeTag(name)} onClick={onRemove}>
          <Icon name="close" />
        </button>
      )}
    </span>
  )
}
