/** Sets a new password with the link of an e-mail. */
import { useParams } from 'wouter'
import { Form, InputField, SubmitButton } from '../../../ui/controls.tsx'
import { ErrorNote } from '../../../ui/display.tsx'
import { isNotFound, useCall, useChange } from '../lib/api.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { LinkButton } from '../ui/link-button.tsx'

import { words } from '../words/words.ts'
import { LoadingPage, NewPasswordField, SignInPage } from './sign-in-page.tsx'

const { signIn } = words
const { reset } = signIn

export default function NewPassword() {
  const { token = '' } = useParams<{ token: string }>()
  const query = useCall('GET /password-resets/{token}', { params: { token } })
  const save = useChange('POST /password-resets/{token}')
  const { values, errors, bind } = useFormFields({ password: '' }, save.error)
  if (save.data) {
    return (
      <SignInPage key="changed" title={reset.changed} lead={reset.changedText}>
        <LinkButton label={signIn.submit} href="/sign-in" variant="primary" />
      </SignInPage>
    )
  }
  if (isNotFound(query.error) || isNotFound(save.error)) {
    return (
      <SignInPage key="gone" title={reset.gone} lead={reset.goneText}>
        <LinkButton label={reset.again} href="/forgot-password" />
      </SignInPage>
    )
  }
  if (!query.data) return <LoadingPage title={reset.choose} query={query} lines={3} />
  const { email } = query.data
  return (
    // A new key mounts the page again after loading, which focuses the first input.
    <SignInPage key="form" title={reset.choose} lead={reset.chooseText}>
      <Form noValidate onSubmit={() => save.mutate({ params: { token }, body: values })}>
        <InputField label={signIn.email} type="email" autoComplete="username" value={email} readOnly />
        <NewPasswordField label={reset.next} {...bind('password')} />
        {errors.rest && <ErrorNote>{errors.rest}</ErrorNote>}
        <SubmitButton label={reset.save} busy={save.isPending} />
      </Form>
    </SignInPage>
  )
}
