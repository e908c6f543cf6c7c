/** The content of a message, by its type. Content from outside is shown as text, never as HTML. */
import { Icon } from '../../../../ui/icon.tsx'
import { words } from '../../words/words.ts'
import type { Message } from '../model/data.ts'
import { Card } from './card.tsx'
import { Media } from './media.tsx'
import { cardsOf, locationOf } from './parse-content.ts'
import { SentChoices, SentTemplate } from './sent-template.tsx'
import { FormAnswers, Origin, Shared, Unsupported } from './structured.tsx'
import { Text } from './text.tsx'

const { message: labels } = words.inbox

export function Content({ message }: { message: Message }) {
  return (
    <>
      {message.content && <Origin content={message.content} />}
      <Body message={message} />
    </>
  )
}

function Body({ message }: { message: Message }) {
  const { content_type: type, content_text: text } = message
  switch (type) {
    case 'image':
    case 'video':
    case 'audio':
    case 'document':
    case 'sticker':
      return (
        <>
          <Media message={message} />
          <Text text={text} />
        </>
      )
    case 'location':
      return <Location message={message} />
    case 'contacts':
      return <ContactCards message={message} />
    case 'template':
      return <SentTemplate message={message} />
    case 'interactive':
    case 'button':
      if (message.content?.interactive) return <SentChoices content={message.content} />
      return (
        <>
          <p className="line inbox-kind">
            <Icon name="check" />
            {message.content?.form ? labels.form : labels.button}
          </p>
          <Text text={text} />
          {message.content?.form !== undefined && <FormAnswers form={message.content.form} />}
        </>
      )
    case 'reaction':
      return <p className="inbox-text">{labels.reacted(text ?? '')}</p>
    case 'unsupported':
      return <Unsupported content={message.content} />
    default:
      return (
        <>
          {message.content?.attachment !== undefined && <Shared attachment={message.content.attachment} />}
          <Text text={text} />
        </>
      )
  }
}

function Location({ message: { content, content_text: text } }: { message: Message }) {
  const location = locationOf(content)
  if (!location) return <Text text={text} />
  const { latitude, longitude, name, address } = location
  const map = `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=16/${latitude}/${longitude}`
  return (
    <Card icon="location" title={name ?? `${latitude}, ${longitude}`} lines={[address]}>
      <a href={map} target="_blank" rel="noopener noreferrer">
        {labels.openMap}
      </a>
    </Card>
  )
}

function ContactCards({ message: { content, content_text: text } }: { message: Message }) {
  const cards = cardsOf(content)
  if (cards.length === 0) return <Text text={text} />
  return cards.map(({ name, company, phones, emails }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the order of the cards is fixed.
    <Card key={index} icon="person" title={name || (phones[0] ?? labels.kinds.contacts)} lines={[company]}>
      {phones.map((phone) => (
        <a key={phone} href={`tel:${phone.replace(/[^+\d]/g, '')}`}>
          {phone}
        </a>
      ))}
      {emails.map((email) => (
        <span key={email}>{email}</span>
      ))}
    </Card>
  ))
}
