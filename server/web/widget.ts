/**
 * `/widget.js`, the chat widget for customers' sites, and `/widget-demo`, a demo shop that uses it.
 *
 * The URL of the script is part of customers' pages and never changes, so browsers cache it for 5 minutes only and then
 * revalidate. Any site may load it, including cross-origin isolated ones.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { builtDir, readBuiltFile } from '../../common/pages.ts'
import type { App } from '../lib/http/server.ts'
import { sendFile } from './send-file.ts'

const demoDir = join(import.meta.dirname, '../../widget/demo')

const scriptHeaders = {
  'cache-control': 'public, max-age=300',
  'cross-origin-resource-policy': 'cross-origin',
  'x-content-type-options': 'nosniff',
}

const demoHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-cache',
}

/** Returns the demo workspace's site id. Called for every request, because reconnecting the channel changes the id. */
export type DemoSite = () => Promise<string | undefined>

/** Serves the built widget, and the demo shop if there is a demo workspace. */
export const widgetRoutes = (demoSite: DemoSite | undefined) => async (app: App) => {
  const script = readBuiltFile(join(builtDir('widget'), 'widget.js'))
  app.get('/widget.js', { config: { hasEtag: true } }, async (request, reply) =>
    sendFile(request, reply, script, scriptHeaders),
  )
  if (!demoSite) return

  const page = readFileSync(join(demoDir, 'index.html'), 'utf8')
  const css = readFileSync(join(demoDir, 'demo.css'))
  app.get('/widget-demo', async (_request, reply) => {
    const text = page.replace('{{site}}', (await demoSite()) ?? '')
    return reply.headers(demoHeaders).type('text/html; charset=utf-8').send(text)
  })
  app.get('/widget-demo/demo.css', async (_request, reply) =>
    reply.headers(demoHeaders).type('text/css; charset=utf-8').send(css),
  )
}
