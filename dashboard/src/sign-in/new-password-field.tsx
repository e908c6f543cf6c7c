/** The field in which a person chooses a password. */
import type { ComponentProps } from 'react'
import { Field } from '../../../ui/controls.tsx'
import { PasswordInput } from '../ui/password-input.tsx'
import { words } from '../words/words.ts'

export const NewPasswordField = (props: Omit<ComponentProps<typeof Field>, 'hint' | 'children'>) => (
  <Field {...props} hint={words.signIn.passwordHint}>
    {(wiring) => <PasswordInput {...wiring} autoComplete="new-password" required minLength={8} />}
  </Field>
)
