/** The web channel: the script tag for the website, the site ID, and the settings of the chat widget with a live preview. */
import { useState } from 'react'
import {
  Field,
  Form,
  InputField,
  SegmentedControl,
  SelectField,
  SubmitButton,
  TextAreaField,
} from '../../../ui/controls.tsx'
import { Secret } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { readableOn } from '../../../widget/src/color.ts'
import { type DataOf, useCall, useChange } from '../lib/api.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { CopyableCode, Facts } from '../ui/facts.tsx'
import { QueryView } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import type { Connection } from './connection.ts'

const { widget: text } = words.settings.channels.web

type Widget = DataOf<'GET /channels/web/widget'>

function WidgetSettings({ isManager }: { isManager: boolean }) {
  const query = useCall('GET /channels/web/widget', {}, { enabled: isManager })
  if (!isManager) return null
  return (
    <details className="settings-advanced">
      <summary>{text.title}</summary>
      <QueryView query={query} lines={4}>
        {(stored) => <WidgetForm widget={stored} />}
      </QueryView>
    </details>
  )
}

function WidgetForm({ widget: stored }: { widget: Widget }) {
  const [position, setPosition] = useState(stored.position)
  const [askDetails, setAskDetails] = useState(stored.ask_details)
  const save = useChange('PATCH /channels/web/widget', {
    stale: ['GET /channels/web/widget'],
    done: words.common.saved,
    onDone: ({ allowed_origins }) => setValues((now) => ({ ...now, allowed_origins: allowed_origins.join('\n') })),
  })
  const { values, setValues, errors, bind } = useFormFields(
    {
      title: stored.title ?? '',
      greeting: stored.greeting ?? '',
      color: stored.color,
      allowed_origins: stored.allowed_origins.join('\n'),
    },
    save.error,
    ['position', 'ask_details'],
  )
  const { title, greeting, color } = values
  const submit = () => {
    const allowed_origins = values.allowed_origins.split(/\s+/).filter(Boolean)
    save.mutate({ body: { title, greeting, color, position, ask_details: askDetails, allowed_origins } })
  }
  return (
    <Form className="settings-widget" onSubmit={submit}>
      <div className="stack settings-form">
        <InputField
          label={text.name}
          hint={text.nameHint}
          autoComplete="off"
          placeholder={text.namePlaceholder}
          {...bind('title', 'rest')}
        />
        <TextAreaField label={text.greeting} rows={2} placeholder={text.greetingPlaceholder} {...bind('greeting')} />
        <Field label={text.color} {...bind('color')}>
          {(wiring) => <input {...wiring} type="color" className="settings-color" />}
        </Field>
        <div>
          <p className="settings-label">{text.position}</p>
          <SegmentedControl
            label={text.position}
            value={position}
            options={[
              { value: 'left', label: text.positions.left },
              { value: 'right', label: text.positions.right },
            ]}
            onChange={setPosition}
          />
        </div>
        <SelectField
          label={text.details}
          hint={text.detailsHint}
          error={errors.ask_details}
          value={askDetails}
          options={askDetailsOptions.map((option) => [option, text.detailsOptions[option]])}
          onChange={({ target }) => setAskDetails(askDetailsOptions.find((one) => one === target.value) ?? 'never')}
        />
        <TextAreaField
          label={text.origins}
          hint={text.originsHint}
          rows={3}
          spellCheck={false}
          placeholder={text.originsPlaceholder}
          {...bind('allowed_origins')}
        />
        <div className="row">
          <SubmitButton label={words.common.save} busy={save.isPending} />
        </div>
      </div>
      <WidgetPreview
        title={title.trim() || text.namePlaceholder}
        greeting={greeting.trim() || text.greetingPlaceholder}
        color={color}
        position={position}
      />
    </Form>
  )
}

const askDetailsOptions: readonly Widget['ask_details'][] = ['never', 'optional', 'required']

type PreviewProps = Pick<Widget, 'color' | 'position'> & Record<'title' | 'greeting', string>

function WidgetPreview({ title, greeting, color, position }: PreviewProps) {
  const colors = { background: color, color: readableOn(color) }
  return (
    <div className="stack settings-widget-preview small" data-side={position} aria-hidden="true">
      <div className="stack settings-widget-preview-panel">
        <div className="settings-widget-preview-head" style={colors}>
          <strong dir="auto">{title}</strong>
          <p dir="auto">{greeting}</p>
        </div>
        <p className="settings-widget-preview-theirs">{text.sampleAnswer}</p>
        <p className="settings-widget-preview-own" style={colors}>
          {text.sampleQuestion}
        </p>
      </div>
      <span className="settings-widget-preview-button" style={colors}>
        <Icon name="chat" />
      </span>
    </div>
  )
}

const { channels } = words.settings

export function WebChannel({ connection: { id }, isManager }: { connection: Connection; isManager: boolean }) {
  const snippet = `<script src="${location.origin}/widget.js" data-site="${id}" async></script>`
  return (
    <>
      <p>{channels.web.paste}</p>
      <Secret text={snippet} />
      <Facts
        className="settings-facts"
        facts={{ [channels.web.siteId]: <CopyableCode text={id} label={channels.web.copySiteId} /> }}
      />
      <WidgetSettings isManager={isManager} />
    </>
  )
}
