/** The program as an operator starts it: through its launcher, with a database of its own. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../scripts/free-port.ts'
import { startMs } from './program.ts'
import { createBrowser, file, type Json, type Owner, until } from './support.ts'

type Running = {
  url: string
  child: ChildProcess
  output: () => string
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

export function folder(t: Owner): string {
  const path = mkdtempSync(join(tmpdir(), 'parley-process-'))
  t.after(() => rmSync(path, { recursive: true, force: true, maxRetries: 20 }))
  return path
}

export async function launch(t: Owner, env: Record<string, string>, prefix: string[] = []): Promise<Running> {
  const port = await freePort()
  const [command = '', ...args] = [...prefix, 'sh', 'scripts/launch.sh', 'server/main.ts']
  const child = spawn(command, args, {
    env: { ...process.env, PORT: String(port), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  const gone = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const stop: Running['stop'] = (signal = 'SIGTERM') => {
    child.kill(signal)
    return gone
  }
  t.after(() => stop())
  return { url: `http://127.0.0.1:${port}`, child, output: () => output, stop }
}

export async function start(t: Owner, env: Record<string, string>, prefix?: string[]): Promise<Running> {
  const running = await launch(t, env, prefix)
  await until(
    'the service to be ready',
    async () => {
      assert.equal(running.child.exitCode, null, running.output())
      return (await fetch(`${running.url}/readyz`).catch(() => undefined))?.ok
    },
    startMs,
  )
  return running
}

let stopped: Promise<string> | undefined

/** A copy of the data folder of a demo that ran once. To start on it takes a third of the time of a first start. */
export async function usedFolder(t: Owner): Promise<string> {
  stopped ??= (async () => {
    const dataDir = folder(file)
    const { stop } = await start(file, { DATA_DIR: dataDir })
    await stop()
    return dataDir
  })()
  const copy = folder(t)
  execFileSync('cp', ['-a', `${await stopped}/.`, copy])
  return copy
}

export const demoOf = (dataDir: string): Json => JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))
export const me = (url: string, key: string) => fetch(`${url}/v1/me`, { headers: { authorization: `Bearer ${key}` } })

/** The connections as a member sees them. */
export async function channelsOf(url: string, owner: { email: string; password: string }): Promise<Json[]> {
  const browser = createBrowser(url)
  const signedIn = await browser.call('POST', '/session', owner, { origin: url })
  assert.equal(signedIn.status, 200, signedIn.text)
  return (await browser.call('GET', '/channels')).body.data
}

/** `parley …` as a script would call it. */
export async function parley(
  env: Record<string, string>,
  ...args: string[]
): Promise<{ code: number; json: Json; stderr: string }> {
  const run = promisify(execFile)('bin/parley', [...args, '--json'], { env: { ...process.env, ...env } })
  return run.then(
    ({ stdout, stderr }) => ({ code: 0, json: JSON.parse(stdout), stderr }),
    (error) => ({ code: error.code, json: undefined, stderr: error.stderr }),
  )
}
