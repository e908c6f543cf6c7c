/** The member's own profile: name, password, two-step sign-in, appearance and sessions. */
import { Button, Field, Form, InputField, SegmentedControl } from '../../../ui/controls.tsx'
import { Card } from '../../../ui/display.tsx'
import { useToast } from '../../../ui/overlays.tsx'
import { useChange } from '../lib/api.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { useChangePreferences, usePreferences } from '../lib/preferences.ts'
import { useSession } from '../lib/session.tsx'
import { setTheme, themes, useTheme } from '../lib/theme.ts'
import { Page } from '../ui/page.tsx'
import { PasswordInput } from '../ui/password-input.tsx'
import { words } from '../words/words.ts'
import { SecondFactor } from './second-factor.tsx'
import { Sessions } from './sessions.tsx'

const { profile: text } = words.settings

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
  const toast = useToast()
  const save = useChange('PATCH /profile', {
    stale: ['GET /session', 'GET /members'],
    onDone: () => toast.success(words.common.saved),
  })
  const { values, bind } = useFormFields({ name: member.name ?? '' }, save.error)
  return (
    <Card title={text.person}>
      <Form className="settings-form" onSubmit={() => save.mutate({ body: values })}>
        <InputField label={text.name} hint={text.nameHint} required autoComplete="name" {...bind('name', 'rest')} />
        <dl className="facts settings-facts">
          <dt>{text.email}</dt>
          <dd>{member.email}</dd>
          <dt>{text.role}</dt>
          <dd>{words.roles[role]}</dd>
        </dl>
        <div className="row">
          <Button
            label={words.common.save}
            type="submit"
            variant="primary"
            busy={save.isPending}
            disabled={values.name === (member.name ?? '')}
          />
        </div>
      </Form>
    </Card>
  )
}

const noPasswords = { current_password: '', new_password: '' }

function Password() {
  const { member } = useSession()
  const toast = useToast()
  const save = useChange('PATCH /profile', {
    stale: ['GET /sessions'],
    onDone: () => {
      setValues(noPasswords)
      toast.success(text.passwordChanged)
    },
  })
  const { values, setValues, bind } = useFormFields(noPasswords, save.error)
  return (
    <Card title={text.password}>
      <Form className="settings-form" onSubmit={() => save.mutate({ body: values })}>
        {/* For password managers: whose password it is. */}
        <input type="hidden" name="username" autoComplete="username" value={member.email} readOnly />
        <Field label={text.current} {...bind('current_password', 'rest')}>
          {(wiring) => <PasswordInput {...wiring} required autoComplete="current-password" />}
        </Field>
        <Field label={text.next} hint={text.nextHint} {...bind('new_password')}>
          {(wiring) => <PasswordInput {...wiring} required minLength={8} autoComplete="new-password" />}
        </Field>
        <div className="row">
          <Button
            label={text.changePassword}
            type="submit"
            variant="primary"
            busy={save.isPending}
            disabled={Object.values(values).includes('')}
          />
        </div>
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
