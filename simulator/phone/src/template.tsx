/** A template as the customer sees it: header, body, footer, buttons, and a carousel of cards. */
import { useRef, useState } from 'react'
import { copyText } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useToast } from '../../../ui/overlays.tsx'
import type { RenderedButton, RenderedCard, RenderedHeader } from '../../wire/bubble.ts'
import { RichText, safeUrl } from './format.tsx'
import { Document, LocationCard, Picture, Video } from './media.tsx'

type TapProps = { hasMarks: boolean; tapped: ReadonlySet<string> | undefined; onTap: (button: RenderedButton) => void }

export function TemplateHeader({ header, hasMarks }: { header: RenderedHeader; hasMarks: boolean }) {
  if (header.type === 'text') return <RichText className="heading" text={header.text ?? ''} hasMarks={hasMarks} />
  return (
    <div className="framed">
      {header.type === 'image' && <Picture file={header} alt={header.filename || 'Picture of this message'} />}
      {header.type === 'video' && <Video file={header} />}
      {header.type === 'document' && <Document file={header} />}
      {header.type === 'location' && header.location && <LocationCard location={header.location} />}
    </div>
  )
}

type ButtonsProps = Omit<TapProps, 'hasMarks'> & {
  buttons: readonly RenderedButton[]
  listLabel?: string | undefined
}

export function TemplateButtons({ buttons, listLabel, tapped, onTap }: ButtonsProps) {
  const rows = buttons.filter(({ type }) => type === 'LIST_REPLY')
  if (buttons.length === 0) return null
  return (
    <div className="taps">
      {buttons
        .filter(({ type }) => type !== 'LIST_REPLY')
        .map((button) => (
          <TemplateButton
            key={button.index}
            button={button}
            isTapped={tapped?.has(button.text) ?? false}
            onTap={onTap}
          />
        ))}
      {rows.length > 0 && <ListRows rows={rows} label={listLabel || 'Options'} tapped={tapped} onTap={onTap} />}
    </div>
  )
}

/** A list opens below its message. A real phone shows it as a sheet. */
type ListProps = Omit<ButtonsProps, 'buttons'> & { rows: RenderedButton[]; label: string }

function ListRows({ rows, label, tapped, onTap }: ListProps) {
  const [isOpen, setOpen] = useState(false)
  const sections = [...new Set(rows.map(({ section = '' }) => section))]
  const choose = (row: RenderedButton) => {
    setOpen(false)
    onTap(row)
  }
  return (
    <>
      <button type="button" className="tap" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name="menu" />
        <span dir="auto">{label}</span>
      </button>
      {isOpen &&
        sections.map((section) => (
          <fieldset key={section} className="list-section">
            <legend dir="auto">{section}</legend>
            {rows
              .filter((row) => (row.section ?? '') === section)
              .map((row) => (
                <button key={row.index} type="button" className="list-row" onClick={() => choose(row)}>
                  <span dir="auto">{row.text}</span>
                  {row.description && <small dir="auto">{row.description}</small>}
                  {tapped?.has(row.text) && <Icon name="check" />}
                </button>
              ))}
          </fieldset>
        ))}
    </>
  )
}

type TemplateButtonProps = { button: RenderedButton; isTapped: boolean; onTap: (button: RenderedButton) => void }

function TemplateButton({ button, isTapped, onTap }: TemplateButtonProps) {
  const toast = useToast()
  const { type, text, code = '' } = button
  const href = type === 'URL' ? safeUrl(button.url) : undefined
  const content = (icon: 'external' | 'copy' | 'phone' | 'reply' | 'check') => (
    <>
      <Icon name={icon} />
      <span dir="auto">{text}</span>
    </>
  )
  if (href)
    return (
      <a className="tap" href={href} target="_blank" rel="noopener noreferrer" title={href}>
        {content('external')}
      </a>
    )
  if (type === 'URL')
    return (
      <button type="button" className="tap" disabled title="The URL is not a web address">
        {content('external')}
      </button>
    )
  if (type === 'COPY_CODE') {
    const copyCode = () => copyText(code).then(() => toast.success(`Code ${code} copied`), toast.error)
    return (
      <button type="button" className="tap" title={code} onClick={copyCode}>
        {content('copy')}
      </button>
    )
  }
  if (type === 'PHONE_NUMBER')
    return (
      <button type="button" className="tap" onClick={() => toast.success('A real phone would start a call')}>
        {content('phone')}
      </button>
    )
  return (
    <button type="button" className={`tap ${isTapped ? 'tapped' : ''}`} onClick={() => onTap(button)}>
      {content(isTapped ? 'check' : 'reply')}
    </button>
  )
}

export function Carousel({ cards, hasMarks, ...tap }: TapProps & { cards: readonly RenderedCard[] }) {
  const strip = useRef<HTMLUListElement>(null)
  const [position, setPosition] = useState(0)
  const last = cards.length - 1

  const follow = () => {
    const list = strip.current
    if (!list) return
    const isAtEnd = list.scrollLeft + list.clientWidth >= list.scrollWidth - 2
    setPosition(isAtEnd ? last : Math.round((list.scrollLeft / list.scrollWidth) * cards.length))
  }
  const go = (step: number) => {
    const card = strip.current?.children[Math.max(0, Math.min(last, position + step))]
    card?.scrollIntoView({ inline: 'start', block: 'nearest' })
  }
  return (
    <div className="carousel">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it. */}
      <ul ref={strip} className="slides" tabIndex={0} aria-label={`${cards.length} cards`} onScroll={follow}>
        {cards.map((card, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: cards have no other identity.
          <li key={index} className="slide" aria-label={`Card ${index + 1} of ${cards.length}`}>
            {card.header && <TemplateHeader header={card.header} hasMarks={hasMarks} />}
            {card.body && <RichText text={card.body} hasMarks={hasMarks} />}
            <TemplateButtons buttons={card.buttons} {...tap} />
          </li>
        ))}
      </ul>
      {last > 0 && (
        <div className="line slide-controls soft">
          <button type="button" aria-label="Previous card" disabled={position === 0} onClick={() => go(-1)}>
            <Icon name="back" />
          </button>
          <span>
            {position + 1} / {cards.length}
          </span>
          <button type="button" aria-label="Next card" disabled={position === last} onClick={() => go(1)}>
            <Icon name="right" />
          </button>
        </div>
      )}
    </div>
  )
}
