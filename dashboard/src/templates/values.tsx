/**
 * Everything a template needs to be sent, asked for part by part: header, text,
 * buttons, and the same for each card. A template that needs nothing shows
 * nothing.
 *
 * `faults` are shown beside the value at their path (see `shape.ts`). With
 * `withContact` a value may take a field of whoever gets it, as broadcasts can.
 */
import './values.css'
import type { TemplateParams } from '../lib/calls.ts'
import { words } from '../words/words.ts'
import {
  type Button,
  givenValue,
  type Header,
  type Part,
  pathOfVariable,
  readTemplate,
  type Template,
  type Values,
  type Variable,
} from './shape.ts'
import { TextValue } from './text-value.tsx'

const { values: text } = words.templates

export type Faults = Readonly<Record<string, string>>

type TemplateValuesProps = {
  template: Template
  params: TemplateParams
  onChange: (params: TemplateParams) => void
  faults?: Faults | undefined
  withContact?: boolean
}

export function TemplateValues({ template, params, onChange, faults = {}, withContact = false }: TemplateValuesProps) {
  const part = readTemplate(template)
  const changeCard = (place: number, values: Values) => {
    const cards = part.cards.map((_, at) => params.cards?.[at] ?? {})
    cards[place] = values
    onChange({ ...params, cards })
  }
  return (
    <div className="values">
      <PartValues
        part={part}
        values={params}
        path=""
        faults={faults}
        withContact={withContact}
        onChange={(values) => onChange({ ...params, ...values })}
      />
      {part.cards.map((card, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: cards have nothing but their places.
        <fieldset key={place} className="values-card">
          <legend>{text.card(place + 1)}</legend>
          <PartValues
            part={card}
            values={params.cards?.[place] ?? {}}
            path={`cards[${place}].`}
            faults={faults}
            withContact={withContact}
            onChange={(values) => changeCard(place, values)}
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
  faults: Faults
  withContact: boolean
  onChange: (values: Values) => void
}

type Ask = {
  path: string
  label: string
  value: string
  hint?: string | undefined
  isFile?: boolean
  onChange: (value: string) => void
}

function PartValues({ part: { header, body, buttons }, values, path, faults, withContact, onChange }: PartProps) {
  const asked = [
    ...asksOfHeader(header, values, onChange),
    ...(body?.variables ?? []).map((variable) =>
      askOfVariable(variable, body?.variables.length ?? 0, values, onChange),
    ),
    ...buttons.flatMap((button, place) => asksOfButton(button, place, values, onChange)),
  ]
  return asked.map(({ path: name, ...ask }) => (
    <TextValue key={name} {...ask} fault={faults[path + name]} withContact={withContact} />
  ))
}

function asksOfHeader(header: Header | null, values: Values, onChange: PartProps['onChange']): Ask[] {
  const ask = (path: 'headerText' | 'headerMediaUrl' | 'headerFilename', label: string, hint?: string): Ask => ({
    path,
    label,
    hint,
    value: values[path] ?? '',
    // The service refuses a value that is present but empty.
    onChange: (value) => onChange({ ...values, [path]: value || undefined }),
  })
  if (header?.kind === 'text') {
    return header.variable ? [ask('headerText', text.headerText, exampleOf(header.variable.example))] : []
  }
  if (header?.kind === 'location') return asksOfPlace(values, onChange)
  if (!header) return []
  const media = { ...ask('headerMediaUrl', text.media[header.kind], text.mediaHint), isFile: true }
  return header.kind === 'document' ? [media, ask('headerFilename', text.filename, text.filenameHint)] : [media]
}

function asksOfPlace(values: Values, onChange: PartProps['onChange']): Ask[] {
  const place = values.headerLocation ?? { latitude: '', longitude: '' }
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
    value: place[name] ?? '',
    onChange: (value) => {
      const isRequired = name === 'latitude' || name === 'longitude'
      onChange({ ...values, headerLocation: { ...place, [name]: value || (isRequired ? '' : undefined) } })
    },
  }))
}

function askOfVariable(variable: Variable, count: number, values: Values, onChange: PartProps['onChange']): Ask {
  const { name, index, isNamed, example } = variable
  return {
    path: pathOfVariable(variable),
    label: isNamed ? text.named(name) : text.positional(name),
    hint: exampleOf(example),
    value: givenValue(variable, values),
    onChange: (value) => {
      if (isNamed) return onChange({ ...values, bodyNamed: { ...values.bodyNamed, [name]: value } })
      const body = Array.from({ length: count }, (_, at) => values.body?.[at] ?? '')
      body[index] = value
      onChange({ ...values, body })
    },
  }
}

function asksOfButton(button: Button, place: number, values: Values, onChange: PartProps['onChange']): Ask[] {
  if (!button.needs) return []
  return [
    {
      path: `buttonParams.${place}`,
      label: text[button.needs](button.text),
      hint: button.needs === 'url' ? (button.url ?? undefined) : exampleOf(button.example),
      value: values.buttonParams?.[place] ?? '',
      onChange: (value) => onChange({ ...values, buttonParams: { ...values.buttonParams, [place]: value } }),
    },
  ]
}

const exampleOf = (example: string | null): string | undefined => (example ? text.example(example) : undefined)
