/**
 * `npm run sdk`: builds `sdk/dist`, the published JavaScript and declarations, as ES modules and as CommonJS (`dist/cjs`).
 * Code in this repository imports `sdk/src` directly.
 *
 * The compiler rewrites import extensions in JavaScript but not in declarations, and some tools do not resolve a `.ts`
 * import to a `.d.ts` file. So this script rewrites the declarations.
 */
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** Writes the published JavaScript and declarations into a folder. */
export function buildSdk(dist: string): void {
  rmSync(dist, { recursive: true, force: true })
  compile(dist)
  compile(join(dist, 'cjs'), '--module', 'commonjs', '--moduleResolution', 'bundler', '--verbatimModuleSyntax', 'false')
  // Node reads the module type of a `.js` file from the nearest package.json.
  writeFileSync(join(dist, 'cjs/package.json'), '{ "type": "commonjs" }\n')
}

function compile(folder: string, ...options: string[]): void {
  const args = ['-p', join(root, 'sdk'), '--outDir', folder, ...options]
  const { status } = spawnSync(join(root, 'node_modules/.bin/tsc'), args, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
  for (const file of globSync(join(folder, '*.d.ts')))
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(['"]\.\/[\w-]+)\.ts(?=['"])/g, '$1.js'))
}

if (import.meta.main) buildSdk(join(root, 'sdk/dist'))
