/** Builds the phone page. */
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  base: '/simulator/phone/',
  build: {
    target: 'es2023',
    // The page's policy allows no inline script.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    emptyOutDir: true,
    reportCompressedSize: false,
  },
})
