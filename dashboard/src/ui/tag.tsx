/**
 * A tag of a contact: a pill with the tag icon. `icon`: that of another thing. `onRemove` adds a button that removes it, with the name `removeLabel`. A label is a
 * rectangle (`label.tsx`).
 */
import { Icon, type IconName } from '../../../ui/icon.tsx'
import { words } from '../words/words.ts'

type TagProps = {
  name: string
  color: string
  icon?: IconName
  onRemove?: (() => void) | undefined
  removeLabel?: string
}

export function Tag({ name, color, icon = 'tag', onRemove, removeLabel = words.common.removeTag(name) }: TagProps) {
  return (
    <span className="tag">
      <span className="tag-icon" style={{ color }}>
        <Icon name={icon} />
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
