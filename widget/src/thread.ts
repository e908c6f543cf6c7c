/**
 * The greeting and the list of messages.
 *
 * Each message keeps its element, which changes only when the message changes. Text selection survives new messages, and a
 * replay of 1,000 messages stays cheap.
 */
import type { MessageContent } from './api.ts'
import { type Choice, createChoices } from './choices.ts'
import { element, setAttribute } from './dom.ts'
import { findLinks, toHref } from './links.ts'
import { findMarks } from './marks.ts'
import type { ChatView, MessageView } from './view.ts'
import type { Words } from './words.ts'

export type Thread = { root: HTMLElement; render(view: ChatView): void; scrollToEnd(): void }

type ThreadOptions = {
  words: Words
  greeting: string
  onRetry: (key: string) => void
  onTap: (messageId: string, choice: Choice) => void
  onLoadEarlier: () => void
}

/** Within this distance of the end, new messages scroll the thread. */
const nearEndPx = 60

export function createThread({ words, greeting, onRetry, onTap, onLoadEarlier }: ThreadOptions): Thread {
  const rows = new Map<string, Row>()
  const earlier = element('button', { type: 'button', class: 'earlier', hidden: true }, words.earlier)
  earlier.addEventListener('click', onLoadEarlier)
  const typist = element('p', { class: 'typing', dir: 'auto', hidden: true })
  const queue = element('p', { class: 'typing', dir: 'auto' })
  const log = element('div', { class: 'log', role: 'log', 'aria-live': 'off', 'aria-label': words.messages })
  const root = element(
    'div',
    { class: 'thread', tabindex: '0', role: 'group', 'aria-label': words.messages },
    element('p', { class: 'greeting', dir: 'auto' }, greeting),
    earlier,
    log,
    typist,
    queue,
  )
  /** Whether the visitor sees the newest message. Content that grows later, such as an image that loads, then stays in view. */
  let isAtEnd = true
  // Without messages the thread stays at the top, so that a long greeting shows its beginning.
  const scrollToEnd = () => {
    isAtEnd = true
    if (log.firstElementChild) root.scrollTop = root.scrollHeight
  }
  let lastTop = 0
  root.addEventListener('scroll', () => {
    const { scrollTop } = root
    // Content that grew after the thread was scrolled also increases the distance, so only scrolling up leaves the end.
    if (root.scrollHeight - scrollTop - root.clientHeight < nearEndPx) isAtEnd = true
    else if (scrollTop < lastTop) isAtEnd = false
    lastTop = scrollTop
  })
  const observer = new ResizeObserver(() => {
    if (isAtEnd) scrollToEnd()
  })
  for (const observed of [root, log]) observer.observe(observed)
  return {
    root,
    scrollToEnd,
    render({ messages, hasEarlier, typing, queued = '' }) {
      const distanceFromEnd = root.scrollHeight - root.scrollTop
      const firstBefore = log.firstElementChild
      const keys = new Set(messages.map(({ key }) => key))
      for (const [key, row] of rows) {
        if (keys.has(key)) continue
        row.root.remove()
        rows.delete(key)
      }
      let previous: Element | null = null
      for (const message of messages) {
        const row = rows.get(message.key) ?? createRow(message, words, () => onRetry(message.key), onTap)
        rows.set(message.key, row)
        row.render(message)
        const current: Element | null = previous ? previous.nextElementSibling : log.firstElementChild
        if (current !== row.root) log.insertBefore(row.root, current)
        previous = row.root
      }
      earlier.hidden = !hasEarlier
      typist.hidden = !typing
      queue.hidden = !queued
      queue.textContent = queued
      typist.textContent = typing?.name ? `${typing.name} ${words.typing}` : '…'
      // A visitor who reads further up keeps their position, also when older messages are inserted above.
      if (isAtEnd || messages.at(-1)?.state === 'pending') scrollToEnd()
      else if (firstBefore !== log.firstElementChild) root.scrollTop = root.scrollHeight - distanceFromEnd
    },
  }
}

type Row = { root: HTMLElement; render(message: MessageView): void }

