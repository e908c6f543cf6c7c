/** A text input with suggestions. Base UI provides filtering, keys, roles and position. */
import { Autocomplete } from '@base-ui/react/autocomplete'
import { type ComponentProps, useRef, useState } from 'react'
import { usePopupContainer } from './overlays.tsx'

type ComboboxProps = Omit<ComponentProps<typeof Autocomplete.Input>, 'value' | 'onChange'> & {
  suggestions: readonly string[]
  value: string
  onChange: (value: string) => void
  /** Enter, with the text in the input, or a suggestion that the member picked. */
  onCommit: (value: string) => void
}

export function Combobox({ suggestions, value, onChange, onCommit, onKeyDown, onBlur, ...rest }: ComboboxProps) {
  const isHighlighted = useRef(false)
  const [isOpen, setOpen] = useState(false)
  const { contains } = Autocomplete.useFilter()
  const matches = suggestions.filter((suggestion) => contains(suggestion, value.trim()))
  const hasMatches = matches.length > 0
  return (
    <Autocomplete.Root
      items={matches}
      filter={null}
      // While the list is open, Base UI hides the rest of the page from screen readers. So a list without matches is closed.
      open={isOpen && hasMatches}
      onOpenChange={setOpen}
      value={value}
      onValueChange={(next, { reason }) => (reason === 'item-press' ? onCommit(next) : onChange(next))}
      onItemHighlighted={(item) => {
        isHighlighted.current = item !== undefined
      }}
    >
      <Autocomplete.Input
        {...rest}
        onKeyDown={(event) => {
          onKeyDown?.(event)
          // An Enter that ends the composition of a character commits nothing. On a highlighted suggestion it picks that one.
          if (event.key !== 'Enter' || event.nativeEvent.isComposing || isHighlighted.current) return
          event.preventDefault()
          setOpen(false)
          onCommit(value)
        }}
        onBlur={(event) => {
          onBlur?.(event)
          // Base UI closes only a list that it shows.
          if (!hasMatches) setOpen(false)
        }}
      />
      <Autocomplete.Portal container={usePopupContainer()}>
        <Autocomplete.Positioner className="popup" align="start" sideOffset={4} positionMethod="fixed">
          <Autocomplete.Popup className="menu">
            <Autocomplete.List>
              {(suggestion: string) => (
                <Autocomplete.Item key={suggestion} value={suggestion}>
                  {suggestion}
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Popup>
        </Autocomplete.Positioner>
      </Autocomplete.Portal>
    </Autocomplete.Root>
  )
}
