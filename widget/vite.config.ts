/**
 * How the widget is built: one classic script that a single tag loads, with
 * its styles inside. `server/build.ts` builds it when it is stale.
 */
import { join } from 'node:path'
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  publicDir: false,
  build: {
    // On other people's sites: browsers of the last few years, not only of the last.
    target: 'es2020',
    emptyOutDir: true,
    reportCompressedSize: false,
    lib: {
      entry: join(import.meta.dirname, 'src/main.ts'),
      formats: ['iife'],
      name: 'parleyChat',
      fileName: () => 'widget.js',
    },
  },
})
