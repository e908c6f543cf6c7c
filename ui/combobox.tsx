/** A text input with suggestions. Base UI provides filtering, keys, roles and position. */
import { Autocomplete } from '@base-ui/react/autocomplete'
import { type ComponentProps, useRef } from 'react'
import { usePopupContainer } from './overlays.tsx'

type ComboboxProps = Omit<ComponentProps<typeof Autocomplete.Input>, 'value' | 'onChange'> & {
  suggestions: readonly string[]
  value: string
  onChange: (value: string) => void
  /** Enter, with the text in the input, or a suggestion that the member picked. */
  onCommit: (value: string) => void
}

export function Combobox({ suggestions, value, onChange, onCommit, onKeyDown, ...rest }: ComboboxProps) {
  const isHighlighted = useRef(false)
  return (
    <Autocomplete.Root
      items={suggestions}
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
          onCommit(value)
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
