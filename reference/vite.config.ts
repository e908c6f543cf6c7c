/** Builds the API reference, which the service serves at `/docs`. */
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  base: '/docs/',
  build: {
    target: 'es2023',
    // The Content-Security-Policy allows neither inline scripts nor data: URLs in scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    emptyOutDir: true,
    reportCompressedSize: false,
  },
})
