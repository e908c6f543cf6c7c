/**
 * The chat on somebody's site, by one tag:
 *
 *   <script src="https://…/widget.js" data-site="…" async></script>
 *
 * Everything it shows is in a shadow root, so neither side's styles reach the
 * other. Where the site may not have the chat, or there is none, nothing
 * appears. Whoever only looks calls once, for the settings.
 */
import { createChat } from './chat.ts'
import { createPanel } from './panel.ts'
import { createService, type Service, type Settings } from './service.ts'
import { createStore, type Store } from './store.ts'
import { wordsOf } from './words.ts'

const tag = document.currentScript ?? document.querySelector('script[data-site][src*="/widget.js"]')
if (tag instanceof HTMLScriptElement) {
  const { src, dataset } = tag
  const run = () => void start(src, dataset.site ?? '')
  if (document.body) run()
  else document.addEventListener('DOMContentLoaded', run)
}

async function start(src: string, siteId: string): Promise<void> {
  const isThere = [...document.querySelectorAll('parley-chat')].some(
    (host) => host.getAttribute('data-site') === siteId,
  )
  if (!siteId || isThere) return
  const host = document.createElement('parley-chat')
  host.setAttribute('data-site', siteId)
  document.body.append(host)

  const service = createService(new URL('.', src).href, siteId)
  const store = createStore(siteId)
  const asked = await service.settings()
  if (asked.ok) store.change(() => ({ settings: asked.data }))
  const known = asked.ok || !navigator.onLine ? store.read().settings : undefined
  if (known) return show(host, known, service, store)
  host.remove()
  // A line that was down may come back; a refusal stays one until the page is loaded again.
  if (!asked.ok && asked.status === 0) addEventListener('online', () => void start(src, siteId), { once: true })
}

function show(host: HTMLElement, settings: Settings, service: Service, store: Store): void {
  const words = wordsOf([document.documentElement.lang, ...navigator.languages])
  const chat = createChat({ service, store, onChange: () => panel.render() })
  const panel = createPanel({ host, settings, words, chat, store })
  panel.render()
  chat.start()
}
