/**
 * `npm run build`: builds the pages whose sources changed, with Vite, and packs the SDKs that the service offers for download.
 * The launcher runs it before a program that serves pages. A release contains the built files and neither this file nor most of
 * their sources.
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
import { type BuildName, builtDir, isCompressible, listFiles } from '../common/pages.ts'
import { type Bundle, packSdks } from './sdk.ts'

const root = join(import.meta.dirname, '..')
const stampFile = 'stamp'
/** Lists the packages whose code or files the build contains. Files without an extension are not served. */
const bundledFile = 'bundled'
/** Change it when a build contains other files. */
const format = 'compressed, with the list of packages'

type Build = {
  name: BuildName
  /** Glob patterns of all sources. */
  files: readonly string[]
  /** Writes the files into a new folder. */
  write: (target: string) => Promise<Bundle>
}

const builds: readonly Build[] = [
  {
    name: 'dashboard',
    write: (target) => writePage('dashboard', target),
    files: [
      'dashboard/{src,public}/**/*.*',
      'dashboard/*.{ts,html,json}',
      'ui/*.*',
      'widget/src/color.ts',
      'docs/automations/*.json',
    ],
  },
  {
    name: 'widget',
    write: (target) => writePage('widget', target),
    files: ['widget/src/**/*.*', 'widget/*.{ts,json}'],
  },
  {
    name: 'reference',
    write: (target) => writePage('reference', target),
    files: ['reference/src/**/*.*', 'reference/*.{ts,html,json}', 'ui/*.*'],
  },
  {
    name: 'phone',
    write: (target) => writePage('simulator/phone', target),
    files: ['simulator/phone/src/**/*.*', 'simulator/phone/*.{ts,html,json}', 'simulator/wire/bubble.ts', 'ui/*.*'],
  },
  {
    name: 'sdk',
    write: packSdks,
    files: [
      'sdk/src/*.ts',
      'sdk/{package.json,tsconfig.json,README.md,LICENSE,*.schema.json}',
      '{cli,common}/*.ts',
      'scripts/{sdk,tar}.ts',
      'sdk-python/{pyproject.toml,README.md,LICENSE}',
      'sdk-python/parley_sdk/*.{py,typed}',
    ],
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
  const stale = builds.flatMap((build) => {
    const stamp = stampOf(build)
    return readStamp(builtDir(build.name)) === stamp ? [] : { build, stamp }
  })
  if (stale.length > 0) onStale()
  for (const { build, stamp } of stale) await replaceBuild(build, stamp)
}

async function replaceBuild({ name, write }: Build, stamp: string): Promise<void> {
  const target = builtDir(name)
  const fresh = `${target}-${process.pid}`
  const old = `${fresh}-old`
  const bundle = await write(fresh)
  writeFileSync(join(fresh, bundledFile), listPackages(bundle).join('\n'))
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

/** `folder` has the `vite.config.ts`. */
async function writePage(folder: string, target: string): Promise<Bundle> {
  const { build } = await import('vite')
  const configFile = join(root, folder, 'vite.config.ts')
  const bundle = await build({ configFile, logLevel: 'error', build: { outDir: target } })
  await compressFiles(target)
  return bundle
}

/** The names of the packages of a build, from the paths of its modules and assets. */
function listPackages(bundle: Bundle): string[] {
  if ('close' in bundle) throw new Error('the build watches its sources')
  const paths = [bundle]
    .flat()
    .flatMap(({ output }) => output)
    .flatMap((part) => (part.type === 'chunk' ? part.moduleIds : part.originalFileNames))
  const names = paths.flatMap((path) => /.*\bnode_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])
  return [...new Set(names)].sort()
}

/** The names of the packages that the builds contain. */
export const listBundled = (): string[] =>
  builds.flatMap(({ name }) =>
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
function stampOf({ files }: Build): string {
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
