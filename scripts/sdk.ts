/**
 * `npm run sdk`: writes `sdk/dist`, the JavaScript and the declarations that
 * are published, as ES modules and as CommonJS (`dist/cjs`). In this repository
 * `sdk/src` is imported as it is.
 *
 * The compiler rewrites the extension of imports in JavaScript but not in
 * declarations, and some readers of declarations find no `.d.ts` behind a
 * `.ts`. So the declarations are rewritten here.
 */
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'sdk/dist')

rmSync(dist, { recursive: true, force: true })
compile(dist)
compile(join(dist, 'cjs'), '--module', 'commonjs', '--moduleResolution', 'bundler', '--verbatimModuleSyntax', 'false')
// The nearest package.json decides what a `.js` file is.
writeFileSync(join(dist, 'cjs/package.json'), '{ "type": "commonjs" }\n')

function compile(folder: string, ...options: string[]): void {
  const args = ['-p', join(root, 'sdk'), '--outDir', folder, ...options]
  const { status } = spawnSync(join(root, 'node_modules/.bin/tsc'), args, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
  for (const file of globSync(join(folder, '*.d.ts')))
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(['"]\.\/[\w-]+)\.ts(?=['"])/g, '$1.js'))
}
