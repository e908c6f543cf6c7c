/**
 * The chat widget. A site loads it with one tag:
 *
 *   <script src="https://…/widget.js" data-site="…" async></script>
 *
 * - The page controls it with `window.parleyChat` (`ParleyChat`), which exists as soon as the script has run. docs/web-chat.md
 *   describes it; its names never change. `data-identity` on the tag is the same as `parleyChat.identify(…)`.
 * - All elements live in a shadow root, so the styles of page and widget do not affect each other.
 * - If the site may not use the chat or has none, nothing appears. A visitor who does not write causes one call, for the settings.
 * - The host element is a sibling of `<body>`: a filter, transform or container on the body would change its fixed position.
 * - Single-page applications may replace the body and remove unknown elements. The widget then restores its host element,
 *   as long as the page still contains the script tag. Otherwise it stops and closes its stream.
 */
import { createApi } from './api.ts'
import { type Chat, createChat } from './chat.ts'
import { createPanel, type Panel } from './panel.ts'
import { createStore, type Store } from './store.ts'
import { wordsFor } from './words.ts'

/** An identity token that the site's server signed, or a function that returns one, called again when the token has expired. */
type Identity = string | (() => string | Promise<string>)

/** The script API of the page. */
type ParleyChat = {
  open(): void
  close(): void
  /**
   * Shows the conversation of the customer who is signed in; null: of the anonymous visitor. Rejects with the reason if the service
   * refuses the token; the visitor is then anonymous.
   */
  identify(identity: Identity | null): Promise<void>
}

declare global {
  interface Window {
    parleyChat?: ParleyChat
  }
}

/** Delays before a failed call is repeated. After the last one the widget gives up until the next page load. */
const retryDelaysMs = [2_000, 10_000, 60_000, 300_000]
/** Delay before restoring the host element, so that a page that keeps removing it does not cause a busy loop. */
const restoreDelayMs = 50

const tag = document.currentScript ?? document.querySelector('script[data-site][src*="/widget.js"]')
if (tag instanceof HTMLScriptElement) {
  const { src, dataset } = tag
  const widget = createWidget(new URL('.', src).href, dataset.site ?? '')
  window.parleyChat ??= widget.page
  if (dataset.identity) widget.page.identify(dataset.identity).catch((error: Error) => console.error(error.message))
  const run = () => void widget.start()
  if (document.body) run()
  else document.addEventListener('DOMContentLoaded', run)
}

