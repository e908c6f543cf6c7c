/**
 * The first-run setup: creates the workspace and its owner. The link that the service prints at start contains the setup code;
 * without the link, the operator types the code.
 */
import { type FormEvent, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { Button } from '../../../ui/button.tsx'
import { Field, Input, Select } from '../../../ui/form.tsx'
import { ErrorNote } from '../../../ui/note.tsx'
import { Skeleton } from '../../../ui/state.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { countries, likelyCountry } from '../lib/countries.ts'
import { fieldErrorsOf } from '../lib/field-errors.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { ErrorState } from '../ui/page.tsx'
import { PasswordInput } from '../ui/password-input.tsx'
import { words } from '../words/words.ts'
import { SignInPage } from './sign-in-page.tsx'
import { startSession } from './start-session.ts'

const { signIn } = words
const { setup } = signIn

const names = ['token', 'workspace_name', 'default_country', 'name', 'email', 'password'] as const

export default function Setup() {
  const [, navigate] = useLocation()
  const given = new URLSearchParams(useSearch()).get('token') ?? ''
  const [fields, setFields] = useState({
    token: given,
    workspace_name: '',
    default_country: likelyCountry(),
    name: '',
    email: '',
    password: '',
  })
  const query = useCall('GET /setup', {})
  const create = useChange('POST /setup', {
    onDone: (session) => {
      startSession(session)
      navigate('/settings/channels', { replace: true })
    },
  })
  if (!query.data) {
    return (
      <SignInPage title={setup.title}>
        {query.error ? <ErrorState error={query.error} onRetry={() => void query.refetch()} /> : <Skeleton lines={6} />}
      </SignInPage>
    )
  }
  if (!query.data.needed) {
    return (
      <SignInPage title={setup.done} lead={setup.doneText}>
        <LinkButton href="/sign-in" variant="primary">
          {signIn.submit}
        </LinkButton>
      </SignInPage>
    )
  }
  const errors = fieldErrorsOf(create.error, names)
  const bind = (name: keyof typeof fields) => ({
    value: fields[name],
    onChange: (event: { target: { value: string } }) => setFields({ ...fields, [name]: event.target.value }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    create.mutate({ body: fields })
  }
  return (
    <SignInPage key="form" title={setup.title} lead={setup.lead}>
      <form noValidate onSubmit={submit}>
        {(!given || errors.token) && (
          <Field label={setup.token} hint={setup.tokenHint} error={errors.token}>
            {(wiring) => <Input {...wiring} required autoComplete="off" spellCheck={false} {...bind('token')} />}
          </Field>
        )}
        <Field label={setup.workspace} hint={setup.workspaceHint} error={errors.workspace_name}>
          {(wiring) => <Input {...wiring} required autoComplete="organization" {...bind('workspace_name')} />}
        </Field>
        <Field label={setup.country} hint={setup.countryHint} error={errors.default_country}>
          {(wiring) => (
            <Select {...wiring} {...bind('default_country')}>
              {countries.map(({ code, name }) => (
                <option key={code} value={code}>
                  {name}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label={setup.name} error={errors.name}>
          {(wiring) => <Input {...wiring} required autoComplete="name" {...bind('name')} />}
        </Field>
        <Field label={signIn.email} error={errors.email}>
          {(wiring) => <Input {...wiring} type="email" required autoComplete="username" {...bind('email')} />}
        </Field>
        <Field label={signIn.password} hint={signIn.passwordHint} error={errors.password}>
          {(wiring) => (
            <PasswordInput {...wiring} required minLength={8} autoComplete="new-password" {...bind('password')} />
          )}
        </Field>
        {errors.rest && <ErrorNote>{errors.rest}</ErrorNote>}
        <Button type="submit" variant="primary" busy={create.isPending}>
          {setup.submit}
        </Button>
      </form>
    </SignInPage>
  )
}
