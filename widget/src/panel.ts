/**
 * The launcher button and the chat panel.
 *
 * The panel is a non-modal dialog: the page stays usable. Escape closes it and returns the focus to the launcher. On a small
 * screen the panel covers the page and traps the focus.
 *
 * A status element announces new messages to screen readers. The thread itself has `aria-live="off"`, because screen readers
 * would otherwise read older messages aloud as they load.
 */
import type { Settings } from './api.ts'
import type { Chat } from './chat.ts'
import { readableOn } from './color.ts'
import { createComposer } from './composer.ts'
import { element, icon, setAttribute } from './dom.ts'
import { createThread } from './thread.ts'
import type { ChatView } from './view.ts'
import css from './widget.css?inline'
import type { Words } from './words.ts'

export type Panel = {
  /** Opens or closes the panel and moves the focus, unless it already is in this state. */
  setOpen(isOpen: boolean): void
  /** Opens or closes the panel without moving the focus. */
  show(isOpen: boolean): void
  isOpen(): boolean
  render(): void
  /** Announces a new reply while the panel is open. While it is closed, `render` announces the unread count instead. */
  announce(reply: string): void
  scrollToEnd(): void
}

type PanelOptions = { host: HTMLElement; settings: Settings; words: Words; chat: Chat }

const maxBadgeCount = 99
/** Between two announcements of the position in the queue. */
const queuePauseMs = 30_000
/** The media query under which widget.css lets the panel cover the page. */
const smallScreen = '(max-width: 480px), (max-height: 480px)'

/** Shows a conversation in the host element, and removes what it showed before. */
export function createPanel({ host, settings, words, chat }: PanelOptions): Panel {
  const { position, color, ask_details: askDetails, hint } = settings
  const badge = element('span', { class: 'badge', 'aria-hidden': 'true', hidden: true })
  const launcher = element('button', { type: 'button', class: 'launcher', 'aria-controls': 'panel' })
  launcher.append(icon('message-circle'), badge)
  const close = element('button', { type: 'button', class: 'close', 'aria-label': words.close }, icon('x'))
  const thread = createThread({
    words,
    greeting: settings.greeting ?? words.greeting,
    onRetry: chat.retry,
    onTap: chat.tap,
    onLoadEarlier: () => void chat.loadEarlier(),
  })
  const composer = createComposer({
    words,
    askDetails,
    onSend: chat.send,
    onFile: chat.sendFile,
    draft: chat.draft(),
    onInput: chat.setDraft,
  })
  const title = element('h2', { id: 'title', dir: 'auto' }, settings.title ?? words.title)
  const panel = element(
    'section',
    { id: 'panel', class: 'panel', role: 'dialog', 'aria-labelledby': 'title', tabindex: '-1', hidden: true },
    ...[element('header', {}, title, ...(hint ? [element('p', {}, hint)] : []), close), thread.root, composer.root],
  )
  const status = element('p', { class: 'visually-hidden', role: 'status' })
  const root = element('div', { class: 'root', 'data-side': position }, panel, launcher, status)
  root.lang = words.lang
  // Not in widget.css: the compiler would add variables for browsers without light-dark(), which the styles do not use.
  root.style.colorScheme = 'light dark'
  let isOpen = false
  let lastUnreadCount = 0

  const setOpen = (next: boolean) => {
    if (next === isOpen) return
    show(next)
    storeOpen(next)
    if (!next) return launcher.focus()
    // On a touch screen, focusing the text field would open the on-screen keyboard.
    if (matchMedia('(hover: hover)').matches) composer.focus()
    else panel.focus()
  }
  const show = (next: boolean) => {
    isOpen = next
    panel.hidden = !next
    setAttribute(root, 'data-open', next)
    status.replaceChildren()
    chat.setOpen(next)
    if (next) thread.scrollToEnd()
  }
  launcher.addEventListener('click', () => setOpen(!isOpen))
  close.addEventListener('click', () => setOpen(false))
  const onKeydown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && isOpen && !event.isComposing) setOpen(false)
    if (event.key === 'Tab' && isOpen && matchMedia(smallScreen).matches) trapFocus(panel, event)
  }
  launcher.addEventListener('keydown', onKeydown)
  panel.addEventListener('keydown', onKeydown)
  // Outside the shadow root these events do not show their text field, so the page's shortcuts would react to them.
  for (const name of ['keydown', 'keypress', 'keyup']) panel.addEventListener(name, (event) => event.stopPropagation())

  panel.addEventListener('dragover', (event) => event.preventDefault())
  panel.addEventListener('drop', (event) => {
    event.preventDefault()
    composer.sendFiles(event.dataTransfer?.files ?? [])
  })

  // The host of a preview is not in a page yet: its panel has the size of the preview.
  if (host.isConnected) followViewport(panel)
  mount(host.shadowRoot ?? host.attachShadow({ mode: 'open' }), root, color)
  // Restores the state of the previous page without moving the focus.
  if (wasOpen()) show(true)
  const announce = (text: string) => status.replaceChildren(element('span', {}, text))

  const announceUnread = ({ unreadCount }: ChatView) => {
    if (unreadCount > lastUnreadCount && !isOpen) announce(`${words.newMessage}. ${words.unread(unreadCount)}`)
    lastUnreadCount = unreadCount
  }

  let announced: string | undefined
  let queueTimer: ReturnType<typeof setTimeout> | undefined
  /** The newest line after a pause: a queue that moves fast would fill the time between messages. */
  const announceQueue = () => {
    queueTimer = undefined
    const { queued } = chat.view()
    if (!isOpen || !queued || queued === announced) return
    announced = queued
    announce(queued)
    queueTimer = setTimeout(announceQueue, queuePauseMs)
  }

  return {
    setOpen,
    show,
    isOpen: () => isOpen,
    render() {
      const view = chat.view()
      root.dir = getComputedStyle(document.documentElement).direction
      badge.hidden = isOpen || view.unreadCount === 0
      badge.textContent = view.unreadCount > maxBadgeCount ? `${maxBadgeCount}+` : String(view.unreadCount)
      const label = isOpen ? words.close : words.open
      setAttribute(launcher, 'aria-label', badge.hidden ? label : `${label}, ${words.unread(view.unreadCount)}`)
      setAttribute(launcher, 'aria-expanded', String(isOpen))
      thread.render(view)
      composer.render({ asksDetails: askDetails !== 'never' && !view.isIntroduced, isOffline: view.isOffline })
      announceUnread(view)
      if (!queueTimer) announceQueue()
    },
    announce(reply) {
      if (isOpen) announce(`${words.reply} ${reply || words.file}`)
    },
    scrollToEnd: thread.scrollToEnd,
  }
}

