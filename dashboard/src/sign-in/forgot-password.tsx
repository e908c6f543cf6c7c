/** Asks for a link to choose a new password. The answer is the same for every address. A server without email has no such links. */
import { Form, InputField, SubmitButton } from '../../../ui/controls.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { words } from '../words/words.ts'
import { SignInPage } from './sign-in-page.tsx'

const { signIn } = words
const { reset } = signIn

export default function ForgotPassword() {
  const request = useChange('POST /password-resets')
  const { values, bind } = useFormFields({ email: '' }, request.error)
  const setup = useCall('GET /setup', {})
  const toSignIn = <LinkButton label={reset.toSignIn} href="/sign-in" />
  if (setup.data && !setup.data.sends_email) {
    return (
      <SignInPage key="none" title={reset.title}>
        <p>{reset.noMail}</p>
        {toSignIn}
      </SignInPage>
    )
  }
  if (request.data) {
    return (
      <SignInPage key="sent" title={reset.sent}>
        <p role="status">{reset.sentText(values.email.trim())}</p>
        {toSignIn}
      </SignInPage>
    )
  }
  return (
    <SignInPage title={reset.title} lead={reset.lead}>
      <Form noValidate onSubmit={() => request.mutate({ body: values })}>
        <InputField
          label={signIn.email}
          type="email"
          name="email"
          autoComplete="username"
          required
          {...bind('email', 'rest')}
        />
        <SubmitButton label={reset.submit} busy={request.isPending} disabled={!values.email.trim()} />
        {toSignIn}
      </Form>
    </SignInPage>
  )
}
