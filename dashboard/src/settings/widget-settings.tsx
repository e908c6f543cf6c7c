/** Settings of the chat widget: texts, color, position, visitor details and allowed websites, with a live preview. */
import { type FormEvent, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Field, Input, SegmentedControl, Select, TextArea } from '../../../ui/form.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { readableOn } from '../../../widget/src/color.ts'
import { type DataOf, useCall, useChange } from '../lib/api.ts'
import { fieldErrorsOf } from '../lib/field-errors.ts'
import { QueryView } from '../ui/page.tsx'
import { words } from '../words/words.ts'

const { widget: text } = words.settings.channels.web

type Widget = DataOf<'GET /channels/web/widget'>

export function WidgetSettings({ isManager }: { isManager: boolean }) {
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

const fields = ['title', 'greeting', 'color', 'position', 'ask_details', 'allowed_origins'] as const

function WidgetForm({ widget: stored }: { widget: Widget }) {
  const toast = useToast()
  const [title, setTitle] = useState(stored.title ?? '')
  const [greeting, setGreeting] = useState(stored.greeting ?? '')
  const [color, setColor] = useState(stored.color)
  const [position, setPosition] = useState(stored.position)
  const [askDetails, setAskDetails] = useState(stored.ask_details)
  const [origins, setOrigins] = useState(stored.allowed_origins.join('\n'))
  const save = useChange('PATCH /channels/web/widget', {
    stale: ['GET /channels/web/widget'],
    onDone: ({ allowed_origins }) => {
      setOrigins(allowed_origins.join('\n'))
      toast.success(words.common.saved)
    },
  })
  const errors = fieldErrorsOf(save.error, fields)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const allowed_origins = origins.split(/\s+/).filter(Boolean)
    save.mutate({ body: { title, greeting, color, position, ask_details: askDetails, allowed_origins } })
  }
  return (
    <form className="settings-widget" onSubmit={submit}>
      <div className="settings-form">
        <Field label={text.name} hint={text.nameHint} error={errors.title ?? errors.rest}>
          {(wiring) => (
            <Input
              {...wiring}
              autoComplete="off"
              placeholder={text.namePlaceholder}
              value={title}
              onChange={(event) => setTitle(event.target.value)}
            />
          )}
        </Field>
        <Field label={text.greeting} error={errors.greeting}>
          {(wiring) => (
            <TextArea
              {...wiring}
              rows={2}
              placeholder={text.greetingPlaceholder}
              value={greeting}
              onChange={(event) => setGreeting(event.target.value)}
            />
          )}
        </Field>
        <Field label={text.color} error={errors.color}>
          {(wiring) => (
            <input
              {...wiring}
              type="color"
              className="settings-color"
              value={color}
              onChange={(event) => setColor(event.target.value)}
            />
          )}
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
        <Field label={text.details} hint={text.detailsHint} error={errors.ask_details}>
          {(wiring) => (
            <Select
              {...wiring}
              value={askDetails}
              onChange={(event) =>
                setAskDetails(askDetailsOptions.find((option) => option === event.target.value) ?? 'never')
              }
            >
              {askDetailsOptions.map((option) => (
                <option key={option} value={option}>
                  {text.detailsOptions[option]}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label={text.origins} hint={text.originsHint} error={errors.allowed_origins}>
          {(wiring) => (
            <TextArea
              {...wiring}
              rows={3}
              spellCheck={false}
              placeholder={text.originsPlaceholder}
              value={origins}
              onChange={(event) => setOrigins(event.target.value)}
            />
          )}
        </Field>
        <div className="row">
          <Button type="submit" variant="primary" busy={save.isPending}>
            {words.common.save}
          </Button>
        </div>
      </div>
      <WidgetPreview
        title={title.trim() || text.namePlaceholder}
        greeting={greeting.trim() || text.greetingPlaceholder}
        color={color}
        position={position}
      />
    </form>
  )
}

const askDetailsOptions: readonly Widget['ask_details'][] = ['never', 'optional', 'required']

function WidgetPreview({
  title,
  greeting,
  color,
  position,
}: Pick<Widget, 'color' | 'position'> & Record<string, string>) {
  const colors = { background: color, color: readableOn(color) }
  return (
    <div className="settings-widget-preview" data-side={position} aria-hidden="true">
      <div className="settings-widget-preview-panel">
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
