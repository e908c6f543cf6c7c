/** The emoji picker. Its list loads with it and is part of our own scripts. The emoji used last come first. */
import keywords from 'emojilib'
import { words } from '../../words/words.ts'
import { PickerPopup } from './picker-popup.tsx'

const { emoji: labels } = words.inbox

type Emoji = { emoji: string; name: string; search: string }

const toName = (slug = '') => slug.replaceAll('_', ' ')
const all: readonly Emoji[] = Object.entries(keywords).map(([emoji, [slug, ...others]]) => ({
  emoji,
  name: toName(slug),
  search: [toName(slug), ...others].join(' ').toLowerCase(),
}))

const recentKey = 'parley-emoji'
const maxRecent = 16
const columns = 8
/** More matches than a member scrolls through. */
const maxFound = 400

const readRecent = (): string[] => (localStorage.getItem(recentKey) ?? '').split(' ').filter(Boolean)

/** Names that begin with the text come before other matches. */
function find(search: string): readonly Emoji[] {
  const text = search.toLowerCase()
  if (!text) {
    const recent = readRecent().flatMap((emoji) => all.find((one) => one.emoji === emoji) ?? [])
    return [...recent, ...all.filter((one) => !recent.includes(one)).slice(0, maxFound)]
  }
  const matches = all.filter((one) => one.search.includes(text))
  const begins = ({ search: searched }: Emoji) => searched.startsWith(text) || searched.includes(` ${text}`)
  return [...matches.filter(begins), ...matches.filter((one) => !begins(one))].slice(0, maxFound)
}

type Props = { onPick: (emoji: string) => void; onClose: () => void }

export default function EmojiPicker({ onPick, onClose }: Props) {
  return (
    <PickerPopup
      label={labels.title}
      searchLabel={labels.search}
      columns={columns}
      find={find}
      keyOf={({ emoji }) => emoji}
      labelOf={({ name }) => name}
      render={({ emoji }) => emoji}
      empty={labels.none}
      onPick={({ emoji }) => {
        const recent = [emoji, ...readRecent().filter((one) => one !== emoji)].slice(0, maxRecent)
        localStorage.setItem(recentKey, recent.join(' '))
        onPick(emoji)
      }}
      onClose={onClose}
    />
  )
}
