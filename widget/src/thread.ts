/**
 * The greeting and the messages below it. Each message is an element that stays
 * for as long as it does and is touched only when something of it changed: so
 * whoever reads or marks one is not disturbed by another, and a thousand at
 * once cost little.
 */
import { element, set } from './dom.ts'
import { findLinks, toHref } from './links.ts'
import type { Shown, View } from './view.ts'
import type { Words } from './words.ts'

export type Thread = { root: HTMLElement; render(view: View): void; scrollDown(): void }

type Acting = { words: Words; greeting: string; onAgain: (key: string) => void; onEarlier: () => void }

/** So close to its end, a reader is at it. */
const nearPixels = 60

export function createThread({ words, greeting, onAgain, onEarlier }: Acting): Thread {
  const rows = new Map<string, Row>()
  const earlier = element('button', { type: 'button', class: 'earlier', hidden: true }, words.earlier)
  earlier.addEventListener('click', onEarlier)
  const log = element('div', { class: 'log', role: 'log', 'aria-live': 'off', 'aria-label': words.thread })
  const root = element(
    'div',
    { class: 'thread', tabindex: '0', role: 'group', 'aria-label': words.thread },
    element('p', { class: 'greeting', dir: 'auto' }, greeting),
    earlier,
    log,
  )
  // A long greeting is read from its beginning.
  const scrollDown = () => {
    if (log.firstElementChild) root.scrollTop = root.scrollHeight
  }
  return {
    root,
    scrollDown,
    render({ messages, hasEarlier }) {
      const isAtEnd = root.scrollHeight - root.scrollTop - root.clientHeight < nearPixels
      const fromEnd = root.scrollHeight - root.scrollTop
      const firstBefore = log.firstElementChild
      const keys = new Set(messages.map(({ key }) => key))
      for (const [key, { root: gone }] of rows) {
        if (keys.has(key)) continue
        gone.remove()
        rows.delete(key)
      }
      let after: Element | null = null
      for (const message of messages) {
        const known = rows.get(message.key)
        const row = known ?? createRow(message, words, () => onAgain(message.key))
        rows.set(message.key, row)
        row.render(message)
        const place: Element | null = after ? after.nextElementSibling : log.firstElementChild
        if (place !== row.root) log.insertBefore(row.root, place)
        after = row.root
      }
      earlier.hidden = !hasEarlier
      // Whoever reads stays where they are, also when older ones come in above.
      if (isAtEnd || messages.at(-1)?.state === 'waiting') scrollDown()
      else if (firstBefore !== log.firstElementChild) root.scrollTop = root.scrollHeight - fromEnd
    },
  }
}

type Row = { root: HTMLElement; render(message: Shown): void }

function createRow({ isOwn, at }: Shown, words: Words, onAgain: () => void): Row {
  const bubble = element('p', { class: 'bubble', dir: 'auto' })
  const time = element('time', { datetime: at, dir: 'auto' })
  const state = element('span')
  const again = element('button', { type: 'button', hidden: true }, words.again)
  again.addEventListener('click', onAgain)
  const who = element('span', { class: 'heard' }, isOwn ? words.you : words.them)
  const meta = element('div', { class: 'meta' }, time, state, again)
  const root = element('div', { class: isOwn ? 'row own' : 'row' }, who, bubble, meta)
  let shown: string | undefined
  return {
    root,
    render(message) {
      const now = JSON.stringify(message)
      if (now === shown) return
      shown = now
      bubble.replaceChildren(...contentOf(message, words))
      set(bubble, 'data-deleted', message.isDeleted)
      set(root, 'data-state', message.state)
      set(time, 'datetime', message.at)
      time.textContent = message.state === 'sent' ? timeOf(message.at, words.lang) : ''
      state.textContent = message.state === 'sent' ? '' : words[message.state]
      again.hidden = message.state !== 'refused'
    },
  }
}

function contentOf({ text, media_url, isDeleted }: Shown, words: Words): (Node | string)[] {
  if (isDeleted) return [words.deleted]
  const pieces = findLinks(text ?? '').map(({ text, href }) => (href ? link(text, href) : text))
  const href = media_url && toHref(media_url)
  return href ? [link(words.file, href), ...(pieces.length > 0 ? ['\n', ...pieces] : [])] : pieces
}

const link = (text: string, href: string) =>
  element('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow ugc' }, text)

/** The time, and the day too unless it is today: in the widget's language, as this visitor's country writes it. */
function timeOf(at: string, lang: string): string {
  const date = new Date(at)
  const locale = navigator.languages.find((language) => language.startsWith(lang)) ?? lang
  const isToday = date.toDateString() === new Date().toDateString()
  const day = isToday ? {} : ({ day: 'numeric', month: 'short' } as const)
  return date.toLocaleString(locale, { ...day, hour: 'numeric', minute: '2-digit' })
}