function createRow(
  { isOwn, at, id = '', content }: MessageView,
  words: Words,
  onRetry: () => void,
  onTap: ThreadOptions['onTap'],
): Row {
  const bubble = element('p', { class: 'bubble', dir: 'auto' })
  const time = element('time', { datetime: at, dir: 'auto' })
  const state = element('span')
  const retry = element('button', { type: 'button', hidden: true }, words.retry)
  retry.addEventListener('click', onRetry)
  const sender = element('span')
  const meta = element('div', { class: 'meta' }, time, state, retry)
  const choices = content && createChoices(content, (choice) => onTap(id, choice))
  const root = element('div', { class: isOwn ? 'row own' : 'row' }, sender, bubble)
  root.append(...(choices ? [choices.root] : []), meta)
  let rendered: string | undefined
  return {
    root,
    render(message) {
      const json = JSON.stringify(message)
      if (json === rendered) return
      rendered = json
      const { sender: name } = message
      sender.className = name ? 'sender' : 'visually-hidden'
      sender.replaceChildren(...(name ? [face(name), name] : [isOwn ? words.you : words.reply]))
      bubble.replaceChildren(...contentOf(message, words))
      choices?.render(message)
      if (choices) choices.root.hidden = message.isDeleted
      setAttribute(bubble, 'data-deleted', message.isDeleted)
      setAttribute(root, 'data-state', message.state)
      setAttribute(time, 'datetime', message.at)
      time.textContent = message.state === 'sent' ? formatTime(message.at, words.lang) : ''
      state.textContent = message.state !== 'sent' ? words[message.state] : message.isSeen ? words.seen : ''
      retry.hidden = message.state !== 'failed'
    },
  }
}

/** The initial of a member. */
function face([initial = '']: string): HTMLElement {
  return element('span', { class: 'face', 'aria-hidden': 'true' }, initial.toUpperCase())
}

function contentOf({ text, media_url, type, name, isDeleted, content }: MessageView, words: Words): (Node | string)[] {
  if (isDeleted) return [words.deleted]
  if (content?.location) return locationOf(content.location)
  const { header, footer } = content?.interactive ?? {}
  const body = findLinks(text ?? '').flatMap(({ text, href }) => (href ? link(text, href) : formatted(text)))
  const parts = [
    ...(header ? [element('strong', {}, header), '\n'] : []),
    ...body,
    ...(footer ? ['\n', element('small', {}, footer)] : []),
  ]
  const href = media_url && toHref(media_url)
  const file = href ? fileOf(href, type, nameIn(href) ?? words.file) : name
  return file ? [file, ...(parts.length > 0 ? ['\n', ...parts] : [])] : parts
}

/** A link to a map, and the address. */
function locationOf({
  latitude,
  longitude,
  name,
  address,
}: NonNullable<MessageContent['location']>): (Node | string)[] {
  const map = `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=16/${latitude}/${longitude}`
  return [link(name ?? `${latitude}, ${longitude}`, map), ...(address ? [`\n${address}`] : [])]
}

const formatted = (text: string): (Node | string)[] =>
  findMarks(text).map(({ text, tag }) => (tag ? element(tag, {}, text) : text))

/** An image and a sound show in the thread; any other file is a link, and so is one that the page's policy blocks. */
function fileOf(href: string, type: string, name: string): Node {
  const label = link(name, href)
  if (type === 'audio') {
    const audio = element('audio', { src: href, controls: true, preload: 'metadata', 'aria-label': name })
    audio.addEventListener('error', () => audio.replaceWith(label))
    return audio
  }
  if (type !== 'image') return label
  const image = element('img', { src: href, alt: name })
  image.addEventListener('error', () => image.replaceWith(name))
  label.replaceChildren(image)
  return label
}

/** The filename at the end of a media link. */
function nameIn(url: string): string | undefined {
  const [, name] = /\/media\/\w+\/([^/?#]+)$/.exec(url) ?? []
  try {
    return name && decodeURIComponent(name)
  } catch {
    return name
  }
}

const link = (text: string, href: string) =>
  element('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow ugc' }, text)

/** The time, with the date unless it is today, in the widget's language and the visitor's regional format. */
function formatTime(at: string, lang: string): string {
  const date = new Date(at)
  const locale = navigator.languages.find((language) => language.startsWith(lang)) ?? lang
  const isToday = date.toDateString() === new Date().toDateString()
  const day = isToday ? {} : ({ day: 'numeric', month: 'short' } as const)
  return date.toLocaleString(locale, { ...day, hour: 'numeric', minute: '2-digit' })
}