const openKey = 'parley-chat-open'

/** Per tab: a visitor who returns in a new tab starts with a closed panel. */
function storeOpen(isOpen: boolean): void {
  try {
    sessionStorage.setItem(openKey, isOpen ? '1' : '')
  } catch {
    // The browser blocks storage: the next page starts with a closed panel.
  }
}

function wasOpen(): boolean {
  try {
    return sessionStorage.getItem(openKey) === '1' && !matchMedia(smallScreen).matches
  } catch {
    return false
  }
}

/** Wraps Tab and Shift+Tab at the ends of the panel, because the panel hides the rest of the page. */
function trapFocus(panel: HTMLElement, event: KeyboardEvent): void {
  const focusable = [...panel.querySelectorAll<HTMLElement>('button, a, input, textarea, [tabindex="0"]')].filter(
    (candidate) => candidate.getClientRects().length > 0,
  )
  const { target, shiftKey } = event
  const end = shiftKey ? focusable[0] : focusable.at(-1)
  if (target !== end && !(shiftKey && target === panel)) return
  event.preventDefault()
  focusable.at(shiftKey ? -1 : 0)?.focus()
}

/** Adds the content with a constructed style sheet, which a page's policy against inline styles does not block. */
function mount(shadow: ShadowRoot, root: HTMLElement, color: string): void {
  const accent = /^#[0-9a-f]{6}$/.test(color) ? color : '#5442dc'
  const text = `${css}:host{--accent:${accent}!important;--on-accent:${readableOn(accent)}!important}`
  try {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(text)
    shadow.adoptedStyleSheets = [sheet]
  } catch {
    // Older browsers have no constructed style sheets.
    root.append(element('style', {}, text))
  }
  shadow.replaceChildren(root)
}

/** Fits the panel to the area that the on-screen keyboard leaves free. */
function followViewport(panel: HTMLElement): void {
  const { visualViewport: viewport } = window
  const fit = () => {
    // Pinch zoom also shrinks the visual viewport, but must not resize the panel.
    if (!viewport || viewport.scale > 1) return
    panel.style.setProperty('--height', `${viewport.height}px`)
    panel.style.setProperty('--top', `${viewport.offsetTop}px`)
  }
  viewport?.addEventListener('resize', fit)
  viewport?.addEventListener('scroll', fit)
  fit()
}
