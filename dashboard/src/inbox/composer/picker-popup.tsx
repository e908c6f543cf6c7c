/**
 * A popup above the reply box: a search field and a list or grid of options. Arrow keys move, Enter picks, Escape closes. The focus
 * stays in the search field, and the highlighted option is its active descendant.
 */
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { SearchInput } from '../../../../ui/controls.tsx'

type Props<Item> = {
  label: string
  searchLabel: string
  /** Options per row. With one, the left and right arrows move the caret in the search field. */
  columns: number
  /** The options for a search text, in order. */
  find: (search: string) => readonly Item[]
  keyOf: (item: Item) => string
  labelOf?: (item: Item) => string
  render: (item: Item) => ReactNode
  /** Shown when no option matches. */
  empty: (search: string) => ReactNode
  onPick: (item: Item) => void
  onClose: () => void
  children?: ReactNode
}

export function PickerPopup<Item>(props: Props<Item>) {
  const { label, searchLabel, columns, find, keyOf, labelOf, render, empty, onPick, onClose, children } = props
  const [search, setSearch] = useState('')
  const [active, setActive] = useState(0)
  const listId = useId()
  const popup = useRef<HTMLDivElement>(null)
  const found = find(search.trim())
  const index = Math.min(active, found.length - 1)
  const latestClose = useRef(onClose)
  latestClose.current = onClose
  useEffect(() => {
    const press = ({ target }: Event) => {
      if (!popup.current?.contains(target as Node)) latestClose.current()
    }
    document.addEventListener('pointerdown', press)
    return () => document.removeEventListener('pointerdown', press)
  }, [])

  const handleKeyDown = (event: KeyboardEvent) => {
    const step = {
      ArrowDown: columns,
      ArrowUp: -columns,
      ...(columns > 1 ? { ArrowRight: 1, ArrowLeft: -1 } : {}),
    }[event.key]
    const item = found[index]
    if (step !== undefined) setActive(Math.max(0, Math.min(found.length - 1, index + step)))
    else if (event.key === 'Enter' && !event.nativeEvent.isComposing && item !== undefined) onPick(item)
    else if (event.key === 'Escape') onClose()
    else if (event.key === 'Tab') return onClose()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div ref={popup} className="inbox-popup" role="dialog" aria-label={label}>
      <SearchInput
        label={searchLabel}
        autoFocus
        value={search}
        autoComplete="off"
        role="combobox"
        aria-expanded={found.length > 0}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={found.length > 0 ? optionId(listId, index) : undefined}
        onChange={(event) => {
          setSearch(event.target.value)
          setActive(0)
        }}
        onKeyDown={handleKeyDown}
      />
      <OptionList
        id={listId}
        label={label}
        items={found}
        index={index}
        isGrid={columns > 1}
        keyOf={keyOf}
        labelOf={labelOf}
        render={render}
        onPick={onPick}
      />
      {found.length === 0 && <p className="inbox-popup-empty">{empty(search.trim())}</p>}
      {children}
    </div>
  )
}

type OptionListProps<Item> = Pick<Props<Item>, 'label' | 'keyOf' | 'render' | 'onPick'> & {
  id: string
  labelOf?: Props<Item>['labelOf'] | undefined
  items: readonly Item[]
  /** The highlighted option. */
  index: number
  isGrid?: boolean
}

/** The id of an option, for `aria-activedescendant` of the field that has the focus. */
export const optionId = (listId: string, index: number): string => `${listId}-${index}`

/** The options below a text field that keeps the focus and handles the keys. */
export function OptionList<Item>(props: OptionListProps<Item>) {
  const { id, label, items, index, isGrid = false, keyOf, labelOf, render, onPick } = props
  useEffect(() => {
    document.getElementById(optionId(id, index))?.scrollIntoView({ block: 'nearest' })
  }, [id, index])
  return (
    <div id={id} role="listbox" aria-label={label} className="inbox-popup-list" data-grid={isGrid ? '' : undefined}>
      {items.map((item, position) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the text field handles the keys.
        <div
          key={keyOf(item)}
          id={optionId(id, position)}
          role="option"
          // The focus stays in the text field.
          tabIndex={-1}
          aria-selected={position === index}
          aria-label={labelOf?.(item)}
          title={labelOf?.(item)}
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onPick(item)}
        >
          {render(item)}
        </div>
      ))}
    </div>
  )
}
