/** Workspace settings: name, default country, sign-in and opt-out keywords. */
import { Link } from 'wouter'
import { Form, InputField, SelectField, SubmitButton, Switch } from '../../../ui/controls.tsx'
import { Card, Note } from '../../../ui/display.tsx'
import { type DataOf, useCall, useChange } from '../lib/api.ts'
import { countries } from '../lib/countries.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { useIsManager, useSession } from '../lib/session.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { OptOutKeywords } from './opt-out-keywords.tsx'

const { workspace: text } = words.settings

type WorkspaceView = DataOf<'GET /workspace'>

export function Workspace() {
  const query = useCall('GET /workspace', {})
  const isManager = useIsManager()
  return (
    <Page title={text.title} lead={text.lead} narrow>
      {!isManager && <Note>{words.common.onlyManagers}</Note>}
      <QueryView query={query}>
        {(workspace) => (
          <>
            <General workspace={workspace} isManager={isManager} />
            <SignInRules workspace={workspace} />
            <OptOutKeywords keywords={workspace.opt_out_words} isManager={isManager} />
          </>
        )}
      </QueryView>
    </Page>
  )
}

function General({ workspace: stored, isManager }: { workspace: WorkspaceView; isManager: boolean }) {
  const save = useChange('PATCH /workspace', {
    stale: ['GET /workspace', 'GET /session'],
    done: words.common.saved,
    onDone: ({ name }) => setValues((now) => ({ ...now, name })),
  })
  const { values, setValues, bind } = useFormFields(
    { name: stored.name, default_country: stored.default_country },
    save.error,
  )
  const isUnchanged = values.name === stored.name && values.default_country === stored.default_country
  return (
    <Card title={text.general}>
      <Form className="settings-form" onSubmit={() => save.mutate({ body: values })}>
        <InputField
          label={text.name}
          hint={text.nameHint}
          required
          autoComplete="organization"
          disabled={!isManager}
          {...bind('name', 'rest')}
        />
        <SelectField
          label={text.country}
          hint={text.countryHint}
          disabled={!isManager}
          options={countryOptions(stored.default_country)}
          {...bind('default_country')}
        />
        {isManager && (
          <div className="row">
            <SubmitButton label={words.common.save} busy={save.isPending} disabled={isUnchanged} />
          </div>
        )}
      </Form>
    </Card>
  )
}

function SignInRules({ workspace }: { workspace: WorkspaceView }) {
  const { role } = useSession()
  const own = useCall('GET /profile/second-factor', {})
  const isOwner = role === 'owner'
  const isOn = workspace.requires_second_factor
  const hasNone = !own.data?.confirmed_at
  const save = useChange('PATCH /workspace', {
    stale: ['GET /workspace', 'GET /profile/second-factor'],
    done: words.common.saved,
    reportsError: true,
  })
  return (
    <Card title={text.signIn}>
      <Switch
        label={text.requireSecondFactor}
        hint={text.requireSecondFactorHint}
        checked={isOn}
        disabled={!isOwner || (!isOn && hasNone) || save.isPending}
        onChange={(event) => save.mutate({ body: { requires_second_factor: event.target.checked } })}
      />
      {!isOwner && <p className="soft small">{text.onlyOwners}</p>}
      {isOwner && !isOn && own.data && hasNone && (
        <p className="small">
          <Link href="/settings/profile">{text.ownFirst}</Link>
        </p>
      )}
    </Card>
  )
}

/** Adds the stored country to the options if the list lacks it: the service knows a few more. */
const countryOptions = (code: string): typeof countries =>
  countries.some(([known]) => known === code) ? countries : [[code, code], ...countries]
