/** The menu on Base UI, which provides keys, typeahead, focus, roles and position. `menu.tsx` loads this file. */
import { Menu as BaseMenu } from '@base-ui/react/menu'
import { type ReactElement, type ReactNode, useEffect, useLayoutEffect, useRef } from 'react'
import { Icon, type IconName } from './icon.tsx'
import { usePopupContainer } from './overlays.tsx'

/** Items with `checked` are the alternatives of one choice, up to the next separator. */
type MenuItem =
  | {
      kind?: 'item'
      icon?: IconName
      label: ReactNode
      onSelect: () => void
      checked?: boolean
      danger?: boolean
      key?: string
    }
  | { kind: 'separator'; key?: string }
  | { kind: 'heading'; label: string; key?: string }

export type MenuProps = {
  /** An element that renders one `<button>` and passes all props on to it, such as `Button` or `IconButton`. */
  button: ReactElement<Record<string, unknown>>
  items: readonly MenuItem[]
  /** The accessible name of the list. */
  label: string
  align?: 'start' | 'end'
  side?: 'top' | 'bottom'
}

/** What the member did with the button before this menu replaced it. */
export type MenuStart = { hasFocus: boolean; press?: 'pointer' | 'Enter' | 'ArrowDown' | 'ArrowUp' | undefined }

type BaseMenuProps = MenuProps & { start: MenuStart }

export function LoadedMenu({ button, items, label, align = 'end', side = 'bottom', start }: BaseMenuProps) {
  const { hasFocus, press } = start
  const trigger = useRef<HTMLButtonElement>(null)
  const selected = useRef<number>(undefined)
  // The action runs when the list is gone and the button has the focus, so that a dialog it opens returns the focus there.
  const runSelected = () => {
    if (selected.current === undefined) return
    // The item of the latest render: the member may have typed elsewhere since the choice.
    const item = items[selected.current]
    selected.current = undefined
    trigger.current?.focus()
    if (item && 'onSelect' in item) item.onSelect()
  }
  // The button that had the focus was another element.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when it replaces that button.
  useLayoutEffect(() => {
    if (hasFocus) trigger.current?.focus()
  }, [])
  // Presses the key again, on the button that knows it: the list opens at its first or last item.
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above.
  useEffect(() => {
    if (press === 'Enter') trigger.current?.click()
    else if (press && press !== 'pointer') {
      trigger.current?.dispatchEvent(new KeyboardEvent('keydown', { key: press, bubbles: true, cancelable: true }))
    }
  }, [])
  return (
    <BaseMenu.Root
      defaultOpen={press === 'pointer'}
      modal={false}
      onOpenChangeComplete={(isOpen) => !isOpen && runSelected()}
    >
      <BaseMenu.Trigger ref={trigger} render={button} />
      <BaseMenu.Portal container={usePopupContainer()}>
        <BaseMenu.Positioner className="popup" side={side} align={align} sideOffset={4} positionMethod="fixed">
          <BaseMenu.Popup
            className="menu"
            aria-label={label}
            aria-labelledby={undefined}
            // Leaving the list closes it. The browser then moves the focus on from the button.
            onKeyDown={(event) => event.key === 'Tab' && trigger.current?.focus()}
          >
            {groupsOf(items).map((group) => (
              <BaseMenu.RadioGroup
                key={group[0]?.index}
                value={group.find(({ item }) => 'checked' in item && item.checked)?.index ?? -1}
              >
                {group.map(({ item, index }) => {
                  if (item.kind === 'separator') return <BaseMenu.Separator key={item.key ?? index} />
                  if (item.kind === 'heading') {
                    return (
                      <div key={item.key ?? index} className="menu-heading" role="presentation">
                        {item.label}
                      </div>
                    )
                  }
                  const select = () => {
                    selected.current = index
                  }
                  const content = (
                    <>
                      {item.icon && <Icon name={item.icon} />}
                      {item.label}
                      {item.checked && <Icon name="check" />}
                    </>
                  )
                  const props = { 'data-danger': item.danger ? '' : undefined, onClick: select, children: content }
                  return item.checked === undefined ? (
                    <BaseMenu.Item key={item.key ?? index} {...props} />
                  ) : (
                    <BaseMenu.RadioItem key={item.key ?? index} value={index} closeOnClick {...props} />
                  )
                })}
              </BaseMenu.RadioGroup>
            ))}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  )
}

type Indexed = { item: MenuItem; index: number }

/** The items with their positions, divided before each separator. */
function groupsOf(items: readonly MenuItem[]): Indexed[][] {
  const groups: Indexed[][] = []
  for (const [index, item] of items.entries()) {
    if (index === 0 || item.kind === 'separator') groups.push([])
    groups.at(-1)?.push({ item, index })
  }
  return groups
}
