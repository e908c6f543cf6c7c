/**
 * The build of the dashboard, and its development server.
 *
 * `npm start` builds the pages when their sources changed (`scripts/build.ts`). For work on the pages, `npm run dashboard`
 * serves them from source on a port of its own and forwards every call to the running service.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type Plugin } from 'vite'

const service = 'http://127.0.0.1:4000'

/** Adds the service worker, with the files of the build that it keeps: all but the typeface's subsets for rare scripts. */
const serviceWorker = (): Plugin => ({
  name: 'service-worker',
  generateBundle: {
    order: 'post',
    handler(_options, bundle) {
      const isKept = (name: string) => name !== 'index.html' && !/inter-(?!latin-wght)/.test(name)
      const files = [
        '/',
        ...publicFiles,
        ...Object.keys(bundle)
          .filter(isKept)
          .map((name) => `/${name}`),
      ]
      const page = bundle['index.html']
      const version = createHash('sha256')
        .update(files.join())
        .update(page?.type === 'asset' ? page.source : '')
        .digest('hex')
        .slice(0, 16)
      const source = readFileSync(join(import.meta.dirname, 'src/service-worker.js'), 'utf8')
      this.emitFile({
        type: 'asset',
        fileName: 'service-worker.js',
        source: source.replace(' BUILD\n', () => ` ${JSON.stringify({ version, files })}\n`),
      })
    },
  },
})
const publicFiles = ['/icon.svg', '/icon-192.png', '/notification.wav']

export default defineConfig({
  root: import.meta.dirname,
  plugins: [serviceWorker()],
  build: {
    target: 'es2023',
    // The page's Content-Security-Policy allows neither inline scripts nor data: URLs in scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    emptyOutDir: true,
    reportCompressedSize: false,
  },
  server: {
    proxy: Object.fromEntries(
      ['/app/api', '/v1', '/docs', '/media', '/simulator', '/openapi.json'].map((path) => [path, { target: service }]),
    ),
  },
})
