/**
 * The build of the dashboard, and its development server.
 *
 * `npm start` builds the pages when their sources changed (`server/web/pages.ts`). For work on the pages, `npm run dashboard`
 * serves them from source on a port of its own and forwards every call to the running service.
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
