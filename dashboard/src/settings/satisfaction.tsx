/** How customers are asked for a rating after a conversation: the switch, the rules, the texts with a preview, and the template. */
import './satisfaction.css'
import { useState } from 'react'
import { Checkbox, Field, Form, InputField, Select, Switch, TextAreaField } from '../../../ui/controls.tsx'
import { Card, ErrorNote, Note } from '../../../ui/display.tsx'
import { TagInput } from '../contacts/tag-input.tsx'
import { type DataOf, useCall, useChange } from '../lib/api.ts'
import type { TemplateParams } from '../lib/calls.ts'
import { describeConnection, useConnections } from '../lib/connections.ts'
import { fieldErrorsOf, useFormFields } from '../lib/field-errors.ts'
import { useIsManager } from '../lib/session.tsx'
import { isUsable } from '../templates/status.tsx'
import { TemplateValues } from '../templates/values.tsx'
import { Page, QueryView } from '../ui/page.tsx'
import { settingsWords } from '../words/settings.ts'
import { words } from '../words/words.ts'
import { SatisfactionPreview } from './satisfaction-preview.tsx'
import { isDifferent, SaveRow } from './save-row.tsx'

const { satisfaction: text } = settingsWords

type Stored = DataOf<'GET /satisfaction'>
type Props = { stored: Stored; isManager: boolean }

export function Satisfaction() {
  const query = useCall('GET /satisfaction', {})
  const isManager = useIsManager()
  return (
    <Page title={text.title} lead={text.lead} narrow>
      {!isManager && <Note>{words.common.onlyManagers}</Note>}
      <QueryView query={query}>
        {(stored) => (
          <>
            <Asking stored={stored} isManager={isManager} />
            <Rules stored={stored} isManager={isManager} />
            <Texts stored={stored} isManager={isManager} />
            <OutsideWindow stored={stored} isManager={isManager} />
          </>
        )}
      </QueryView>
    </Page>
  )
}

const saving = { stale: ['GET /satisfaction'], done: words.common.saved } as const

function Asking({ stored, isManager }: Props) {
  const save = useChange('PATCH /satisfaction', { ...saving, reportsError: true })
  return (
    <Card title={text.asking}>
      <Switch
        label={text.isOn}
        hint={text.isOnHint}
        checked={stored.is_on}
        disabled={!isManager || save.isPending}
        onChange={({ target }) => save.mutate({ body: { is_on: target.checked } })}
      />
    </Card>
  )
}

function Rules({ stored, isManager }: Props) {
  const save = useChange('PATCH /satisfaction', saving)
  const { values, errors, bind } = useFormFields(
    {
      delay_seconds: String(stored.delay_seconds / 60),
      min_days: String(stored.min_days),
    },
    save.error,
    ['connection_ids', 'team_ids', 'skip_labels'],
  )
  const [skipLabels, setSkipLabels] = useState(stored.skip_labels)
  const [connectionIds, setConnectionIds] = useState(stored.connection_ids)
  const [teamIds, setTeamIds] = useState(stored.team_ids)
  const connections = useConnections()
  const teams = useCall('GET /teams', {}).data ?? []
  const body = {
    delay_seconds: Math.round(Number(values.delay_seconds) * 60),
    min_days: Number(values.min_days),
    skip_labels: skipLabels,
    connection_ids: connectionIds,
    team_ids: teamIds,
  }
  const isIncomplete = connectionIds?.length === 0 || teamIds?.length === 0
  return (
    <Card title={text.when}>
      <Form className="stack settings-form" onSubmit={() => save.mutate({ body })}>
        <InputField
          label={text.delay}
          hint={text.delayHint}
          type="number"
          min={0}
          max={1_440}
          step="any"
          required
          disabled={!isManager}
          {...bind('delay_seconds', 'rest')}
        />
        <InputField
          label={text.minDays}
          type="number"
          min={1}
          max={365}
          required
          disabled={!isManager}
          {...bind('min_days')}
        />
        <Field label={text.skipLabels} hint={text.skipLabelsHint} error={errors.skip_labels}>
          {() => <TagInput kind="label" names={skipLabels} onChange={setSkipLabels} disabled={!isManager} />}
        </Field>
        {connections.length > 1 && (
          <Chosen
            label={text.connections}
            options={connections.map((each) => ({ id: each.id, name: describeConnection(each) }))}
            ids={connectionIds}
            error={errors.connection_ids}
            disabled={!isManager}
            onChange={setConnectionIds}
          />
        )}
        {teams.length > 0 && (
          <Chosen
            label={text.teams}
            options={teams}
            ids={teamIds}
            error={errors.team_ids}
            disabled={!isManager}
            onChange={setTeamIds}
          />
        )}
        {isManager && <SaveRow isBusy={save.isPending} isChanged={isDifferent(body, stored)} isReady={!isIncomplete} />}
      </Form>
    </Card>
  )
}

type ChosenProps = {
  label: string
  options: readonly { id: string; name: string }[]
  /** Null: all. */
  ids: string[] | null
  error: string | undefined
  disabled: boolean
  onChange: (ids: string[] | null) => void
}

