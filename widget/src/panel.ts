/**
 * The round button and the panel it opens: a dialog beside the page, not in
 * front of it, so the page stays usable. Escape closes it and gives the focus
 * back to the button. On a small screen it covers the page, and keeps the
 * focus for as long as it does.
 *
 * What comes in is said to screen readers here, and only that: the thread
 * itself is silent, or older messages would be read out as they are loaded.
 */
import type { Chat } from './chat.ts'
import { readableOn } from './color.ts'
import { createComposer } from './composer.ts'
import { element, icon, set } from './dom.ts'
import type { Settings } from './service.ts'
import type { Store } from './store.ts'
import { createThread } from './thread.ts'
import type { View } from './view.ts'
import css from './widget.css?inline'
import type { Words } from './words.ts'

export type Panel = {
  render(): void
  /** Say a reply that just came, where it can be seen; elsewhere how many there are is said. */
  announce(reply: string): void
  scrollDown(): void
}

type Showing = { host: HTMLElement; settings: Settings; words: Words; chat: Chat; store: Store }

const mostShown = 99
/** Where the styles let the panel cover the page. */
const smallScreen = '(max-width: 480px), (max-height: 480px)'

export function createPanel({ host, settings, words, chat, store }: Showing): Panel {
  const { position, color, ask_details: wish } = settings
  const badge = element('span', { class: 'badge', 'aria-hidden': 'true', hidden: true })
  const launcher = element('button', { type: 'button', class: 'launcher', 'aria-controls': 'panel' })
  launcher.append(icon('chat'), badge)
  const close = element('button', { type: 'button', class: 'close', 'aria-label': words.close }, icon('close'))
  const thread = createThread({
    words,
    greeting: settings.greeting ?? words.greeting,
    onAgain: chat.sayAgain,
    onEarlier: () => void chat.loadEarlier(),
  })
  const composer = createComposer({ words, wish, onSay: chat.say })
  const title = element('h2', { id: 'title', dir: 'auto' }, settings.title ?? words.title)
  const panel = element(
    'section',
    { id: 'panel', class: 'panel', role: 'dialog', 'aria-labelledby': 'title', tabindex: '-1', hidden: true },
    ...[element('header', {}, title, close), thread.root, composer.root],
  )
  const news = element('p', { class: 'heard', role: 'status' })
  const root = element('div', { class: 'root', 'data-side': position }, panel, launcher, news)
  root.lang = words.lang
  let isOpen = false
  let lastUnread = 0

  const setOpen = (next: boolean) => {
    show(next)
    rememberOpen(next)
    if (!next) return launcher.focus()
    // A finger that opened it has not asked for the keyboard yet.
    if (matchMedia('(hover: hover)').matches) composer.focus()
    else panel.focus()
  }
  const show = (next: boolean) => {
    isOpen = next
    panel.hidden = !next
    set(root, 'data-open', next)
    news.replaceChildren()
    chat.setOpen(next)
    if (next) thread.scrollDown()
  }
  launcher.addEventListener('click', () => setOpen(!isOpen))
  close.addEventListener('click', () => setOpen(false))
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && isOpen && !event.isComposing) setOpen(false)
    if (event.key === 'Tab' && isOpen && matchMedia(smallScreen).matches) keepFocus(panel, event)
  }
  launcher.addEventListener('keydown', press)
  panel.addEventListener('keydown', press)
  // To the page these keys seem to come from no field: its shortcuts would take them for their own.
  for (const name of ['keydown', 'keypress', 'keyup']) panel.addEventListener(name, (event) => event.stopPropagation())

  dress(host.shadowRoot ?? host.attachShadow({ mode: 'open' }), root, color)
  followKeyboard(panel)
  // As the visitor left it on the page before. The focus stays where the page put it.
  if (wasOpen()) show(true)
  const say = (text: string) => news.replaceChildren(element('span', {}, text))

  /** A count that rose is said aloud while nobody looks at the thread. */
  const tell = ({ unread }: View) => {
    if (unread > lastUnread && !isOpen) say(`${words.news}. ${words.unread(unread)}`)
    lastUnread = unread
  }

  return {
    render() {
      const view = chat.view()
      root.dir = getComputedStyle(document.documentElement).direction
      badge.hidden = isOpen || view.unread === 0
      badge.textContent = view.unread > mostShown ? `${mostShown}+` : String(view.unread)
      const label = isOpen ? words.close : words.open
      set(launcher, 'aria-label', badge.hidden ? label : `${label}, ${words.unread(view.unread)}`)
      set(launcher, 'aria-expanded', String(isOpen))
      thread.render(view)
      composer.render({ asks: wish !== 'never' && !store.read().introduced, isOffline: view.isOffline })
      tell(view)
    },
    announce(reply) {
      if (isOpen) say(`${words.them} ${reply || words.file}`)
    },
    scrollDown: thread.scrollDown,
  }
}

const openKey = 'parley-chat-open'

/** For this tab: a visitor who closes the tab and comes back another day starts with a closed panel. */
function rememberOpen(isOpen: boolean): void {
  try {
    if (isOpen) sessionStorage.setItem(openKey, '1')
    else sessionStorage.removeItem(openKey)
  } catch {
    // A browser that blocks storage does not remember it.
  }
}

function wasOpen(): boolean {
  try {
    return sessionStorage.getItem(openKey) !== null && !matchMedia(smallScreen).matches
  } catch {
    return false
  }
}

/** From the last to the first and back: what is behind the panel cannot be seen. */
function keepFocus(panel: HTMLElement, event: KeyboardEvent): void {
  const places = [...panel.querySelectorAll<HTMLElement>('button, a, input, textarea, [tabindex="0"]')].filter(
    (place) => place.getClientRects().length > 0,
  )
  const { target, shiftKey } = event
  const end = shiftKey ? places[0] : places.at(-1)
  if (target !== end && !(shiftKey && target === panel)) return
  event.preventDefault()
  places.at(shiftKey ? -1 : 0)?.focus()
}

/** Its own styles, made by script: a policy of the page that forbids inline styles does not forbid these. */
function dress(shadow: ShadowRoot, root: HTMLElement, color: string): void {
  const safe = /^#[0-9a-f]{6}$/.test(color) ? color : '#5442dc'
  const text = `${css}:host{--accent:${safe}!important;--on-accent:${readableOn(safe)}!important}`
  try {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(text)
    shadow.adoptedStyleSheets = [sheet]
  } catch {
    // A browser from before such sheets.
    shadow.append(element('style', {}, text))
  }
  shadow.append(root)
}

/** On a phone the panel is as tall as what the keyboard leaves. */
function followKeyboard(panel: HTMLElement): void {
  const { visualViewport: seen } = window
  const fit = () => {
    // Zoomed in by two fingers it is smaller, too, but that is for looking.
    if (!seen || seen.scale > 1) return
    panel.style.setProperty('--height', `${seen.height}px`)
    panel.style.setProperty('--top', `${seen.offsetTop}px`)
  }
  seen?.addEventListener('resize', fit)
  seen?.addEventListener('scroll', fit)
  fit()
}
