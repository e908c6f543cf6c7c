/**
 * What browsers run: built when it is stale, read into memory, sent compressed.
 *
 * Stale means: what it is built from is not what the last build was made of,
 * by a hash over all of it. A build goes to a folder of its own and takes its
 * place at once, so processes that start side by side do no harm.
 */
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { chooseEncoding } from '../lib/encoding.ts'

const root = join(import.meta.dirname, '../..')
const stampFile = 'stamp'

export type Source = {
  /** Its folder, with a `vite.config.ts`; what is built goes to `dist` in it. */
  folder: string
  /** Everything it is made of. */
  files: readonly string[]
}

export const builtDir = ({ folder }: Source): string => join(root, folder, 'dist')

/** Build it unless it is what it would be. Answers whether it did. */
export async function buildStale(source: Source): Promise<boolean> {
  const stamp = stampOf(source)
  const place = builtDir(source)
  if (readStamp(place) === stamp) return false
  const made = `${place}-${process.pid}`
  const old = `${made}-old`
  const { build } = await import('vite')
  const configFile = join(root, source.folder, 'vite.config.ts')
  await build({ configFile, logLevel: 'error', build: { outDir: made } })
  writeFileSync(join(made, stampFile), stamp)
  // Of a process with the same id, as all are in a container, that was killed at this point.
  rmSync(old, { recursive: true, force: true })
  try {
    mkdirSync(place, { recursive: true })
    renameSync(place, old)
    renameSync(made, place)
  } catch (error) {
    // Another process put the same there in this very moment.
    if (readStamp(place) !== stamp) throw error
  }
  rmSync(old, { recursive: true, force: true })
  rmSync(made, { recursive: true, force: true })
  return true
}

function readStamp(place: string): string | undefined {
  try {
    return readFileSync(join(place, stampFile), 'utf8')
  } catch {
    return undefined
  }
}

/** A hash over everything a build is made of. */
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
}

type Encoding = 'identity' | 'gzip' | 'br'
export type File = { type: string; bodies: Record<Encoding, Buffer> }

const compressGzip = promisify(gzip)
const compressBrotli = promisify(brotliCompress)

export async function readFile(path: string): Promise<File> {
  const identity = readFileSync(path)
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }
  const [zipped, brotli] = await Promise.all([compressGzip(identity), compressBrotli(identity, quality)])
  return { type: types[extname(path)] ?? 'application/octet-stream', bodies: { identity, gzip: zipped, br: brotli } }
}

/** Send a file as its reader takes it. */
export function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: File,
  headers: Record<string, string>,
): FastifyReply {
  const encoding = chooseEncoding(request.headers['accept-encoding']) ?? 'identity'
  reply.headers({ ...headers, vary: 'accept-encoding' })
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply.type(file.type).send(file.bodies[encoding])
}
