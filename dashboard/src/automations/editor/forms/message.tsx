/** The message of a step: its kind, and the fields of that kind. */
import { InputField, SelectField } from '../../../../../ui/controls.tsx'
import { editorWords } from '../../../words/automation-editor.ts'
import type { Message } from '../model/definition.ts'
import { kindOf, messageKinds, toKind } from '../model/options.ts'
import { FieldsText } from './inputs.tsx'
import { ButtonsEditor, ListEditor } from './options.tsx'
import { TemplateForm } from './template.tsx'

const { forms: text } = editorWords

export type MessageFormProps<Kind extends Message = Message> = {
  stepId: string
  /** Of the text. */
  label: string
  message: Kind
  onChange: (message: Message, field?: string) => void
}

export function MessageForm(props: MessageFormProps) {
  const { message, onChange } = props
  const kind = kindOf(message)
  return (
    <>
      <SelectField
        label={text.message}
        value={kind}
        options={messageKinds.map((each) => [each, text.kinds[each]])}
        onChange={({ target }) => {
          const next = messageKinds.find((each) => each === target.value)
          if (next) onChange(toKind(message, next))
        }}
      />
      <Content {...props} />
    </>
  )
}

function Content(props: MessageFormProps) {
  const { message, stepId, label, onChange } = props
  switch (message.type) {
    case 'text':
      return (
        <FieldsText
          stepId={stepId}
          label={label}
          rows={3}
          value={message.text}
          onChange={(value) => onChange({ ...message, text: value }, 'text')}
        />
      )
    case 'interactive':
      return <InteractiveForm {...props} message={message} />
    case 'template':
      return (
        <TemplateForm
          template={message.template}
          onChange={(template, field) => onChange({ ...message, template }, field)}
        />
      )
    case 'location':
      return <LocationForm {...props} message={message} />
    default:
      return <MediaForm {...props} message={message} />
  }
}

type OfType<Type extends Message['type']> = Extract<Message, { type: Type }>

function InteractiveForm({ message, stepId, label, onChange }: MessageFormProps<OfType<'interactive'>>) {
  const { interactive } = message
  const body = (
    <FieldsText
      stepId={stepId}
      label={label}
      rows={3}
      maxLength={interactive.kind === 'list' ? 4_096 : 1_024}
      value={interactive.body}
      onChange={(value) => onChange({ ...message, interactive: { ...interactive, body: value } }, 'body')}
    />
  )
  if (interactive.kind === 'buttons') {
    return (
      <>
        {body}
        <ButtonsEditor
          interactive={interactive}
          onChange={(next, field) => onChange({ ...message, interactive: next }, field)}
        />
      </>
    )
  }
  if (interactive.kind === 'list') {
    return (
      <>
        {body}
        <ListEditor
          interactive={interactive}
          onChange={(next, field) => onChange({ ...message, interactive: next }, field)}
        />
      </>
    )
  }
  const change = (next: typeof interactive, field: string) => onChange({ ...message, interactive: next }, field)
  return (
    <>
      {body}
      <InputField
        label={text.linkText}
        maxLength={20}
        value={interactive.text}
        onChange={({ target }) => change({ ...interactive, text: target.value }, 'title')}
      />
      <InputField
        label={text.url}
        type="url"
        placeholder={text.urlPlaceholder}
        maxLength={2_000}
        value={interactive.url}
        onChange={({ target }) => change({ ...interactive, url: target.value }, 'url')}
      />
    </>
  )
}

type MediaMessage = Extract<Message, { media_url: string }>

function MediaForm({ message, stepId, onChange }: MessageFormProps<MediaMessage>) {
  const { text: caption, filename, ...rest } = message
  const optional = (name: 'text' | 'filename', value: string) => (value ? { [name]: value } : {})
  return (
    <>
      <InputField
        label={text.mediaUrl}
        type="url"
        placeholder={text.urlPlaceholder}
        maxLength={2_000}
        value={message.media_url}
        onChange={({ target }) => onChange({ ...message, media_url: target.value }, 'media')}
      />
      {message.type !== 'audio' && (
        <FieldsText
          stepId={stepId}
          label={text.caption}
          hint={text.optional}
          rows={2}
          maxLength={1_024}
          value={caption ?? ''}
          onChange={(value) =>
            onChange({ ...rest, ...optional('filename', filename ?? ''), ...optional('text', value) }, 'text')
          }
        />
      )}
      {message.type === 'document' && (
        <InputField
          label={text.filename}
          hint={text.optional}
          maxLength={200}
          value={filename ?? ''}
          onChange={({ target }) =>
            onChange({ ...rest, ...optional('text', caption ?? ''), ...optional('filename', target.value) }, 'filename')
          }
        />
      )}
    </>
  )
}

function LocationForm({ message, onChange }: MessageFormProps<OfType<'location'>>) {
  const { location } = message
  const { name, address, ...point } = location
  const change = (next: typeof location, field: string) => onChange({ ...message, location: next }, field)
  const optional = (field: 'name' | 'address', value: string | undefined) => (value ? { [field]: value } : {})
  return (
    <>
      <div className="editor-pair">
        <NumberField
          label={text.latitude}
          value={location.latitude}
          onChange={(latitude) => change({ ...location, latitude }, 'latitude')}
        />
        <NumberField
          label={text.longitude}
          value={location.longitude}
          onChange={(longitude) => change({ ...location, longitude }, 'longitude')}
        />
      </div>
      <InputField
        label={text.place}
        hint={text.optional}
        value={name ?? ''}
        onChange={({ target }) =>
          change({ ...point, ...optional('address', address), ...optional('name', target.value) }, 'name')
        }
      />
      <InputField
        label={text.address}
        hint={text.optional}
        value={address ?? ''}
        onChange={({ target }) =>
          change({ ...point, ...optional('name', name), ...optional('address', target.value) }, 'address')
        }
      />
    </>
  )
}

function NumberField({ label, value, onChange }: { label: string; value: number; onChange: (value: number) => void }) {
  return (
    <InputField
      label={label}
      type="number"
      step="any"
      defaultValue={value}
      onChange={({ target }) => target.value !== '' && onChange(Number(target.value))}
    />
  )
}
