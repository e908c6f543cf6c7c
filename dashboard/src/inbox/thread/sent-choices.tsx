/** A message with buttons, a list or a link that was sent, as the customer sees it. Members cannot tap. */
import { Icon } from '../../../../ui/icon.tsx'
import { choicesOf, type Details, webUrl } from './parse-content.ts'
import { Text } from './text.tsx'

export function SentChoices({ content }: { content: Details }) {
  const { header, body, footer, buttons, listLabel, sections, link } = choicesOf(content)
  const href = webUrl(link?.url)
  return (
    <div className="inbox-template">
      {header && <strong>{header}</strong>}
      <Text text={body ?? null} />
      {footer && <p className="inbox-footer">{footer}</p>}
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
