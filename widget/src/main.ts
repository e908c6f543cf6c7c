/**
 * The chat on somebody's site, by one tag:
 *
 *   <script src="https://…/widget.js" data-site="…" async></script>
 *
 * Everything it shows is in a shadow root, so neither side's styles reach the
 * other. Where the site may not have the chat, or there is none, nothing
 * appears. Whoever only looks calls once, for the settings.
 *
 * It stands beside the body, not in it: what a site does to its body (a filter,
 * a transform, a container) would otherwise decide where the corner is.
 *
 * The chat is where its tag is. A page that draws itself anew, as
 * single-page applications do, may throw out what it does not know: then the
 * element is put back as it was. When another body comes without the tag, the
 * chat is gone as well, and with it the line it held.
 */
import { createChat } from './chat.ts'
import { createPanel } from './panel.ts'
import { createService, type Service, type Settings } from './service.ts'
import { createStore, type Store } from './store.ts'
import { wordsOf } from './words.ts'

/** After a service that is not there, or busy, this long each time; then not again until the page is loaded anew. */
const pausesMs = [2_000, 10_000, 60_000, 300_000]
/** A page that throws it out again and again is not fought in one go. */
const returnMs = 50

const tag = document.currentScript ?? document.querySelector('script[data-site][src*="/widget.js"]')
if (tag instanceof HTMLScriptElement) {
  const { src, dataset } = tag
  const run = () => void start(src, dataset.site ?? '')
  if (document.body) run()
  else document.addEventListener('DOMContentLoaded', run)
}

async function start(src: string, siteId: string, failures = 0): Promise<void> {
  if (!siteId || isThere(siteId)) return
  removeCopies(siteId)
  const host = document.createElement('parley-chat')
  host.setAttribute('data-site', siteId)
  host.attachShadow({ mode: 'open' })
  document.documentElement.append(host)

  const service = createService(new URL('.', src).href, siteId)
  const store = createStore(siteId)
  const asked = await service.settings()
  if (asked.ok) store.change(() => ({ settings: asked.data }))
  const known = asked.ok || !navigator.onLine ? store.read().settings : undefined
  if (known) return show(host, known, service, store)
  host.remove()
  if (asked.ok) return
  const again = () => void start(src, siteId, failures + 1)
  const pauseMs = pausesMs[failures]
  if (!navigator.onLine) addEventListener('online', again, { once: true })
  // A browser shows the refusal of an origin as no answer, so this ends.
  else if (pauseMs && (asked.status === 0 || asked.status === 429 || asked.status >= 500))
    setTimeout(again, asked.retryMs ?? pauseMs)
}

function show(host: HTMLElement, settings: Settings, service: Service, store: Store): void {
  const words = wordsOf([document.documentElement.lang, ...navigator.languages])
  let isDue = false
  // Whatever changes in one go is drawn once: of 500 replies one by one, each draws all.
  const onChange = () => {
    if (!isDue) setTimeout(draw)
    isDue = true
  }
  const draw = () => {
    isDue = false
    panel.render()
  }
  const chat = createChat({ service, store, onChange, onReply: (text) => panel.announce(text) })
  const panel = createPanel({ host, settings, words, chat, store })
  panel.render()
  chat.start()
  stay(host, panel.scrollDown, chat.stop)
}

/** Put the element back for as long as its tag is in the page. */
function stay(host: HTMLElement, onReturn: () => void, onEnd: () => void): void {
  const siteId = host.getAttribute('data-site') ?? ''
  let { body } = document
  const check = () => {
    if ((host.isConnected && body === document.body) || !document.body) return
    body = document.body
    observer.disconnect()
    const isWanted = [...document.scripts].some(({ dataset }) => dataset.site === siteId)
    // The tag of the page drawn anew may have run before this.
    if (!isWanted || (!host.isConnected && isThere(siteId))) {
      host.remove()
      return onEnd()
    }
    removeCopies(siteId)
    if (!host.isConnected) {
      document.documentElement.append(host)
      onReturn()
    }
    watch()
  }
  const observer = new MutationObserver(() => setTimeout(check, returnMs))
  const watch = () => observer.observe(document.documentElement, { childList: true })
  watch()
  check()
}

function hostsOf(siteId: string): Element[] {
  return [...document.querySelectorAll('parley-chat')].filter((host) => host.getAttribute('data-site') === siteId)
}

function isThere(siteId: string): boolean {
  return hostsOf(siteId).some(({ shadowRoot }) => shadowRoot)
}

/** A page that was kept as it looked comes back with an element that has nothing in it. */
function removeCopies(siteId: string): void {
  for (const host of hostsOf(siteId)) if (!host.shadowRoot) host.remove()
}
