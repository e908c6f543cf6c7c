/**
 * A tag of a contact: a pill with the tag icon. `onRemove` adds a button that removes it, with the name `removeLabel`. A label is a
 * rectangle (`label.tsx`).
 */
import { Icon } from '../../../ui/icon.tsx'
import { words } from '../words/words.ts'

type TagProps = { name: string; color: string; onRemove?: (() => void) | undefined; removeLabel?: string }

export function Tag({ name, color, onRemove, removeLabel = words.common.removeTag(name) }: TagProps) {
  return (
    <span className="tag">
      <span className="tag-icon" style={{ color }}>
        <Icon name="tag" />
      </span>
      <span className="cut">{name}</span>
      {onRemove && (
        <button type="button" aria-label={removeLabel} onClick={onRemove}>
          <Icon name="close" />
        </button>
      )}
    </span>
  )
}
