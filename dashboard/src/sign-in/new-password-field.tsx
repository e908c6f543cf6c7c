/** The field in which a person chooses a password. */
import { Field } from '../../../ui/form.tsx'
import { PasswordInput } from '../ui/password-input.tsx'
import { words } from '../words/words.ts'

type Props = { label: string; error: string | undefined; value: string; onChange: (password: string) => void }

export function NewPasswordField({ label, error, value, onChange }: Props) {
  return (
    <Field label={label} hint={words.signIn.passwordHint} error={error}>
      {(wiring) => (
        <PasswordInput
          {...wiring}
          autoComplete="new-password"
          required
          minLength={8}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}
