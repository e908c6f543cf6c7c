/** The first run of an installation with several processes. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../../scripts/free-port.ts'
import { startMs } from '../program.ts'
import { createBrowser, createDatabase, until } from '../support.ts'

test('processes that start on an empty database print the same setup link, and later ones none', async (t) => {
  const { host, port: databasePort, database, username } = (await createDatabase(t)).address
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-setup-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 }))
  const run = async () => {
    const port = String(await freePort())
    const env = {
      PORT: port,
      DATA_DIR: dataDir,
      DATABASE_URL: `postgres://${username}@localhost:${databasePort}/${database}?host=${host}`,
      ENCRYPTION_KEY: 'ab'.repeat(32),
      ROLES: 'api',
    }
    const child = spawn(process.execPath, ['server/main.ts'], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const gone = new Promise((resolve) => child.once('exit', resolve))
    t.after(() => child.kill() && gone)
    let output = ''
    child.stdout.on('data', (text) => (output += text))
    await until('the welcome', async () => output.includes('Parley is ready'), startMs)
    return { url: `http://127.0.0.1:${port}`, output }
  }
  const tokenOf = ({ url, output }: { url: string; output: string }): string => {
    const [, link = '', token = ''] = /First run +open (\S+\/setup\?token=([0-9A-Za-z]{22}))$/m.exec(output) ?? []
    assert.equal(link, `${url}/setup?token=${token}`, output)
    return token
  }
  const [one, other] = await Promise.all([run(), run()])
  const token = tokenOf(one)
  assert.equal(tokenOf(other), token)
  const owner = { name: 'Ann', email: 'ann@first.test', password: 'correct horse' }
  const body = { token, workspace_name: 'First', default_country: 'DE', ...owner }
  const made = await createBrowser(other.url).call('POST', '/setup', body, { origin: other.url })
  assert.equal(made.status, 201, made.text)
  const { output } = await run()
  assert.doesNotMatch(output, /setup|token/)
})
