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
   * Shows the conversation of the customer who is signed in; null: the customer has signed out. Rejects with the reason if the service
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
  const widget = createWidget(new URL('.', tag.src).href, tag.dataset.site ?? '')
  const run = () => void widget.start(tag)
  if (document.body) run()
  else {
    window.parleyChat = widget.page
    document.addEventListener('DOMContentLoaded', run)
  }
}

function createWidget(baseUrl: string, siteId: string) {
  const api = createApi(baseUrl, siteId)
  const anonymous = createStore(siteId)
  let store: Store = anonymous
  /** The customer whom the site signed in, as the site's token names them. */
  let customer: string | undefined
  /** Where the next token of this customer comes from. */
  let source: Identity
  /** The identity in the script tag. */
  let tagIdentity: string | null = null
  let identifyCount = 0
  /** Ends with the first answer to the identity, so that the customer does not see the anonymous conversation first. */
  let identified: Promise<unknown> | undefined
  let panel: Panel | undefined
  /** Creates the panel of the conversation. Undefined: the settings are not loaded. */
  let showPanel: (() => void) | undefined
  let chat: Chat
  let isOpenWanted: boolean | undefined

  /**
   * Shows the conversation of a customer or of the anonymous visitor, in a new panel: what another person has read and written is gone,
   * and what their conversation still receives is not shown.
   */
  function use(nextCustomer?: string, nextStore = anonymous): void {
    chat?.stop()
    customer = nextCustomer
    store = nextStore
    const isCurrent = () => chat === next
    const next: Chat = createChat({
      ...{ api, store },
      onChange: () => isCurrent() && scheduleRender(),
      onReply: (text) => isCurrent() && panel?.announce(text),
      onCleared: () => isCurrent() && signOut(),
      ...(customer ? { onExpired: () => isCurrent() && void identify(source).catch(() => {}) } : {}),
    })
    chat = next
    showPanel?.()
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

  async function identify(identity: Identity | null): Promise<void> {
    const count = ++identifyCount
    if (identity === null) {
      if (customer) signOut()
      return
    }
    let subject = ''
    const attempt = async () => {
      const token = typeof identity === 'function' ? await identity() : identity
      subject = subjectOf(token)
      // The answer may take minutes, and another customer must not see the conversation of the one before.
      if (count === identifyCount && customer && subject !== customer) use()
      return api.identify(token)
    }
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
      const { visitor_id: visitorId, visitor_token: token } = result.data
      const isSame = subject === customer
      source = identity
      const nextStore = isSame ? store : createStore(siteId, visitorId)
      nextStore.update(() => ({ token, introduced: true }))
      if (isSame) chat.reconnect()
      else use(subject || visitorId, nextStore)
    } catch (error) {
      // Nothing proves that the person at the page is the customer whose messages it shows.
      if (count === identifyCount && customer) use()
      throw error
    }
  }

  /** Forgets the customer and what was written before the sign-in: the next person may use the browser. Other tabs do the same. */
  function signOut(): void {
    identifyCount++
    chat.stop()
    store.clear()
    anonymous.clear()
    use()
  }

  /** An application that replaces the body of the page signs customers in and out with the tag in the new body. */
  function followTag({ dataset }: HTMLScriptElement): void {
    const identity = dataset.identity || null
    if (identity === tagIdentity) return
    tagIdentity = identity
    identify(identity).catch((error: Error) => console.error(error.message))
  }

  const setOpen = (isOpen: boolean) => {
    isOpenWanted = isOpen
    panel?.setOpen(isOpen)
  }
  const page: ParleyChat = { open: () => setOpen(true), close: () => setOpen(false), identify }

  async function start(tag: HTMLScriptElement, failures = 0): Promise<void> {
    if (!siteId || isRunning(siteId)) return
    followTag(tag)
    removeEmptyHosts(siteId)
    window.parleyChat = page
    const host = document.createElement('parley-chat')
    host.setAttribute('data-site', siteId)
    host.attachShadow({ mode: 'open' })
    document.documentElement.append(host)

    const words = wordsFor([document.documentElement.lang, ...navigator.languages])
    const result = await api.getSettings(words.lang)
    await identified
    if (result.ok) anonymous.update(() => ({ settings: result.data }))
    const settings = result.ok || !navigator.onLine ? anonymous.read().settings : undefined
    if (settings) {
      showPanel = () => {
        const isOpen = panel?.isOpen()
        panel = createPanel({ host, settings, words, chat })
        if (isOpen) panel.show(true)
        panel.render()
        chat.start()
      }
      showPanel()
      if (isOpenWanted !== undefined) panel?.setOpen(isOpenWanted)
      return keepMounted(host, () => panel?.scrollToEnd(), followTag, stop)
    }
    host.remove()
    if (result.ok) return
    const retry = () => void start(tag, failures + 1)
    const delayMs = retryDelaysMs[failures]
    if (!navigator.onLine) addEventListener('online', retry, { once: true })
    // Status 0 may also be a refused origin, so the number of retries is limited.
    else if (delayMs && isTemporary(result.status)) setTimeout(retry, result.retryMs ?? delayMs)
  }

  function stop(): void {
    chat.stop()
    showPanel = undefined
    if (window.parleyChat === page) delete window.parleyChat
  }

  use()
  return { page, start }
}

const isTemporary = (status: number): boolean => status === 0 || status === 429 || status >= 500

/** The customer in the payload of an identity token, empty if there is none. Only the service knows whether it is true. */
function subjectOf(token: string): string {
  try {
    return JSON.parse(atob((token.split('.')[1] ?? '').replace(/-/g, '+').replace(/_/g, '/'))).sub
  } catch {
    return ''
  }
}

/** Restores the host element after the page removes it. Stops the chat when the script tag is gone as well. */
function keepMounted(
  host: HTMLElement,
  onRestore: () => void,
  onTag: (tag: HTMLScriptElement) => void,
  onStop: () => void,
): void {
  const siteId = host.getAttribute('data-site') ?? ''
  let { body } = document
  const check = () => {
    if ((host.isConnected && body === document.body) || !document.body) return
    body = document.body
    observer.disconnect()
    const tag = [...document.scripts].find(({ dataset }) => dataset.site === siteId)
    // The script tag of the new body may already have started another instance.
    if (!tag || (!host.isConnected && isRunning(siteId))) {
      host.remove()
      return onStop()
    }
    onTag(tag)
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
