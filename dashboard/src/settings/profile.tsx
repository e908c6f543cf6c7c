/** The member's own profile: name, password, two-step sign-in, appearance and sessions. */
import { Field, Form, InputField, SegmentedControl } from '../../../ui/controls.tsx'
import { Card } from '../../../ui/display.tsx'
import { useChange } from '../lib/api.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { useChangePreferences, usePreferences } from '../lib/preferences.ts'
import { useSession } from '../lib/session.tsx'
import { setTheme, themes, useTheme } from '../lib/theme.ts'
import { Facts } from '../ui/facts.tsx'
import { Page } from '../ui/page.tsx'
import { PasswordInput } from '../ui/password-input.tsx'
import { settingsWords } from '../words/settings.ts'
import { words } from '../words/words.ts'
import { isDifferent, SaveRow } from './save-row.tsx'
import { SecondFactor } from './second-factor.tsx'
import { Sessions } from './sessions.tsx'

const { profile: text } = settingsWords

const densities = ['compact', 'comfortable'] as const

export function Profile() {
  const { has_password: hasPassword } = useSession()
  return (
    <Page title={text.title} lead={text.lead} narrow>
      <PersonalDetails />
      {hasPassword ? (
        <>
          <Password />
          <SecondFactor />
        </>
      ) : (
        <Card title={text.signIn}>
          <p className="soft">{text.singleSignOn}</p>
        </Card>
      )}
      <Appearance />
      <Sessions />
    </Page>
  )
}

function PersonalDetails() {
  const { member, role } = useSession()
  const save = useChange('PATCH /profile', { stale: ['GET /session', 'GET /members'], done: words.common.saved })
  const { values, bind } = useFormFields({ name: member.name ?? '' }, save.error)
  const body = { name: values.name.trim() }
  return (
    <Card title={text.person}>
      <Form className="stack settings-form" onSubmit={() => save.mutate({ body })}>
        <InputField label={text.name} hint={text.nameHint} required autoComplete="name" {...bind('name', 'rest')} />
        <Facts className="settings-facts" facts={{ [text.email]: member.email, [text.role]: words.roles[role] }} />
        <SaveRow isBusy={save.isPending} isChanged={isDifferent(body, { name: member.name ?? '' })} />
      </Form>
    </Card>
  )
}

const noPasswords = { current_password: '', new_password: '' }

function Password() {
  const { member } = useSession()
  const save = useChange('PATCH /profile', {
    stale: ['GET /sessions'],
    done: text.passwordChanged,
    onDone: () => setValues(noPasswords),
  })
  const { values, setValues, bind } = useFormFields(noPasswords, save.error)
  const isIncomplete = Object.values(values).includes('')
  return (
    <Card title={text.password}>
      <Form className="stack settings-form" onSubmit={() => save.mutate({ body: values })}>
        {/* For password managers: whose password it is. */}
        <input type="hidden" name="username" autoComplete="username" value={member.email} readOnly />
        <Field label={text.current} {...bind('current_password', 'rest')}>
          {(wiring) => <PasswordInput {...wiring} required autoComplete="current-password" />}
        </Field>
        <Field label={text.next} hint={text.nextHint} {...bind('new_password')}>
          {(wiring) => <PasswordInput {...wiring} required minLength={8} autoComplete="new-password" />}
        </Field>
        <SaveRow
          label={text.changePassword}
          isBusy={save.isPending}
          isChanged={isDifferent(values, noPasswords)}
          isReady={!isIncomplete}
        />
      </Form>
    </Card>
  )
}

const Setting = ({ label, hint }: { label: string; hint: string }) => (
  <div>
    <p>{label}</p>
    <p className="soft small">{hint}</p>
  </div>
)

function Appearance() {
  const theme = useTheme()
  const density = usePreferences().data?.density
  const changePreferences = useChangePreferences()
  return (
    <Card title={words.shell.theme}>
      <div className="row spread">
        <Setting label={text.theme} hint={text.themeText} />
        <SegmentedControl
          label={words.shell.theme}
          value={theme}
          options={themes.map((value) => ({ value, label: words.shell.themes[value] }))}
          onChange={setTheme}
        />
      </div>
      {density && (
        <div className="row spread">
          <Setting label={text.density} hint={text.densityText} />
          <SegmentedControl
            label={text.density}
            value={density}
            options={densities.map((value) => ({ value, label: text.densities[value] }))}
            onChange={(value) => changePreferences({ density: value })}
          />
        </div>
      )}
    </Card>
  )
}