/** All of a list, or the chosen ones. */
function Chosen({ label, options, ids, error, disabled, onChange }: ChosenProps) {
  return (
    <fieldset className="column satisfaction-chosen" disabled={disabled}>
      <legend>{label}</legend>
      <Checkbox
        label={text.all}
        checked={ids === null}
        onChange={({ target }) => onChange(target.checked ? null : [])}
      />
      {ids !== null && (
        <fieldset className="column satisfaction-options" aria-label={text.chosen}>
          {options.map(({ id, name }) => (
            <Checkbox
              key={id}
              label={name}
              checked={ids.includes(id)}
              onChange={({ target }) => onChange(target.checked ? [...ids, id] : ids.filter((other) => other !== id))}
            />
          ))}
        </fieldset>
      )}
      {ids?.length === 0 && <small className="soft">{text.chooseOne}</small>}
      {error && <ErrorNote>{error}</ErrorNote>}
    </fieldset>
  )
}

const ratings = [5, 4, 3, 2, 1] as const

function Texts({ stored, isManager }: Props) {
  const save = useChange('PATCH /satisfaction', saving)
  const { values, bind } = useFormFields(
    {
      question: stored.question,
      list_button: stored.list_button,
      thanks: stored.thanks,
      comment_request: stored.comment_request,
    },
    save.error,
    ['choices'],
  )
  const [choices, setChoices] = useState<readonly string[]>(stored.choices)
  const { choices: choicesError } = fieldErrorsOf(save.error, ['choices'])
  const body = {
    question: values.question.trim(),
    list_button: values.list_button.trim(),
    thanks: values.thanks.trim(),
    comment_request: values.comment_request.trim(),
    choices: choices.map((choice) => choice.trim()),
  }
  return (
    <>
      <Card title={text.texts}>
        <Form className="stack settings-form" onSubmit={() => save.mutate({ body })}>
          <TextAreaField
            label={text.question}
            rows={2}
            maxLength={500}
            required
            disabled={!isManager}
            {...bind('question', 'rest')}
          />
          <fieldset className="column satisfaction-choices" disabled={!isManager}>
            <legend>{text.choices}</legend>
            {ratings.map((rating) => (
              <input
                key={rating}
                className="input"
                aria-label={text.choice(rating)}
                maxLength={20}
                required
                value={choices[rating - 1] ?? ''}
                onChange={({ target }) => setChoices((now) => now.with(rating - 1, target.value))}
              />
            ))}
            <small className="soft">{text.choicesHint}</small>
            {choicesError && <ErrorNote>{choicesError}</ErrorNote>}
          </fieldset>
          <InputField
            label={text.listButton}
            hint={text.listButtonHint}
            maxLength={20}
            required
            disabled={!isManager}
            {...bind('list_button')}
          />
          <TextAreaField
            label={text.thanks}
            hint={text.thanksHint}
            rows={2}
            maxLength={500}
            disabled={!isManager}
            {...bind('thanks')}
          />
          <TextAreaField
            label={text.commentRequest}
            hint={text.commentRequestHint}
            rows={2}
            maxLength={500}
            disabled={!isManager}
            {...bind('comment_request')}
          />
          {isManager && <SaveRow isBusy={save.isPending} isChanged={isDifferent(body, stored)} />}
        </Form>
      </Card>
      <Card title={text.preview}>
        <SatisfactionPreview {...values} choices={choices} />
      </Card>
    </>
  )
}

type Template = NonNullable<Stored['template']>

const defaultLanguage = 'en_US'
const keyOf = ({ name, language = defaultLanguage }: { name: string; language?: string | undefined }): string =>
  `${name} ${language}`

/** A list holds the values of the body. */
const toParams = (params: Template['params'] = {}): TemplateParams =>
  Array.isArray(params) ? { body: params } : params

function OutsideWindow({ stored, isManager }: Props) {
  const all = useCall('GET /templates', {}).data
  const save = useChange('PATCH /satisfaction', { ...saving, onDone: (saved) => setTemplate(saved.template) })
  const [template, setTemplate] = useState<Template | null>(stored.template)
  // Two numbers may have a template of the same name.
  const usable = [...new Map((all ?? []).filter(isUsable).map((each) => [keyOf(each), each])).values()]
  const key = template ? keyOf(template) : ''
  const chosen = usable.find((each) => keyOf(each) === key)
  const { template: error, rest } = fieldErrorsOf(save.error, ['template'])
  return (
    <Card title={text.template}>
      <Form className="stack settings-form" onSubmit={() => save.mutate({ body: { template } })}>
        <p className="soft">{text.templateLead}</p>
        <Field
          label={text.templateField}
          hint={all && usable.length === 0 ? text.noApproved : undefined}
          error={error ?? rest}
        >
          {(wiring) => (
            <Select
              {...wiring}
              disabled={!isManager}
              value={key}
              options={usable.map((each) => [keyOf(each), `${each.name} · ${each.language}`])}
              onChange={({ target }) => {
                const next = usable.find((each) => keyOf(each) === target.value)
                setTemplate(next ? { name: next.name, language: next.language } : null)
              }}
            >
              <option value="">{text.noTemplate}</option>
              {template && !chosen && <option value={key}>{template.name}</option>}
            </Select>
          )}
        </Field>
        {template && chosen && isManager && (
          <TemplateValues
            template={chosen}
            params={toParams(template.params)}
            withContact
            onChange={(params) => setTemplate({ ...template, params })}
          />
        )}
        {isManager && <SaveRow isBusy={save.isPending} isChanged={isDifferent({ template }, stored)} />}
      </Form>
    </Card>
  )
}
