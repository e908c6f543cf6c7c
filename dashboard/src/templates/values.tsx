/**
 * The form for a template's values: header, body, buttons, and the same for each card. Renders nothing for a template without
 * values.
 *
 * `errors` are shown at the value with the same path (see `parse-template.ts`). With `withContact`, values can contain contact
 * fields, which only broadcasts support.
 */
import './values.css'
import type { TemplateParams } from '../lib/calls.ts'
import { words } from '../words/words.ts'
import {
  type Button,
  type Header,
  type Part,
  parseTemplate,
  type Template,
  type Values,
  type Variable,
  variablePath,
  variableValue,
} from './parse-template.ts'
import { ValueInput } from './value-input.tsx'

const { values: text } = words.templates

export type ValueErrors = Readonly<Record<string, string>>

type TemplateValuesProps = {
  template: Template
  params: TemplateParams
  onChange: (params: TemplateParams) => void
  errors?: ValueErrors | undefined
  withContact?: boolean
}

export function TemplateValues({ template, params, onChange, errors = {}, withContact = false }: TemplateValuesProps) {
  const part = parseTemplate(template)
  const changeCard = (index: number, values: Values) => {
    const cards = part.cards.map((_, at) => params.cards?.[at] ?? {})
    cards[index] = values
    onChange({ ...params, cards })
  }
  return (
    <div className="stack values">
      <PartValues
        part={part}
        values={params}
        path=""
        errors={errors}
        withContact={withContact}
        onChange={(values) => onChange({ ...params, ...values })}
      />
      {part.cards.map((card, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the order of the cards is fixed.
        <fieldset key={index} className="stack values-card">
          <legend>{text.card(index + 1)}</legend>
          <PartValues
            part={card}
            values={params.cards?.[index] ?? {}}
            path={`cards[${index}].`}
            errors={errors}
            withContact={withContact}
            onChange={(values) => changeCard(index, values)}
          />
        </fieldset>
      ))}
    </div>
  )
}

type PartProps = {
  part: Part
  values: Values
  path: string
  errors: ValueErrors
  withContact: boolean
  onChange: (values: Values) => void
}

type ValueField = {
  path: string
  label: string
  value: string
  hint?: string | undefined
  isFile?: boolean
  isImage?: boolean
  onChange: (value: string) => void
}

function PartValues({ part: { header, body, buttons }, values, path, errors, withContact, onChange }: PartProps) {
  const fields = [
    ...headerFields(header, values, onChange),
    ...(body?.variables ?? []).map((variable) =>
      variableField(variable, body?.variables.length ?? 0, values, onChange),
    ),
    ...buttons.flatMap((button, index) => buttonFields(button, index, values, onChange)),
  ]
  return fields.map(({ path: name, ...field }) => (
    <ValueInput key={name} {...field} error={errors[path + name]} withContact={withContact} />
  ))
}

function headerFields(header: Header | null, values: Values, onChange: PartProps['onChange']): ValueField[] {
  const field = (
    path: 'headerText' | 'headerMediaUrl' | 'headerFilename',
    label: string,
    hint?: string,
  ): ValueField => ({
    path,
    label,
    hint,
    value: values[path] ?? '',
    // The service rejects empty strings.
    onChange: (value) => onChange({ ...values, [path]: value || undefined }),
  })
  if (header?.kind === 'text') {
    return header.variable ? [field('headerText', text.headerText, exampleOf(header.variable.example))] : []
  }
  if (header?.kind === 'location') return locationFields(values, onChange)
  if (!header) return []
  const media = {
    ...field('headerMediaUrl', text.media[header.kind], text.mediaHint),
    isFile: true,
    isImage: header.kind === 'image',
  }
  return header.kind === 'document' ? [media, field('headerFilename', text.filename, text.filenameHint)] : [media]
}

function locationFields(values: Values, onChange: PartProps['onChange']): ValueField[] {
  const location = values.headerLocation ?? { latitude: '', longitude: '' }
  const names = ['latitude', 'longitude', 'name', 'address'] as const
  const labels = {
    latitude: text.latitude,
    longitude: text.longitude,
    name: text.placeName,
    address: text.address,
  }
  return names.map((name) => ({
    path: `headerLocation.${name}`,
    label: labels[name],
    value: location[name] ?? '',
    onChange: (value) => {
      const isRequired = name === 'latitude' || name === 'longitude'
      onChange({ ...values, headerLocation: { ...location, [name]: value || (isRequired ? '' : undefined) } })
    },
  }))
}

function variableField(variable: Variable, count: number, values: Values, onChange: PartProps['onChange']): ValueField {
  const { name, index, isNamed, example } = variable
  return {
    path: variablePath(variable),
    label: isNamed ? text.named(name) : text.positional(name),
    hint: exampleOf(example),
    value: variableValue(variable, values),
    onChange: (value) => {
      if (isNamed) return onChange({ ...values, bodyNamed: { ...values.bodyNamed, [name]: value } })
      const body = Array.from({ length: count }, (_, at) => values.body?.[at] ?? '')
      body[index] = value
      onChange({ ...values, body })
    },
  }
}

function buttonFields(button: Button, index: number, values: Values, onChange: PartProps['onChange']): ValueField[] {
  if (!button.needs) return []
  return [
    {
      path: `buttonParams.${index}`,
      label: text[button.needs](button.text),
      hint: button.needs === 'url' ? (button.url ?? undefined) : exampleOf(button.example),
      value: values.buttonParams?.[index] ?? '',
      onChange: (value) => onChange({ ...values, buttonParams: { ...values.buttonParams, [index]: value } }),
    },
  ]
}

const exampleOf = (example: string | null): string | undefined => (example ? text.example(example) : undefined)
