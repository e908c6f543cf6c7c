/**
 * The chat widget. A site loads it with one tag:
 *
 *   <script src="https://…/widget.js" data-site="…" async></script>
 *
 * - All elements live in a shadow root, so the styles of page and widget do not affect each other.
 * - If the site may not use the chat or has none, nothing appears. A visitor who does not write causes one call, for the settings.
 * - The host element is a sibling of `<body>`: a filter, transform or container on the body would change its fixed position.
 * - Single-page applications may replace the body and remove unknown elements. The widget then restores its host element,
 *   as long as the page still contains the script tag. Otherwise it stops and closes its stream.
 */
import { type Api, createApi, type Settings } from './api.ts'
import { createChat } from './chat.ts'
import { createPanel } from './panel.ts'
import { createStore, type Store } from './store.ts'
import { wordsFor } from './words.ts'

/** Delays before the settings are loaded again. After the last one the widget gives up until the next page load. */
const retryDelaysMs = [2_000, 10_000, 60_000, 300_000]
/** Delay before restoring the host element, so that a page that keeps removing it does not cause a busy loop. */
const restoreDelayMs = 50

const tag = document.currentScript ?? document.querySelector('script[data-site][src*="/widget.js"]')
if (tag instanceof HTMLScriptElement) {
  const { src, dataset } = tag
  const run = () => void start(src, dataset.site ?? '')
  if (document.body) run()
  else document.addEventListener('DOMContentLoaded', run)
}

async function start(src: string, siteId: string, failures = 0): Promise<void> {
  if (!siteId || isRunning(siteId)) return
  removeEmptyHosts(siteId)
  const host = document.createElement('parley-chat')
  host.setAttribute('data-site', siteId)
  host.attachShadow({ mode: 'open' })
  document.documentElement.append(host)

  const api = createApi(new URL('.', src).href, siteId)
  const store = createStore(siteId)
  const result = await api.getSettings()
  if (result.ok) store.update(() => ({ settings: result.data }))
  const settings = result.ok || !navigator.onLine ? store.read().settings : undefined
  if (settings) return show(host, settings, api, store)
  host.remove()
  if (result.ok) return
  const retry = () => void start(src, siteId, failures + 1)
  const delayMs = retryDelaysMs[failures]
  if (!navigator.onLine) addEventListener('online', retry, { once: true })
  // Status 0 may also be a refused origin, so the number of retries is limited.
  else if (delayMs && (result.status === 0 || result.status === 429 || result.status >= 500))
    setTimeout(retry, result.retryMs ?? delayMs)
}

function show(host: HTMLElement, settings: Settings, api: Api, store: Store): void {
  const words = wordsFor([document.documentElement.lang, ...navigator.languages])
  let isScheduled = false
  // Coalesces changes into one render: 500 replayed messages would otherwise render the thread 500 times.
  const onChange = () => {
    if (!isScheduled) setTimeout(render)
    isScheduled = true
  }
  const render = () => {
    isScheduled = false
    panel.render()
  }
  const chat = createChat({ api, store, onChange, onReply: (text) => panel.announce(text) })
  const panel = createPanel({ host, settings, words, chat, store })
  panel.render()
  chat.start()
  keepMounted(host, panel.scrollToEnd, chat.stop)
}

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
