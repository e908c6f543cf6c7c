/**
 * `npm run sdk`: make `sdk/dist`, the JavaScript and the declarations that are
 * published. In this repository nobody needs it: `sdk/src` is imported as it is.
 *
 * The compiler gives imports in JavaScript their new ending and leaves those in
 * declarations as they are; not everybody who reads declarations finds a
 * `.d.ts` behind a `.ts`, so these get theirs here.
 */
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'sdk/dist')

rmSync(dist, { recursive: true, force: true })
const { status } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', join(root, 'sdk')], { stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 1)
for (const file of globSync(join(dist, '*.d.ts')))
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(['"]\.\/[\w-]+)\.ts(?=['"])/g, '$1.js'))
