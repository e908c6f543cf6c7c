/**
 * Builds browser pages with Vite when their sources changed, and reads built files.
 *
 * A hash over all sources decides whether a build is stale. The build runs in
 * a temporary folder that is then renamed, so processes that start at the same
 * time do not disturb each other. Compressed files are part of the build: a
 * process that compresses them at its start keeps 10 MB of freed memory.
 */
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const root = join(import.meta.dirname, '..')
const stampFile = 'stamp'
/** Change it when a build contains other files. */
const format = 'compressed'

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
  await compressFiles(fresh)
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
  const hash = createHash('sha256').update(format)
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

/** Writes `x.js.gz` and `x.js.br` beside `x.js`. */
async function compressFiles(dir: string): Promise<void> {
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }
  for (const name of listFiles(dir).filter((name) => !compressed.has(extname(name)))) {
    const path = join(dir, name)
    const identity = readFileSync(path)
    writeFileSync(`${path}.gz`, await compressGzip(identity))
    writeFileSync(`${path}.br`, await compressBrotli(identity, quality))
  }
}

/** The names of the files of a build, without the compressed ones. */
export const listFiles = (dir: string): string[] =>
  globSync('**/*.*', { cwd: dir }).filter((name) => !['.gz', '.br'].includes(extname(name)))

/** Returns all files of a build with their paths, such as `/index.html` and `/assets/main-x.js`. */
export function readBuilt(source: Source): Map<string, BuiltFile> {
  const dir = builtDir(source)
  const files = new Map<string, BuiltFile>()
  for (const name of listFiles(dir)) files.set(`/${name}`, readBuiltFile(join(dir, name)))
  if (!files.has('/index.html')) throw new Error(`${dir} has no index.html: build the pages first`)
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
  if (compressed.has(extname(path)))
    return { type, isCompressible: false, bodies: { identity, gzip: identity, br: identity } }
  const bodies = { identity, gzip: readFileSync(`${path}.gz`), br: readFileSync(`${path}.br`) }
  return { type, isCompressible: true, bodies }
}
