/** Sets a new password with the link of an e-mail. */
import { type FormEvent, useState } from 'react'
import { useParams } from 'wouter'
import { Button } from '../../../ui/button.tsx'
import { Field, Input } from '../../../ui/form.tsx'
import { ErrorNote } from '../../../ui/note.tsx'
import { Skeleton } from '../../../ui/state.tsx'
import { CallError, useCall, useChange } from '../lib/api.ts'
import { fieldErrorsOf } from '../lib/field-errors.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { ErrorState } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { NewPasswordField } from './new-password-field.tsx'
import { SignInPage } from './sign-in-page.tsx'

const { signIn } = words
const { reset } = signIn

export default function NewPassword() {
  const { token = '' } = useParams<{ token: string }>()
  const [password, setPassword] = useState('')
  const query = useCall('GET /password-resets/{token}', { params: { token } })
  const save = useChange('POST /password-resets/{token}')
  if (save.data) {
    return (
      <SignInPage key="changed" title={reset.changed} lead={reset.changedText}>
        <LinkButton href="/sign-in" variant="primary">
          {signIn.submit}
        </LinkButton>
      </SignInPage>
    )
  }
  if (isInvalid(query.error) || isInvalid(save.error)) {
    return (
      <SignInPage key="gone" title={reset.gone} lead={reset.goneText}>
        <LinkButton href="/forgot-password">{reset.again}</LinkButton>
      </SignInPage>
    )
  }
  if (!query.data) {
    return (
      <SignInPage title={reset.choose}>
        {query.error ? <ErrorState error={query.error} onRetry={() => void query.refetch()} /> : <Skeleton lines={3} />}
      </SignInPage>
    )
  }
  const { email } = query.data
  const errors = fieldErrorsOf(save.error, ['password'])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate({ params: { token }, body: { password } })
  }
  return (
    // A new key mounts the page again after loading, which focuses the first input.
    <SignInPage key="form" title={reset.choose} lead={reset.chooseText}>
      <form noValidate onSubmit={submit}>
        <Field label={signIn.email}>
          {(wiring) => <Input {...wiring} type="email" autoComplete="username" value={email} readOnly />}
        </Field>
        <NewPasswordField label={reset.next} error={errors.password} value={password} onChange={setPassword} />
        {errors.rest && <ErrorNote>{errors.rest}</ErrorNote>}
        <Button type="submit" variant="primary" busy={save.isPending}>
          {reset.save}
        </Button>
      </form>
    </SignInPage>
  )
}

/** Shown for a link that was used, was replaced or has expired. */
const isInvalid = (error: unknown): boolean => error instanceof CallError && error.status === 404
