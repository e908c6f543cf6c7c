/**
 * The dashboard's pages: built when they are stale, served from memory.
 *
 * Stale means: what they are built from is not what the last build was made
 * of, by a hash over all of it. A build goes to a folder of its own and takes
 * its place at once, so processes that start side by side do no harm. Files
 * named by their content are kept by browsers for ever; the page itself is
 * asked for each time. Scripts and styles come only from us.
 */
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from './lib/server.ts'

const root = join(import.meta.dirname, '..')
const sourceDir = join(root, 'dashboard')
const builtDir = join(sourceDir, 'dist')
const stampFile = 'stamp'

/** Rooms of the dashboard: their paths, and whatever is under them, are answered with the one page. */
const rooms = [
  'sign-in',
  'setup',
  'invitations',
  'inbox',
  'overview',
  'contacts',
  'segments',
  'broadcasts',
  'templates',
  'webhooks',
  'integrations',
  'settings',
]

export const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob: https:; media-src 'self' blob: https:; " +
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
}

/** Build the pages unless they are what they would be. Answers whether it did. */
export async function buildPages(): Promise<boolean> {
  const stamp = stampOf()
  if (readStamp() === stamp) return false
  const made = `${builtDir}-${process.pid}`
  const old = `${made}-old`
  const { build } = await import('vite')
  await build({ configFile: join(sourceDir, 'vite.config.ts'), logLevel: 'error', build: { outDir: made } })
  writeFileSync(join(made, stampFile), stamp)
  mkdirSync(builtDir, { recursive: true })
  renameSync(builtDir, old)
  try {
    renameSync(made, builtDir)
  } catch (error) {
    // Another process put the same pages there in this very moment.
    if (readStamp() !== stamp) throw error
  }
  rmSync(old, { recursive: true, force: true })
  rmSync(made, { recursive: true, force: true })
  return true
}

function readStamp(): string | undefined {
  try {
    return readFileSync(join(builtDir, stampFile), 'utf8')
  } catch {
    return undefined
  }
}

/** A hash over everything a build is made of. */
function stampOf(): string {
  const files = globSync(['dashboard/{src,public}/**/*.*', 'dashboard/*.{ts,html,json}', 'package-lock.json'], {
    cwd: root,
  })
  const hash = createHash('sha256')
  for (const file of files.sort())
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
}

type Encoding = 'identity' | 'gzip' | 'br'
type File = { type: string; bodies: Record<Encoding, Buffer> }

/** Serve the pages that were built. */
export const pageRoutes = () => async (app: App) => {
  const files = new Map<string, File>()
  for (const name of globSync('**/*.*', { cwd: builtDir })) files.set(`/${name}`, await readFile(name))
  const page = files.get('/index.html')
  if (!page) throw new Error(`the pages are not built: ${builtDir} has no index.html`)

  for (const [path, file] of files) {
    if (path === '/index.html') continue
    const isNamedByContent = path.startsWith('/assets/')
    const cache = isNamedByContent ? 'public, max-age=31536000, immutable' : 'public, max-age=3600'
    app.get(path, async (request, reply) => send(request, reply, file, cache))
  }
  for (const path of ['/', ...rooms.flatMap((room) => [`/${room}`, `/${room}/*`])]) {
    app.get(path, async (request, reply) => send(request, reply, page, 'no-cache'))
  }
}

const compressGzip = promisify(gzip)
const compressBrotli = promisify(brotliCompress)

async function readFile(name: string): Promise<File> {
  const identity = readFileSync(join(builtDir, name))
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }
  const [zipped, brotli] = await Promise.all([compressGzip(identity), compressBrotli(identity, quality)])
  return { type: types[extname(name)] ?? 'application/octet-stream', bodies: { identity, gzip: zipped, br: brotli } }
}

function send(request: FastifyRequest, reply: FastifyReply, file: File, cache: string): FastifyReply {
  const accepted = String(request.headers['accept-encoding'] ?? '')
  const encoding = (['br', 'gzip'] as const).find((name) => accepted.includes(name)) ?? 'identity'
  reply.headers({ ...pageHeaders, 'cache-control': cache, vary: 'accept-encoding' })
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply.type(file.type).send(file.bodies[encoding])
}
