/** Reads the built pages. `npm run build` (`scripts/build.ts`) writes them to `dist`, one folder per page, and the SDKs to `dist/sdk`. */
import { globSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'

type PageName = 'dashboard' | 'widget' | 'reference' | 'phone'
export type BuildName = PageName | 'sdk'

export const builtDir = (name: BuildName): string => join(import.meta.dirname, '../dist', name)

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.wav': 'audio/wav',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}
/** Whether the build has a compressed copy of the file. Other formats are compressed already: all bodies are the file itself. */
export const isCompressible = (name: string): boolean => !['.png', '.woff2'].includes(extname(name))

type Encoding = 'identity' | 'gzip' | 'br'
export type BuiltFile = { type: string; isCompressible: boolean; bodies: Record<Encoding, Buffer> }

/** The names of the files of a build, without the compressed ones. */
export const listFiles = (dir: string): string[] =>
  globSync('**/*.*', { cwd: dir }).filter((name) => !['.gz', '.br'].includes(extname(name)))

/** Returns all files of a build with their paths, such as `/index.html` and `/assets/main-x.js`. */
export function readBuilt(page: PageName): Map<string, BuiltFile> {
  const dir = builtDir(page)
  const files = new Map<string, BuiltFile>()
  for (const name of listFiles(dir)) files.set(`/${name}`, readBuiltFile(join(dir, name)))
  if (files.size === 0) throw new Error(`${dir} is missing: build the pages first, with npm run build`)
  return files
}

/** Browsers cache files that are named by their content for ever, and revalidate pages and the service worker on every load. */
export function cacheControlOf(path: string): string {
  if (path.startsWith('/assets/')) return 'public, max-age=31536000, immutable'
  return /\.html$|^\/service-worker\.js$/.test(path) ? 'no-cache' : 'public, max-age=3600'
}

/** Reads a file of a build, to be sent from memory. */
export function readBuiltFile(path: string): BuiltFile {
  const identity = readFileSync(path)
  const type = types[extname(path)] ?? 'application/octet-stream'
  if (!isCompressible(path)) return { type, isCompressible: false, bodies: { identity, gzip: identity, br: identity } }
  const bodies = { identity, gzip: readFileSync(`${path}.gz`), br: readFileSync(`${path}.br`) }
  return { type, isCompressible: true, bodies }
}
