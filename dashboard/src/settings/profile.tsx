/** The member's own profile: name, password, two-step sign-in, appearance and sessions. */
import { type FormEvent, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Card } from '../../../ui/card.tsx'
import { Field, Input, SegmentedControl } from '../../../ui/form.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { useChange } from '../lib/api.ts'
import { fieldErrorsOf } from '../lib/field-errors.ts'
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
  const [name, setName] = useState(member.name ?? '')
  const save = useChange('PATCH /profile', {
    stale: ['GET /session', 'GET /members'],
    onDone: () => toast.success(words.common.saved),
  })
  const errors = fieldErrorsOf(save.error, ['name'])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate({ body: { name } })
  }
  return (
    <Card title={text.person}>
      <form className="settings-form" onSubmit={submit}>
        <Field label={text.name} hint={text.nameHint} error={errors.name ?? errors.rest}>
          {(wiring) => (
            <Input
              {...wiring}
              required
              autoComplete="name"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <dl className="facts settings-facts">
          <dt>{text.email}</dt>
          <dd>{member.email}</dd>
          <dt>{text.role}</dt>
          <dd>{words.roles[role]}</dd>
        </dl>
        <div className="row">
          <Button type="submit" variant="primary" busy={save.isPending} disabled={name === (member.name ?? '')}>
            {words.common.save}
          </Button>
        </div>
      </form>
    </Card>
  )
}

function Password() {
  const { member } = useSession()
  const toast = useToast()
  const [current, setCurrent] = useState('')
  const [wanted, setWanted] = useState('')
  const save = useChange('PATCH /profile', {
    stale: ['GET /sessions'],
    onDone: () => {
      setCurrent('')
      setWanted('')
      toast.success(text.passwordChanged)
    },
  })
  const errors = fieldErrorsOf(save.error, ['current_password', 'new_password'])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate({ body: { current_password: current, new_password: wanted } })
  }
  return (
    <Card title={text.password}>
      <form className="settings-form" onSubmit={submit}>
        {/* For password managers: whose password it is. */}
        <input type="hidden" name="username" autoComplete="username" value={member.email} readOnly />
        <Field label={text.current} error={errors.current_password ?? errors.rest}>
          {(wiring) => (
            <PasswordInput
              {...wiring}
              required
              autoComplete="current-password"
              value={current}
              onChange={(event) => setCurrent(event.target.value)}
            />
          )}
        </Field>
        <Field label={text.next} hint={text.nextHint} error={errors.new_password}>
          {(wiring) => (
            <PasswordInput
              {...wiring}
              required
              minLength={8}
              autoComplete="new-password"
              value={wanted}
              onChange={(event) => setWanted(event.target.value)}
            />
          )}
        </Field>
        <div className="row">
          <Button type="submit" variant="primary" busy={save.isPending} disabled={!current || !wanted}>
            {text.changePassword}
          </Button>
        </div>
      </form>
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
