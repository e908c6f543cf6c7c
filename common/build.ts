/**
 * Builds browser pages with Vite when their sources changed, and reads built files.
 *
 * A hash over all sources decides whether a build is stale. The build runs in
 * a temporary folder that is then renamed, so processes that start at the same
 * time do not disturb each other.
 */
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const root = join(import.meta.dirname, '..')
const stampFile = 'stamp'

export type Source = {
  /** The folder with the `vite.config.ts`. The build goes to its `dist`. */
  folder: string
  /** Glob patterns of all sources. */
  files: readonly string[]
}

export const builtDir = ({ folder }: Source): string => join(root, folder, 'dist')

/** Builds the page if its sources changed. Returns whether it did. */
export async function buildStale(source: Source): Promise<boolean> {
  const stamp = stampOf(source)
  const target = builtDir(source)
  if (readStamp(target) === stamp) return false
  const fresh = `${target}-${process.pid}`
  const old = `${fresh}-old`
  const { build } = await import('vite')
  const configFile = join(root, source.folder, 'vite.config.ts')
  await build({ configFile, logLevel: 'error', build: { outDir: fresh } })
  writeFileSync(join(fresh, stampFile), stamp)
  // In containers all processes have the same id, and one may have been killed here.
  rmSync(old, { recursive: true, force: true })
  try {
    mkdirSync(target, { recursive: true })
    renameSync(target, old)
    renameSync(fresh, target)
  } catch (error) {
    // Another process may have renamed the same build at this moment.
    if (readStamp(target) !== stamp) throw error
  }
  rmSync(old, { recursive: true, force: true })
  rmSync(fresh, { recursive: true, force: true })
  return true
}

function readStamp(dir: string): string | undefined {
  try {
    return readFileSync(join(dir, stampFile), 'utf8')
  } catch {
    return undefined
  }
}

/** A hash over all sources. */
function stampOf({ files }: Source): string {
  const hash = createHash('sha256')
  for (const file of globSync([...files, 'package-lock.json'], { cwd: root }).sort())
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(join(root, file)))
      .update('\0')
  return hash.digest('hex')
}

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
/** These formats are compressed already: all bodies are the file itself. */
const compressed = new Set(['.png', '.woff2'])

type Encoding = 'identity' | 'gzip' | 'br'
export type BuiltFile = { type: string; isCompressible: boolean; bodies: Record<Encoding, Buffer> }

const compressGzip = promisify(gzip)
const compressBrotli = promisify(brotliCompress)

/** Returns all files of a build with their paths, such as `/index.html` and `/assets/main-x.js`. */
export async function readBuilt(source: Source): Promise<Map<string, BuiltFile>> {
  const dir = builtDir(source)
  const files = new Map<string, BuiltFile>()
  for (const name of globSync('**/*.*', { cwd: dir })) files.set(`/${name}`, await readBuiltFile(join(dir, name)))
  if (!files.has('/index.html')) throw new Error(`${dir} has no index.html: build the pages first`)
  return files
}

/** Browsers cache files that are named by their content for ever, and revalidate pages and the service worker on every load. */
export function cacheControlOf(path: string): string {
  if (path.startsWith('/assets/')) return 'public, max-age=31536000, immutable'
  return /\.html$|^\/service-worker\.js$/.test(path) ? 'no-cache' : 'public, max-age=3600'
}

/** Reads a file and compresses it, so that it can be sent from memory. */
export async function readBuiltFile(path: string): Promise<BuiltFile> {
  const identity = readFileSync(path)
  const type = types[extname(path)] ?? 'application/octet-stream'
  if (compressed.has(extname(path)))
    return { type, isCompressible: false, bodies: { identity, gzip: identity, br: identity } }
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }
  const [zipped, brotli] = await Promise.all([compressGzip(identity), compressBrotli(identity, quality)])
  return { type, isCompressible: true, bodies: { identity, gzip: zipped, br: brotli } }
}