function createWidget(baseUrl: string, siteId: string) {
  const api = createApi(baseUrl, siteId)
  const anonymous = createStore(siteId)
  let store: Store = anonymous
  /** The customer whom the site signed in. */
  let visitorId: string | undefined
  let identifyCount = 0
  /** Ends with the first answer to the identity, so that the customer does not see the anonymous conversation first. */
  let identified: Promise<unknown> | undefined
  let panel: Panel | undefined
  let chat: Chat
  let isOpenWanted: boolean | undefined

  /** Starts the conversation of another visitor. What the previous one still receives is no longer shown. */
  function createCurrentChat(onExpired?: () => void): void {
    chat?.stop()
    const isCurrent = () => chat === next
    const next: Chat = createChat({
      ...{ api, store },
      onChange: () => isCurrent() && scheduleRender(),
      onReply: (text) => isCurrent() && panel?.announce(text),
      ...(onExpired ? { onExpired: () => isCurrent() && onExpired() } : {}),
    })
    chat = next
    panel?.use(next)
    if (panel) next.start()
    scheduleRender()
  }

  let isScheduled = false
  /** Coalesces changes into one render: 500 replayed messages would otherwise render the thread 500 times. */
  function scheduleRender(): void {
    if (!isScheduled)
      setTimeout(() => {
        isScheduled = false
        panel?.render()
      })
    isScheduled = true
  }

  function setIdentity(nextId?: string, nextStore = anonymous, onExpired?: () => void): void {
    if (nextId === visitorId) return
    visitorId = nextId
    store = nextStore
    createCurrentChat(onExpired)
  }

  async function identify(identity: Identity | null): Promise<void> {
    const count = ++identifyCount
    if (identity === null) {
      if (visitorId) store.clear()
      return setIdentity()
    }
    const attempt = async () => api.identify(typeof identity === 'function' ? await identity() : identity)
    const first = attempt()
    identified = first.catch(() => {})
    try {
      let result = await first
      for (const delayMs of retryDelaysMs) {
        if (result.ok || !isTemporary(result.status)) break
        await new Promise((resolve) => setTimeout(resolve, delayMs))
        if (count === identifyCount) result = await attempt()
      }
      // A later call decides.
      if (count !== identifyCount) return
      if (!result.ok) throw new Error(result.message)
      const { visitor_id: nextId, visitor_token: token } = result.data
      const isSame = nextId === visitorId
      const nextStore = isSame ? store : createStore(siteId, nextId)
      nextStore.update(() => ({ token, introduced: true }))
      if (isSame) chat.reconnect()
      else setIdentity(nextId, nextStore, () => void identify(identity).catch(() => {}))
    } catch (error) {
      // Nothing proves that the person at the page is the customer whose messages it shows.
      if (count === identifyCount) setIdentity()
      throw error
    }
  }

  const setOpen = (isOpen: boolean) => {
    isOpenWanted = isOpen
    panel?.setOpen(isOpen)
  }
  const page: ParleyChat = { open: () => setOpen(true), close: () => setOpen(false), identify }

  async function start(failures = 0): Promise<void> {
    if (!siteId || isRunning(siteId)) return
    removeEmptyHosts(siteId)
    window.parleyChat = page
    const host = document.createElement('parley-chat')
    host.setAttribute('data-site', siteId)
    host.attachShadow({ mode: 'open' })
    document.documentElement.append(host)

    const result = await api.getSettings()
    await identified
    if (result.ok) anonymous.update(() => ({ settings: result.data }))
    const settings = result.ok || !navigator.onLine ? anonymous.read().settings : undefined
    if (settings) {
      const words = wordsFor([document.documentElement.lang, ...navigator.languages])
      panel = createPanel({ host, settings, words, chat })
      if (isOpenWanted !== undefined) panel.setOpen(isOpenWanted)
      panel.followViewport()
      panel.render()
      chat.start()
      return keepMounted(host, panel.scrollToEnd, stop)
    }
    host.remove()
    if (result.ok) return
    const retry = () => void start(failures + 1)
    const delayMs = retryDelaysMs[failures]
    if (!navigator.onLine) addEventListener('online', retry, { once: true })
    // Status 0 may also be a refused origin, so the number of retries is limited.
    else if (delayMs && isTemporary(result.status)) setTimeout(retry, result.retryMs ?? delayMs)
  }

  function stop(): void {
    chat.stop()
    if (window.parleyChat === page) delete window.parleyChat
  }

  createCurrentChat()
  return { page, start }
}

const isTemporary = (status: number): boolean => status === 0 || status === 429 || status >= 500

/** Restores the host element after the page removes it. Stops the chat when the script tag is gone as well. */
function keepMounted(host: HTMLElement, onRestore: () => void, onStop: () => void): void {
  const siteId = host.getAttribute('data-site') ?? ''
  let { body } = document
  const check = () => {
    if ((host.isConnected && body === document.body) || !document.body) return
    body = document.body
    observer.disconnect()
    const hasTag = [...document.scripts].some(({ dataset }) => dataset.site === siteId)
    // The script tag of the new body may already have started another instance.
    if (!hasTag || (!host.isConnected && isRunning(siteId))) {
      host.remove()
      return onStop()
    }
    removeEmptyHosts(siteId)
    if (!host.isConnected) {
      document.documentElement.append(host)
      onRestore()
    }
    observe()
  }
  const observer = new MutationObserver(() => setTimeout(check, restoreDelayMs))
  const observe = () => observer.observe(document.documentElement, { childList: true })
  observe()
  check()
}

function hostsOf(siteId: string): Element[] {
  return [...document.querySelectorAll('parley-chat')].filter((host) => host.getAttribute('data-site') === siteId)
}

function isRunning(siteId: string): boolean {
  return hostsOf(siteId).some(({ shadowRoot }) => shadowRoot)
}

/** Pages restored from a snapshot of their HTML contain a host element without a shadow root. */
function removeEmptyHosts(siteId: string): void {
  for (const host of hostsOf(siteId)) if (!host.shadowRoot) host.remove()
}
