/** Programs of other projects that the tests of an installation run. Each is pinned, and installed once into a cache. */
import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** What the programs need: their versions, their settings, and the code that uses generated clients. */
export const sources = join(import.meta.dirname, 'clients')
const cache = join(import.meta.dirname, '../node_modules/.cache/tools')

/** Runs a program in the folder and returns its output. Asynchronous, because the process of a test runs the service. */
export async function runProgram(
  folder: string,
  command: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const options = { cwd: folder, encoding: 'utf8', timeout: 280_000, maxBuffer: 64 * 1024 * 1024 } as const
  const { stdout } = await promisify(execFile)(command, args, { ...options, env: { ...process.env, ...env } }).catch(
    (error) => {
      throw new Error(`${command} ${args.join(' ')}: ${error.stdout}${error.stderr}`, { cause: error })
    },
  )
  return stdout.trim()
}

/** Installs a program once for each value of `pinned`. Undefined where it cannot be installed, which is an error in CI. */
export async function resolveTool(
  name: string,
  pinned: string,
  install: (folder: string) => Promise<unknown>,
): Promise<string | undefined> {
  const folder = join(cache, `${name}-${createHash('sha256').update(pinned).digest('hex').slice(0, 16)}`)
  if (existsSync(join(folder, 'installed'))) return folder
  mkdirSync(folder, { recursive: true })
  const failure = await install(folder).then(() => undefined, String)
  if (failure && process.env.CI) throw new Error(failure)
  if (failure) return undefined
  writeFileSync(join(folder, 'installed'), '')
  return folder
}

/** The packages of a `package-lock.json` below `tests/clients`. Returns their `node_modules`. */
export async function resolveNodePackages(name: string, source: string): Promise<string | undefined> {
  const locked = readFileSync(join(source, 'package-lock.json'), 'utf8')
  const folder = await resolveTool(name, locked, (folder) => {
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(source, file), join(folder, file))
    return runProgram(folder, 'npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'])
  })
  return folder && join(folder, 'node_modules')
}

const isUsable = (python: string) =>
  spawnSync(python, ['-c', 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))']).status === 0
const findPython = () => ['python3', 'python3.13', 'python3.12', 'python3.11'].find(isUsable)

/** The packages of `tests/clients/python/NAME.txt` in an environment of their own. Returns its folder of programs. */
export async function resolvePythonPackages(name: string): Promise<string | undefined> {
  const requirements = join(sources, 'python', `${name}.txt`)
  const python = findPython()
  if (!python) return undefined
  const folder = await resolveTool(name, readFileSync(requirements, 'utf8'), async (folder) => {
    await runProgram(folder, python, ['-m', 'venv', folder])
    const options = ['--quiet', '--disable-pip-version-check', '--no-deps', '--only-binary', ':all:']
    await runProgram(folder, join(folder, 'bin/python'), ['-m', 'pip', 'install', ...options, '-r', requirements])
  })
  return folder && join(folder, 'bin')
}
