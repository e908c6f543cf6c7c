/** Asks for a link to choose a new password. The answer is the same for every address. */
import { type FormEvent, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Field, Input } from '../../../ui/form.tsx'
import { useChange } from '../lib/api.ts'
import { fieldErrorOf } from '../lib/field-errors.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { words } from '../words/words.ts'
import { SignInPage } from './sign-in-page.tsx'

const { signIn } = words
const { reset } = signIn

export default function ForgotPassword() {
  const [email, setEmail] = useState('')
  const request = useChange('POST /password-resets')
  const toSignIn = <LinkButton href="/sign-in">{reset.toSignIn}</LinkButton>
  if (request.data) {
    return (
      <SignInPage key="sent" title={reset.sent}>
        <p role="status">{reset.sentText(email.trim())}</p>
        {toSignIn}
      </SignInPage>
    )
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    request.mutate({ body: { email } })
  }
  return (
    <SignInPage title={reset.title} lead={reset.lead}>
      <form noValidate onSubmit={submit}>
        <Field label={signIn.email} error={fieldErrorOf(request.error, 'email')}>
          {(wiring) => (
            <Input
              {...wiring}
              type="email"
              name="email"
              autoComplete="username"
              required
              value={email}
              onChange={(event) => setEmail(event.target.value)}
            />
          )}
        </Field>
        <Button type="submit" variant="primary" busy={request.isPending} disabled={!email.trim()}>
          {reset.submit}
        </Button>
        {toSignIn}
      </form>
    </SignInPage>
  )
}
