/** A template that was sent, as the customer sees it. */
import { Icon } from '../../../../ui/icon.tsx'
import { words } from '../../words/words.ts'
import type { Message } from '../model/data.ts'
import { FileCard, Picture } from './media.tsx'
import { choicesOf, type Details, showableUrl, templateOf, webUrl } from './parse-content.ts'
import { Text } from './text.tsx'

export function SentTemplate({ message: { content, content_text: text } }: { message: Message }) {
  const { header, footer, buttons, cards, body } = templateOf(content)
  return (
    <TemplateView
      header={header.format === 'text' ? header.text : undefined}
      media={header.format && header.format !== 'text' ? { format: header.format, url: header.url } : undefined}
      text={text ?? body}
      footer={footer}
      buttons={buttons}
      cards={cards.map(toCard)}
    />
  )
}

function toCard(card: Details): View {
  const { header, body, buttons } = templateOf(card)
  return {
    header: header.format === 'text' ? header.text : undefined,
    media: header.format && header.format !== 'text' ? { format: header.format, url: header.url } : undefined,
    text: body,
    buttons,
  }
}

type View = {
  header?: string | null | undefined
  media?: { format: string; url?: string | null | undefined } | null | undefined
  text?: string | undefined
  footer?: string | null | undefined
  buttons: readonly string[]
  cards?: readonly View[]
}

function TemplateView({ header, media, text, footer, buttons, cards = [] }: View) {
  return (
    <div className="stack inbox-template">
      {media && <HeaderMedia media={media} />}
      {header && <strong>{header}</strong>}
      <Text text={text ?? null} />
      {footer && <p className="soft small">{footer}</p>}
      {buttons.map((label, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the order of the buttons is fixed.
        <span key={index} className="inbox-template-button">
          {label}
        </span>
      ))}
      {cards.length > 0 && (
        <ul className="inbox-template-cards">
          {cards.map((card, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the order of the cards is fixed.
            <li key={index}>
              <TemplateView {...card} />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function HeaderMedia({ media: { format, url } }: { media: NonNullable<View['media']> }) {
  const kinds = words.inbox.template.media
  const kind = format === 'video' || format === 'document' || format === 'location' ? format : 'image'
  const showable = showableUrl(url)
  if (kind === 'image' && showable) return <Picture url={showable} name={kinds.image} />
  if (!url) {
    return (
      <span className="line inbox-template-media soft small">
        <Icon name={kind} />
        {kinds[kind]}
      </span>
    )
  }
  return <FileCard icon={kind} title={kinds[kind]} line={words.inbox.message.open(kinds[kind])} href={webUrl(url)} />
}

/** A message with buttons, a list or a link that was sent, as the customer sees it. Members cannot tap. */
export function SentChoices({ content }: { content: Details }) {
  const { header, body, footer, buttons, listLabel, sections, link } = choicesOf(content)
  const href = webUrl(link?.url)
  return (
    <div className="stack inbox-template">
      {header && <strong>{header}</strong>}
      <Text text={body ?? null} />
      {footer && <p className="soft small">{footer}</p>}
      {buttons.map((title, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the order of the buttons is fixed.
        <span key={index} className="inbox-template-button">
          {title}
        </span>
      ))}
      {link && (
        <a className="inbox-template-button" href={href} target="_blank" rel="noopener noreferrer" title={href}>
          <Icon name="external" /> {link.text}
        </a>
      )}
      {listLabel && (
        <span className="inbox-template-button">
          <Icon name="menu" /> {listLabel}
        </span>
      )}
      {sections.map(({ title, rows }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the order of the sections is fixed.
        <div key={index} className="inbox-list-section">
          <strong>{title}</strong>
          <ul>
            {rows.map((row, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the order of the rows is fixed.
              <li key={i}>
                {row.title}
                {row.description && <small>{row.description}</small>}
              </li>
            ))}
          </ul>
        </div>
      ))}
    </div>
  )
}
