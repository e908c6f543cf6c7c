/**
 * `npm run build`: builds the pages whose sources changed, with Vite. The launcher runs it before a program that serves pages.
 * A release contains the built pages and neither this file nor their sources.
 *
 * A hash over all sources decides whether a build is stale. The build runs in a temporary folder that is then renamed, so
 * processes that start at the same time do not disturb each other. Compressed files are part of the build: a process that
 * compresses them at its start keeps 10 MB of freed memory.
 */
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { build } from 'vite'
import { builtDir, isCompressible, listFiles, type PageName } from '../common/pages.ts'

const root = join(import.meta.dirname, '..')
const stampFile = 'stamp'
/** Lists the packages whose code or files the page contains. Files without an extension are not served. */
const bundledFile = 'bundled'
/** Change it when a build contains other files. */
const format = 'compressed, with the list of packages'

type Page = {
  name: PageName
  /** The folder with the `vite.config.ts`. */
  folder: string
  /** Glob patterns of all sources. */
  files: readonly string[]
}

const pages: readonly Page[] = [
  {
    name: 'dashboard',
    folder: 'dashboard',
    files: ['dashboard/{src,public}/**/*.*', 'dashboard/*.{ts,html,json}', 'ui/*.*', 'widget/src/color.ts'],
  },
  { name: 'widget', folder: 'widget', files: ['widget/src/**/*.*', 'widget/*.{ts,json}'] },
  {
    name: 'reference',
    folder: 'reference',
    files: ['reference/src/**/*.*', 'reference/*.{ts,html,json}', 'ui/*.*'],
  },
  {
    name: 'phone',
    folder: 'simulator/phone',
    files: ['simulator/phone/src/**/*.*', 'simulator/phone/*.{ts,html,json}', 'simulator/wire/bubble.ts', 'ui/*.*'],
  },
]

let running: Promise<void> | undefined

/** Builds the pages whose sources changed. `onStale` is called once before the first of them. Concurrent callers share one build. */
export function buildPages(onStale = () => {}): Promise<void> {
  running ??= buildStale(onStale).finally(() => {
    running = undefined
  })
  return running
}

async function buildStale(onStale: () => void): Promise<void> {
  const stale = pages.flatMap((page) => {
    const stamp = stampOf(page)
    return readStamp(builtDir(page.name)) === stamp ? [] : { page, stamp }
  })
  if (stale.length > 0) onStale()
  for (const { page, stamp } of stale) await buildPage(page, stamp)
}

async function buildPage({ name, folder }: Page, stamp: string): Promise<void> {
  const target = builtDir(name)
  const fresh = `${target}-${process.pid}`
  const old = `${fresh}-old`
  const { build } = await import('vite')
  const configFile = join(root, folder, 'vite.config.ts')
  const built = await build({ configFile, logLevel: 'error', build: { outDir: fresh } })
  await compressFiles(fresh)
  writeFileSync(join(fresh, bundledFile), listPackages(built).join('\n'))
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
}

/** The names of the packages of a build, from the paths of its modules and assets. */
function listPackages(built: Awaited<ReturnType<typeof build>>): string[] {
  if ('close' in built) throw new Error('the build watches its sources')
  const paths = [built]
    .flat()
    .flatMap(({ output }) => output)
    .flatMap((part) => (part.type === 'chunk' ? part.moduleIds : part.originalFileNames))
  const names = paths.flatMap((path) => /.*\bnode_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])
  return [...new Set(names)].sort()
}

/** The names of the packages that the built pages contain. */
export const listBundled = (): string[] =>
  pages.flatMap(({ name }) =>
    readFileSync(join(builtDir(name), bundledFile), 'utf8')
      .split('\n')
      .filter(Boolean),
  )

function readStamp(dir: string): string | undefined {
  try {
    return readFileSync(join(dir, stampFile), 'utf8')
  } catch {
    return undefined
  }
}

/** A hash over all sources. */
function stampOf({ files }: Page): string {
  const hash = createHash('sha256').update(format)
  for (const file of globSync([...files, 'package-lock.json'], { cwd: root }).sort())
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(join(root, file)))
      .update('\0')
  return hash.digest('hex')
}

const compressGzip = promisify(gzip)
const compressBrotli = promisify(brotliCompress)

/** Writes `x.js.gz` and `x.js.br` beside `x.js`. */
async function compressFiles(dir: string): Promise<void> {
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }
  for (const name of listFiles(dir).filter(isCompressible)) {
    const path = join(dir, name)
    const identity = readFileSync(path)
    writeFileSync(`${path}.gz`, await compressGzip(identity))
    writeFileSync(`${path}.br`, await compressBrotli(identity, quality))
  }
}

if (import.meta.main) await buildPages(() => console.error('Building the pages.'))
