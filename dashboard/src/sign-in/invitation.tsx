/** Accepts an invitation: the new member enters a name and chooses a password. */
import { type FormEvent, useState } from 'react'
import { useLocation, useParams } from 'wouter'
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
import { startSession } from './start-session.ts'

const { signIn } = words
const { invitation } = signIn

export default function Invitation() {
  const { token = '' } = useParams<{ token: string }>()
  const [, navigate] = useLocation()
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const query = useCall('GET /invitations/{token}', { params: { token } })
  const join = useChange('POST /invitations/{token}', {
    onDone: (session) => {
      startSession(session)
      navigate('/inbox', { replace: true })
    },
  })
  if (isInvalid(query.error) || isInvalid(join.error)) {
    return (
      <SignInPage title={invitation.gone} lead={invitation.goneText}>
        <LinkButton href="/sign-in">{invitation.toSignIn}</LinkButton>
      </SignInPage>
    )
  }
  if (!query.data) {
    return (
      <SignInPage title={invitation.title}>
        {query.error ? <ErrorState error={query.error} onRetry={() => void query.refetch()} /> : <Skeleton lines={5} />}
      </SignInPage>
    )
  }
  const { email, role, workspace_name: workspace } = query.data
  const errors = fieldErrorsOf(join.error, ['name', 'password'])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    join.mutate({ params: { token }, body: { name, password } })
  }
  return (
    // A new key mounts the page again after loading, which focuses the first input.
    <SignInPage key="form" title={invitation.titleOf(workspace)} lead={invitation.lead(words.roles[role])}>
      <form noValidate onSubmit={submit}>
        <Field label={signIn.email}>
          {(wiring) => <Input {...wiring} type="email" autoComplete="username" value={email} readOnly />}
        </Field>
        <Field label={invitation.name} hint={invitation.nameHint} error={errors.name}>
          {(wiring) => (
            <Input
              {...wiring}
              autoComplete="name"
              required
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <NewPasswordField label={signIn.password} error={errors.password} value={password} onChange={setPassword} />
        {errors.rest && <ErrorNote>{errors.rest}</ErrorNote>}
        <Button type="submit" variant="primary" busy={join.isPending}>
          {invitation.submit}
        </Button>
      </form>
    </SignInPage>
  )
}

/** Shown for an invitation that was used, revoked or has expired. */
const isInvalid = (error: unknown): boolean => error instanceof CallError && error.status === 404
