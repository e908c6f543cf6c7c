/** The question as a customer sees it on each channel, with the thanks. It cannot be operated. */
import { useState } from 'react'
import { SegmentedControl } from '../../../ui/controls.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { settingsWords } from '../words/settings.ts'

const { satisfaction: text } = settingsWords

const channels = ['msgapp', 'social', 'web'] as const

type Props = {
  question: string
  choices: readonly string[]
  list_button: string
  thanks: string
  comment_request: string
}

export function SatisfactionPreview({ question, choices, list_button, thanks, comment_request }: Props) {
  const [channel, setChannel] = useState<(typeof channels)[number]>('msgapp')
  const titles = choices.toReversed()
  const [best = ''] = titles
  const afterwards = [thanks, comment_request].filter((part) => part.trim() !== '').join('\n\n')
  return (
    <div className="stack">
      <SegmentedControl
        label={text.previewChannel}
        value={channel}
        options={channels.map((each) => ({ value: each, label: text.previews[each] }))}
        onChange={setChannel}
      />
      <div
        className="satisfaction-chat"
        data-channel={channel}
        role="img"
        aria-label={text.previewOf(`${question} ${titles.join(', ')}`)}
      >
        <div className="satisfaction-bubble">
          <p dir="auto">{question}</p>
          {channel === 'msgapp' && (
            <span className="satisfaction-open">
              <Icon name="menu" />
              {list_button}
            </span>
          )}
        </div>
        <ul className="satisfaction-titles">
          {titles.map((title, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the position is the rating.
            <li key={i} dir="auto">
              {title}
            </li>
          ))}
        </ul>
        <div className="satisfaction-bubble" data-side="customer">
          <p dir="auto">{best}</p>
        </div>
        {afterwards && (
          <div className="satisfaction-bubble">
            <p dir="auto">{afterwards}</p>
          </div>
        )}
      </div>
    </div>
  )
}
