/**
 * The first-run setup: creates the workspace and its owner. The link that the service prints at start contains the setup code;
 * without the link, the operator types the code.
 */
import { useLocation, useSearch } from 'wouter'
import { Form, InputField, SelectField, SubmitButton } from '../../../ui/controls.tsx'
import { ErrorNote } from '../../../ui/display.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { countries, likelyCountry } from '../lib/countries.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { LinkButton } from '../ui/link-button.tsx'

import { words } from '../words/words.ts'
import { LoadingPage, NewPasswordField, SignInPage, startSession } from './sign-in-page.tsx'

const { signIn } = words
const { setup } = signIn

export default function Setup() {
  const [, navigate] = useLocation()
  const given = new URLSearchParams(useSearch()).get('token') ?? ''
  const query = useCall('GET /setup', {})
  const create = useChange('POST /setup', {
    onDone: (session) => {
      startSession(session)
      navigate('/settings/channels', { replace: true })
    },
  })
  const initial = {
    token: given,
    workspace_name: '',
    default_country: likelyCountry(),
    name: '',
    email: '',
    password: '',
  }
  const { values, errors, bind } = useFormFields(initial, create.error)
  if (!query.data) return <LoadingPage title={setup.title} query={query} lines={6} />
  if (!query.data.needed) {
    return (
      <SignInPage title={setup.done} lead={setup.doneText}>
        <LinkButton label={signIn.submit} href="/sign-in" variant="primary" />
      </SignInPage>
    )
  }
  return (
    <SignInPage key="form" title={setup.title} lead={setup.lead}>
      <Form
        noValidate
        onSubmit={() =>
          create.mutate({ body: { ...values, time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone } })
        }
      >
        {(!given || errors.token) && (
          <InputField
            label={setup.token}
            hint={setup.tokenHint}
            spellCheck={false}
            required
            autoComplete="off"
            {...bind('token')}
          />
        )}
        <InputField
          label={setup.workspace}
          hint={setup.workspaceHint}
          required
          autoComplete="organization"
          {...bind('workspace_name')}
        />
        <SelectField label={setup.country} hint={setup.countryHint} options={countries} {...bind('default_country')} />
        <InputField label={setup.name} required autoComplete="name" {...bind('name')} />
        <InputField label={signIn.email} type="email" required autoComplete="username" {...bind('email')} />
        <NewPasswordField label={signIn.password} {...bind('password')} />
        {errors.rest && <ErrorNote>{errors.rest}</ErrorNote>}
        <SubmitButton label={setup.submit} busy={create.isPending} />
      </Form>
    </SignInPage>
  )
}
