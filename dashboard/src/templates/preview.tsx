/**
 * A template as the customer sees it. With `params` it shows their values and highlights missing ones; without, it shows the
 * examples from the approval. It highlights contact fields in values (`{{contact.name|there}}`), which differ by recipient.
 */
import './preview.css'
import type { ReactNode } from 'react'
import { Icon, type IconName } from '../../../ui/icon.tsx'
import type { TemplateParams } from '../lib/calls.ts'
import { useDebounced } from '../lib/hooks.ts'
import { words } from '../words/words.ts'
import { Formatted } from './formatted-text.tsx'
import { isLoadable, useHasBrokenImage } from './image-check.ts'
import {
  type Button,
  type Header,
  type Part,
  parseTemplate,
  type Template,
  type Values,
  variableValue,
} from './parse-template.ts'

const { preview } = words.templates

export function TemplatePreview({ template, params }: { template: Template; params?: TemplateParams | undefined }) {
  const part = parseTemplate(template)
  const isEmpty = !part.header && !part.body && part.cards.length === 0
  return (
    <figure className="preview" aria-label={preview.of(template.name)}>
      <div className="stack preview-chat">
        {isEmpty ? (
          <p className="soft small">{preview.unreadable}</p>
        ) : (
          <div className="preview-bubble">
            <Bubble part={part} values={params} />
          </div>
        )}
        {part.cards.length > 0 && (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
          <ul className="preview-cards" aria-label={preview.cards} tabIndex={0}>
            {part.cards.map((card, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the order of the cards is fixed.
              <li key={index} className="preview-bubble">
                <Bubble part={card} values={params && (params.cards?.[index] ?? {})} />
              </li>
            ))}
          </ul>
        )}
      </div>
    </figure>
  )
}

/** Undefined `values`: shows the examples. */
function Bubble({ part: { header, body, footer, buttons }, values }: { part: Part; values: Values | undefined }) {
  return (
    <>
      {header && header.kind !== 'text' && <HeaderMedia header={header} values={values} />}
      {(header?.kind === 'text' || body || footer) && (
        <div className="stack preview-text">
          {header?.kind === 'text' && (
            <p className="preview-header">
              <Formatted
                text={header.text}
                show={(name, key) => (
                  <Value key={key} name={name} value={values ? values.headerText : header.variable?.example} />
                )}
              />
            </p>
          )}
          {body && (
            <p>
              <Formatted
                text={body.text}
                show={(name, key) => {
                  const found = body.variables.find((each) => each.name === name)
                  const value = found && (values ? variableValue(found, values) : found.example)
                  return <Value key={key} name={name} value={value} />
                }}
              />
            </p>
          )}
          {footer && <p className="soft small">{footer}</p>}
        </div>
      )}
      {buttons.length > 0 && (
        <ul className="preview-buttons">
          {buttons.map((button, index) => (
            <ButtonPreview
              // biome-ignore lint/suspicious/noArrayIndexKey: the order of the buttons is fixed.
              key={index}
              button={button}
              value={values ? values.buttonParams?.[index] : button.example}
            />
          ))}
        </ul>
      )}
    </>
  )
}

const reference = /\{\{\s*contact\.(\w+)\s*(?:\|([^{}]*))?\}\}/g

/** The value of a variable, or its placeholder if the value is missing. */
function Value({ name, value }: { name: string; value: string | null | undefined }) {
  if (!value) return <mark className="preview-missing">{preview.missing(name)}</mark>
  const parts: ReactNode[] = []
  let end = 0
  for (const match of value.matchAll(reference)) {
    const [whole, field = '', fallback] = match
    const label = preview.fields[field]
    if (!label) continue
    parts.push(value.slice(end, match.index))
    parts.push(
      <span key={match.index} className="preview-field">
        {fallback ? preview.fieldOr(label, fallback) : label}
      </span>,
    )
    end = match.index + whole.length
  }
  return (
    <mark className="preview-value">
      {parts}
      {value.slice(end)}
    </mark>
  )
}

function HeaderMedia({ header, values }: { header: Exclude<Header, { kind: 'text' }>; values: Values | undefined }) {
  if (header.kind === 'location') {
    const location = values?.headerLocation
    return (
      <div className="stack preview-media">
        <Icon name="location" />
        <span>
          {location?.name || preview.location}
          {location?.address && <small>{location.address}</small>}
        </span>
      </div>
    )
  }
  const url = values ? values.headerMediaUrl : header.example
  if (header.kind === 'image') return <Picture url={url ?? ''} />
  const filename = header.kind === 'document' ? values?.headerFilename : ''
  return (
    <div className="stack preview-media" data-kind={header.kind}>
      <Icon name={header.kind === 'video' ? 'play' : 'document'} />
      <span>{filename || preview[header.kind]}</span>
    </div>
  )
}

/** Loads the image after a debounce. */
function Picture({ url }: { url: string }) {
  const settledUrl = useDebounced(url, 400)
  const isBroken = useHasBrokenImage([url])
  if (isLoadable(settledUrl) && !isBroken) {
    return <img className="preview-picture" src={settledUrl} alt={preview.image} referrerPolicy="no-referrer" />
  }
  return (
    <div className="stack preview-media" data-broken={isBroken ? '' : undefined}>
      <Icon name={isBroken ? 'alert' : 'image'} />
      <span>{isBroken ? preview.imageBroken : preview.image}</span>
    </div>
  )
}

const icons: Record<string, IconName> = {
  URL: 'external',
  PHONE_NUMBER: 'phone',
  QUICK_REPLY: 'reply',
  COPY_CODE: 'copy',
  OTP: 'copy',
  FLOW: 'document',
}

function ButtonPreview({ button, value }: { button: Button; value: string | null | undefined }) {
  const { type, text, url, needs } = button
  const isCode = type === 'COPY_CODE' || type === 'OTP'
  const address = url?.replace(/\{\{\s*\w+\s*\}\}/, value || '…')
  return (
    <li title={address ?? (isCode ? value || undefined : undefined)} data-missing={needs && !value ? '' : undefined}>
      <Icon name={icons[type] ?? 'right'} />
      <span>{text || (isCode ? preview.copyCode : type)}</span>
    </li>
  )
}
