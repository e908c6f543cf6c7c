/** Workspace settings: name, default country, time zone, replies, sign-in and opt-out keywords. */

import { useState } from 'react'
import { Link } from 'wouter'
import { Button, Field, Form, Input, InputField, SelectField, Switch } from '../../../ui/controls.tsx'
import { Card, Note } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { type DataOf, useCall, useChange } from '../lib/api.ts'
import { countries } from '../lib/countries.ts'
import { fieldErrorsOf, useFormFields } from '../lib/field-errors.ts'
import { useIsManager, useSession } from '../lib/session.tsx'
import { timeZoneOptions } from '../lib/time-zones.ts'
import { Page, QueryView } from '../ui/page.tsx'
import { settingsWords } from '../words/settings.ts'
import { words } from '../words/words.ts'
import { isDifferent, SaveRow } from './save-row.tsx'

const { workspace: text } = settingsWords

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
            <ReplyRules workspace={workspace} isManager={isManager} />
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
    stale: ['GET /workspace', 'GET /session', 'GET /overview'],
    done: words.common.saved,
    onDone: ({ name }) => setValues((now) => ({ ...now, name })),
  })
  const { values, setValues, bind } = useFormFields(
    { name: stored.name, default_country: stored.default_country, time_zone: stored.time_zone },
    save.error,
  )
  return (
    <Card title={text.general}>
      <Form className="stack settings-form" onSubmit={() => save.mutate({ body: values })}>
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
        <SelectField
          label={text.timeZone}
          hint={text.timeZoneHint}
          disabled={!isManager}
          options={timeZoneOptions(stored.time_zone)}
          {...bind('time_zone')}
        />
        {isManager && <SaveRow isBusy={save.isPending} isChanged={isDifferent(values, stored)} />}
      </Form>
    </Card>
  )
}

function ReplyRules({ workspace, isManager }: { workspace: WorkspaceView; isManager: boolean }) {
  const save = useChange('PATCH /workspace', {
    stale: ['GET /workspace'],
    done: words.common.saved,
    reportsError: true,
  })
  return (
    <Card title={text.replies}>
      <Switch
        label={text.assignOnReply}
        hint={text.assignOnReplyHint}
        checked={workspace.assign_on_reply}
        disabled={!isManager || save.isPending}
        onChange={(event) => save.mutate({ body: { assign_on_reply: event.target.checked } })}
      />
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
  const isWithoutOwn = own.data !== undefined && hasNone && !isOn
  const ownFirst = isWithoutOwn && <Link href="/settings/profile">{text.ownFirst}</Link>
  const blocked = isOwner ? ownFirst : text.onlyOwners
  return (
    <Card title={text.signIn}>
      <Switch
        label={text.requireSecondFactor}
        hint={
          <>
            {blocked && <strong className="settings-blocked">{blocked}</strong>}
            {text.requireSecondFactorHint}
          </>
        }
        checked={isOn}
        disabled={!isOwner || (!isOn && hasNone) || save.isPending}
        onChange={(event) => save.mutate({ body: { requires_second_factor: event.target.checked } })}
      />
    </Card>
  )
}

/** Adds the stored country to the options if the list lacks it: the service knows a few more. */
const countryOptions = (code: string): typeof countries =>
  countries.some(([known]) => known === code) ? countries : [[code, code], ...countries]

const { optOutKeywords: keywordTexts } = settingsWords

/** Keywords that opt a contact out of broadcasts: two fixed ones and the workspace's own. Each change is saved at once. */
function OptOutKeywords({ keywords, isManager }: { keywords: readonly string[]; isManager: boolean }) {
  const [keyword, setKeyword] = useState('')
  const save = useChange('PATCH /workspace', {
    stale: ['GET /workspace'],
    done: words.common.saved,
    // Clears the input only if it still holds the keyword that was added.
    onDone: (_, { body }) => setKeyword((now) => (body.opt_out_words?.includes(now.trim()) ? '' : now)),
  })
  const errors = fieldErrorsOf(save.error, ['opt_out_words'])
  const set = (next: string[]) => save.mutate({ body: { opt_out_words: next } })
  const add = () => {
    if (keyword.trim()) set([...keywords, keyword.trim()])
  }
  return (
    <Card title={keywordTexts.title}>
      <p className="soft">{keywordTexts.lead}</p>
      <ul className="settings-chips" aria-label={keywordTexts.title}>
        {keywordTexts.always.map((each) => (
          <li key={each} className="settings-chip" data-fixed="" title={keywordTexts.alwaysHint}>
            {each}
            <span className="offscreen">{keywordTexts.alwaysHint}</span>
          </li>
        ))}
        {keywords.map((each) => (
          <li key={each} className="settings-chip">
            {each}
            {isManager && (
              <button
                type="button"
                aria-label={keywordTexts.remove(each)}
                disabled={save.isPending}
                onClick={() => set(keywords.filter((other) => other !== each))}
              >
                <Icon name="close" />
              </button>
            )}
          </li>
        ))}
      </ul>
      {isManager && (
        <Form className="settings-inline" onSubmit={add}>
          <Field label={keywordTexts.add} hint={keywordTexts.hint} error={errors.opt_out_words ?? errors.rest}>
            {(wiring) => (
              <div className="settings-inline-input">
                <Input
                  {...wiring}
                  autoComplete="off"
                  placeholder={keywordTexts.placeholder}
                  value={keyword}
                  onChange={(event) => setKeyword(event.target.value)}
                />
                <Button
                  label={keywordTexts.addButton}
                  type="submit"
                  icon="plus"
                  busy={save.isPending}
                  disabled={!keyword.trim()}
                />
              </div>
            )}
          </Field>
        </Form>
      )}
      <p className="soft small">{keywordTexts.start}</p>
    </Card>
  )
}
