/** The compose files, run by a container engine: the commands of their first lines, a command for operators, and a backup. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { until } from '../support.ts'

const root = join(import.meta.dirname, '../..')
const hasEngine = spawnSync('docker', ['compose', 'version']).status === 0 && spawnSync('docker', ['info']).status === 0
const skip = hasEngine ? false : 'no container engine with compose'
const minute = 60_000

/** Starts a compose file as its first lines say, in a copy of the repository, and removes everything afterwards. */
async function startCompose(t: TestContext, file: string) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-compose-'))
  const isCopied = (path: string) => !/^(\.git|node_modules|dist|data|release)$/.test(basename(path))
  cpSync(root, folder, { recursive: true, filter: isCopied })
  const shell = async (line: string): Promise<string> =>
    (await promisify(execFile)('bash', ['-euc', line], { cwd: folder, maxBuffer: 1 << 26 })).stdout
  const compose = (line: string) => shell(`docker compose --file ${file} ${line}`)
  t.after(async () => {
    await compose('down --volumes --timeout 15').catch(() => undefined)
    rmSync(folder, { recursive: true, force: true })
  })
  const lines = readFileSync(join(root, file), 'utf8')
    .split('\n')
    .flatMap((line) => /^# {3}(.*)$/.exec(line)?.[1] ?? [])
    .filter((line) => !line.includes(' logs '))
  await shell(`${lines.slice(0, -1).join('\n')}\necho 'LOG_LEVEL=debug' >> parley.env\n${lines.at(-1)}`)
  await until('the welcome', async () => /First run +open \S+/.test(await compose('logs parley')), 5 * minute)
  assert.equal((await fetch('http://127.0.0.1:4000/readyz')).status, 200)
  return { shell, compose }
}

test('compose.yaml starts with PostgreSQL, reads its settings, and dumps the database', {
  skip,
  timeout: 20 * minute,
}, async (t) => {
  const { compose } = await startCompose(t, 'compose.yaml')
  assert.match(await compose('exec -T parley env'), /^LOG_LEVEL=debug$/m)
  const made = await compose('exec -T parley parley workspace create --name Acme --owner-email ann@acme.example --json')
  assert.ok(JSON.parse(made).workspace_id)
  assert.match(await compose('exec -T postgres pg_dump --username parley parley'), /ann@acme\.example/)
})

test('compose.embedded.yaml keeps its data and backups in volumes', { skip, timeout: 20 * minute }, async (t) => {
  const { compose } = await startCompose(t, 'compose.embedded.yaml')
  await compose('exec -T parley parley workspace create --name Acme --owner-email ann@acme.example')
  await compose('exec -T parley parley backup --to /backups/first')
  await compose('up --detach --force-recreate')
  const isReady = async () => (await fetch('http://127.0.0.1:4000/readyz').catch(() => undefined))?.ok
  await until('the service', isReady, 2 * minute)
  assert.match(await compose('exec -T parley parley workspace list'), /name: Acme/)
  assert.match(await compose('exec -T parley ls /backups/first'), /backup\.json/)
})
