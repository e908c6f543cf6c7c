/**
 * A template as the customer sees it in their chat. With `params` it shows
 * those, and marks what is still missing; without, the examples it was approved
 * with. Fields of the contact in values (`{{contact.name|there}}`) are marked
 * too, since everybody gets their own.
 */
import './preview.css'
import { type ReactNode, useState } from 'react'
import { Icon, type IconName } from '../../../ui/icon.tsx'
import type { TemplateParams } from '../lib/calls.ts'
import { useDebounced } from '../lib/hooks.ts'
import { words } from '../words/words.ts'
import { Formatted } from './formatted.tsx'
import { type Button, givenValue, type Header, type Part, readTemplate, type Template, type Values } from './shape.ts'

const { preview } = words.templates

export function TemplatePreview({ template, params }: { template: Template; params?: TemplateParams | undefined }) {
  const part = readTemplate(template)
  const isEmpty = !part.header && !part.body && part.cards.length === 0
  return (
    <figure className="preview" aria-label={preview.of(template.name)}>
      <div className="preview-chat">
        {isEmpty ? (
          <p className="soft small">{preview.unreadable}</p>
        ) : (
          <div className="preview-bubble">
            <Bubble part={part} values={params} />
          </div>
        )}
        {part.cards.length > 0 && (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it.
          <ul className="preview-cards" aria-label={preview.cards} tabIndex={0}>
            {part.cards.map((card, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: cards have nothing but their places.
              <li key={place} className="preview-bubble">
                <Bubble part={card} values={params && (params.cards?.[place] ?? {})} />
              </li>
            ))}
          </ul>
        )}
      </div>
    </figure>
  )
}

/** `values` are absent where examples are to be shown. */
function Bubble({ part: { header, body, footer, buttons }, values }: { part: Part; values: Values | undefined }) {
  return (
    <>
      {header && header.kind !== 'text' && <Attached header={header} values={values} />}
      {(header?.kind === 'text' || body || footer) && (
        <div className="preview-text">
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
                  const value = found && (values ? givenValue(found, values) : found.example)
                  return <Value key={key} name={name} value={value} />
                }}
              />
            </p>
          )}
          {footer && <p className="preview-footer">{footer}</p>}
        </div>
      )}
      {buttons.length > 0 && (
        <ul className="preview-buttons">
          {buttons.map((button, place) => (
            <ButtonLine
              // biome-ignore lint/suspicious/noArrayIndexKey: buttons keep their places.
              key={place}
              button={button}
              value={values ? values.buttonParams?.[place] : button.example}
            />
          ))}
        </ul>
      )}
    </>
  )
}

const reference = /\{\{\s*contact\.(\w+)\s*(?:\|([^{}]*))?\}\}/g

/** A value in its place; without one, the place. */
function Value({ name, value }: { name: string; value: string | null | undefined }) {
  if (!value) return <mark className="preview-missing">{preview.missing(name)}</mark>
  const shown: ReactNode[] = []
  let end = 0
  for (const match of value.matchAll(reference)) {
    const [whole, field = '', word] = match
    const label = preview.fields[field]
    if (!label) continue
    shown.push(value.slice(end, match.index))
    shown.push(
      <span key={match.index} className="preview-field">
        {word ? preview.fieldOr(label, word) : label}
      </span>,
    )
    end = match.index + whole.length
  }
  return (
    <mark className="preview-value">
      {shown}
      {value.slice(end)}
    </mark>
  )
}

function Attached({ header, values }: { header: Exclude<Header, { kind: 'text' }>; values: Values | undefined }) {
  if (header.kind === 'location') {
    const place = values?.headerLocation
    return (
      <div className="preview-media">
        <Icon name="location" />
        <span>
          {place?.name || preview.location}
          {place?.address && <small>{place.address}</small>}
        </span>
      </div>
    )
  }
  const url = values ? values.headerMediaUrl : header.example
  if (header.kind === 'image') return <Picture url={url ?? ''} />
  const filename = header.kind === 'document' ? values?.headerFilename : ''
  return (
    <div className="preview-media" data-kind={header.kind}>
      <Icon name={header.kind === 'video' ? 'play' : 'document'} />
      <span>{filename || preview[header.kind]}</span>
    </div>
  )
}

/** Only what the page's policy allows is fetched, and not while its address is being written. */
function Picture({ url }: { url: string }) {
  const still = useDebounced(url, 400)
  const [broken, setBroken] = useState('')
  const source = URL.parse(still)
  const isShown = source !== null && (source.protocol === 'https:' || source.origin === location.origin)
  if (isShown && broken !== still) {
    return (
      <img
        className="preview-picture"
        src={still}
        alt={preview.image}
        referrerPolicy="no-referrer"
        onError={() => setBroken(still)}
      />
    )
  }
  return (
    <div className="preview-media">
      <Icon name="image" />
      <span>{preview.image}</span>
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

function ButtonLine({ button, value }: { button: Button; value: string | null | undefined }) {
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
