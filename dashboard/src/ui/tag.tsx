/** A tag of a contact: a pill with the tag icon. `onRemove` adds a button that removes it. A label is a rectangle (`label.tsx`). */
import { Icon } from '../../../ui/icon.tsx'
import { words } from '../words/words.ts'

export function Tag({ name, color, onRemove }: { name: string; color: string; onRemove?: (() => void) | undefined }) {
  return (
    <span className="tag">
      <span className="tag-icon" style={{ color }}>
        <Icon name="tag" />
      </span>
      <span className="cut">{name}</span>
      {onRemove && (
        <button type="button" aria-label={words.common.removeTag(name)} onClick={onRemove}>
          <Icon name="close" />
        </button>
      )}
    </span>
  )
}
