/** Accepts an invitation: the new member enters a name and chooses a password. */
import { useLocation, useParams } from 'wouter'
import { Form, InputField, SubmitButton } from '../../../ui/controls.tsx'
import { ErrorNote } from '../../../ui/display.tsx'
import { isNotFound, useCall, useChange } from '../lib/api.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { LinkButton } from '../ui/link-button.tsx'

import { words } from '../words/words.ts'
import { LoadingPage, NewPasswordField, SignInPage, startSession } from './sign-in-page.tsx'

const { signIn } = words
const { invitation } = signIn

export default function Invitation() {
  const { token = '' } = useParams<{ token: string }>()
  const [, navigate] = useLocation()
  const query = useCall('GET /invitations/{token}', { params: { token } })
  const join = useChange('POST /invitations/{token}', {
    onDone: (session) => {
      startSession(session)
      navigate('/inbox', { replace: true })
    },
  })
  const { values, errors, bind } = useFormFields({ name: '', password: '' }, join.error)
  if (isNotFound(query.error) || isNotFound(join.error)) {
    return (
      <SignInPage title={invitation.gone} lead={invitation.goneText}>
        <LinkButton label={invitation.toSignIn} href="/sign-in" />
      </SignInPage>
    )
  }
  if (!query.data) return <LoadingPage title={invitation.title} query={query} lines={5} />
  const { email, role, workspace_name: workspace } = query.data
  return (
    // A new key mounts the page again after loading, which focuses the first input.
    <SignInPage key="form" title={invitation.titleOf(workspace)} lead={invitation.lead(words.roles[role])}>
      <Form noValidate onSubmit={() => join.mutate({ params: { token }, body: values })}>
        <InputField label={signIn.email} type="email" autoComplete="username" value={email} readOnly />
        <InputField label={invitation.name} hint={invitation.nameHint} autoComplete="name" required {...bind('name')} />
        <NewPasswordField label={signIn.password} {...bind('password')} />
        {errors.rest && <ErrorNote>{errors.rest}</ErrorNote>}
        <SubmitButton label={invitation.submit} busy={join.isPending} />
      </Form>
    </SignInPage>
  )
}
