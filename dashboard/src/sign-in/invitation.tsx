/** Somebody follows their invitation: a name, a password, and they are in. */
import { type FormEvent, useState } from 'react'
import { useLocation, useParams } from 'wouter'
import { Button } from '../../../ui/button.tsx'
import { Field, Input } from '../../../ui/form.tsx'
import { Note } from '../../../ui/note.tsx'
import { Skeleton } from '../../../ui/state.tsx'
import { CallError, useCall, useChange } from '../lib/api.ts'
import { faultsOf } from '../lib/faults.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { ErrorState } from '../ui/page.tsx'
import { PasswordInput } from '../ui/password-input.tsx'
import { words } from '../words/words.ts'
import { Door } from './door.tsx'
import { enterAs } from './enter.ts'

const { signIn } = words
const { invitation } = signIn

export default function Invitation() {
  const { token = '' } = useParams<{ token: string }>()
  const [, navigate] = useLocation()
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const asked = useCall('GET /invitations/{token}', { params: { token } })
  const join = useChange('POST /invitations/{token}', {
    onDone: (session) => {
      enterAs(session)
      navigate('/inbox', { replace: true })
    },
  })
  if (isGone(asked.error) || isGone(join.error)) {
    return (
      <Door title={invitation.gone} lead={invitation.goneText}>
        <LinkButton href="/sign-in">{invitation.toSignIn}</LinkButton>
      </Door>
    )
  }
  if (!asked.data) {
    return (
      <Door title={invitation.title}>
        {asked.error ? <ErrorState error={asked.error} onRetry={() => void asked.refetch()} /> : <Skeleton lines={5} />}
      </Door>
    )
  }
  const { email, role, workspace_name: workspace } = asked.data
  const faults = faultsOf(join.error, ['name', 'password'])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    join.mutate({ params: { token }, body: { name, password } })
  }
  return (
    // Another one than while it loads: its first field is there to be typed into.
    <Door key="form" title={invitation.titleOf(workspace)} lead={invitation.lead(words.roles[role])}>
      <form noValidate onSubmit={submit}>
        <Field label={signIn.email}>
          {(wiring) => <Input {...wiring} type="email" autoComplete="username" value={email} readOnly />}
        </Field>
        <Field label={invitation.name} hint={invitation.nameHint} fault={faults.name}>
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
        <Field label={signIn.password} hint={signIn.passwordHint} fault={faults.password}>
          {(wiring) => (
            <PasswordInput
              {...wiring}
              autoComplete="new-password"
              required
              minLength={8}
              value={password}
              onChange={(event) => setPassword(event.target.value)}
            />
          )}
        </Field>
        {faults.rest && (
          <Note tone="red" icon="alert">
            {faults.rest}
          </Note>
        )}
        <Button type="submit" variant="primary" busy={join.isPending}>
          {invitation.submit}
        </Button>
      </form>
    </Door>
  )
}

/** Used, taken back or too old: the service knows it no more. */
const isGone = (error: unknown): boolean => error instanceof CallError && error.status === 404
