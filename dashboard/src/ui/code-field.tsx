/** The input for a code of the authenticator app, or a recovery code. */
import { useLayoutEffect, useRef } from 'react'
import { InputField } from '../../../ui/controls.tsx'
import { words } from '../words/words.ts'

const { secondFactor: text } = words

type CodeFieldProps = {
  value: string
  onChange: (code: string) => void
  error?: string | undefined
  hint?: string
  /** Focus the input when it appears. */
  focus?: boolean
}

export function CodeField({ value, onChange, error, hint, focus = false }: CodeFieldProps) {
  const place = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    if (focus) place.current?.querySelector('input')?.focus()
  }, [focus])
  return (
    <div ref={place}>
      <InputField
        label={text.code}
        hint={hint}
        error={error}
        name="one-time-code"
        autoComplete="one-time-code"
        autoCapitalize="none"
        spellCheck={false}
        required
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  )
}
