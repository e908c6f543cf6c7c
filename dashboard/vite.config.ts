/**
 * How the pages are built, and served while somebody works on them.
 *
 * `npm start` builds what is stale (see `server/web/pages.ts`). For work on the pages, `npm run dashboard` beside a running service
 * serves them from source on a port of its own and passes every call on.
 */
import { defineConfig } from 'vite'

const service = 'http://127.0.0.1:4000'

export default defineConfig({
  root: import.meta.dirname,
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
