/**
 * `npm run sdk`: builds `sdk/dist`, the package `parley-sdk`: JavaScript and declarations as ES modules and as CommonJS
 * (`dist/cjs`), and the commands for integrators (`dist/cli.js`). Code in this repository imports `sdk/src` directly.
 *
 * The commands are bundled with all that they import, so the package has no dependencies. `dist/cli-licenses.md` has the
 * licenses of the bundled packages.
 *
 * The compiler rewrites import extensions in JavaScript but not in declarations, and some tools do not resolve a `.ts`
 * import to a `.d.ts` file. So this script rewrites the declarations.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { build } from 'vite'
import { packFolder } from './tar.ts'

const root = join(import.meta.dirname, '..')

export type Bundle = Awaited<ReturnType<typeof build>>

/** Writes the package `parley-sdk` into a folder. Returns the bundle of its commands. */
async function buildSdk(dist: string): Promise<Bundle> {
  rmSync(dist, { recursive: true, force: true })
  compile(dist)
  compile(join(dist, 'cjs'), '--module', 'commonjs', '--moduleResolution', 'bundler', '--verbatimModuleSyntax', 'false')
  // Node reads the module type of a `.js` file from the nearest package.json.
  writeFileSync(join(dist, 'cjs/package.json'), '{ "type": "commonjs" }\n')
  return bundleCommands(dist)
}

function compile(folder: string, ...options: string[]): void {
  const args = ['-p', join(root, 'sdk'), '--outDir', folder, ...options]
  const { status } = spawnSync(join(root, 'node_modules/.bin/tsc'), args, { stdio: 'inherit' })
  if (status !== 0) throw new Error(`tsc failed: exit code ${status}`)
  for (const file of globSync(join(folder, '*.d.ts')))
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(['"]\.\/[\w-]+)\.ts(?=['"])/g, '$1.js'))
}

/** All files are in `dist` itself: `common/version.ts` reads the `package.json` of the folder above. */
async function bundleCommands(dist: string): Promise<Bundle> {
  const { build } = await import('vite')
  return build({
    configFile: false,
    root,
    publicDir: false,
    logLevel: 'error',
    ssr: { noExternal: true },
    build: {
      ssr: join(root, 'cli/program.ts'),
      outDir: dist,
      emptyOutDir: false,
      target: 'node20',
      // The licenses are a file that no module imports.
      ssrEmitAssets: true,
      license: { fileName: 'cli-licenses.md' },
      rolldownOptions: {
        platform: 'node',
        output: {
          entryFileNames: 'cli.js',
          chunkFileNames: 'cli-[name].js',
          banner: ({ isEntry }) => (isEntry ? '#!/usr/bin/env node' : ''),
        },
      },
    },
  })
}

export const javaScriptPackage = 'parley-sdk.tgz'
export const pythonPackage = 'parley_sdk.tar.gz'

/** Packs both SDKs as npm and pip install them. Returns the bundle of the commands. */
export async function packSdks(folder: string): Promise<Bundle> {
  mkdirSync(folder, { recursive: true })
  // A copy: another process may use `sdk/dist`.
  const staging = mkdtempSync(join(tmpdir(), 'parley-sdk-'))
  try {
    // npm expects this name inside the archive.
    const javaScript = join(staging, 'package')
    for (const path of globSync(join(root, 'sdk/{package.json,README.md,LICENSE,*.schema.json}')))
      cpSync(path, join(javaScript, basename(path)))
    const bundle = await buildSdk(join(javaScript, 'dist'))
    packFolder(javaScript, join(folder, javaScriptPackage))
    // A source distribution, which needs no Python to make.
    const python = join(staging, `parley_sdk-${pythonVersion()}`)
    for (const path of ['LICENSE', 'README.md', 'pyproject.toml', 'parley_sdk']) {
      const filter = (source: string) => !source.endsWith('__pycache__')
      cpSync(join(root, 'sdk-python', path), join(python, path), { recursive: true, filter })
    }
    packFolder(python, join(folder, pythonPackage))
    return bundle
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

/** The version in the spelling of Python. */
export function pythonVersion(): string {
  const source = readFileSync(join(root, 'sdk-python/parley_sdk/_call.py'), 'utf8')
  const [, version] = /^VERSION = "(.+)"$/m.exec(source) ?? []
  if (!version) throw new Error('sdk-python/parley_sdk/_call.py has no VERSION')
  return version
}

if (import.meta.main) await buildSdk(join(root, 'sdk/dist'))
