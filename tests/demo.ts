/** The demo of a service that runs as a process, and the command line beside it. */
import { execFile, execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createFolder } from './folder.ts'
import { startService } from './program.ts'
import { assertStatus, createBrowser, file, type Json, type Owner } from './support.ts'

let stopped: Promise<string> | undefined

/** A copy of the data folder of a demo that ran once. To start on it takes a third of the time of a first start. */
export async function usedFolder(t: Owner): Promise<string> {
  stopped ??= (async () => {
    const dataDir = createFolder(file)
    const service = await startService(file, { DATA_DIR: dataDir })
    await service.kill('SIGTERM')
    return dataDir
  })()
  const copy = createFolder(t)
  execFileSync('cp', ['-a', `${await stopped}/.`, copy])
  return copy
}

export const demoOf = (dataDir: string): Json => JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))
export const me = (url: string, key: string) => fetch(`${url}/v1/me`, { headers: { authorization: `Bearer ${key}` } })

/** The connections as a member sees them. */
export async function channelsOf(url: string, owner: { email: string; password: string }): Promise<Json[]> {
  const browser = createBrowser(url)
  assertStatus(await browser.call('POST', '/session', owner, { origin: url }), 200)
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
