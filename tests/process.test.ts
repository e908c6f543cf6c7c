/** One start of the real program, as an operator meets it: real processes, real signals, a database of its own. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { Parley } from '../sdk/src/index.ts'
import { channelsOf, demoOf, me } from './demo.ts'
import { createFolder } from './folder.ts'
import { demoPeople, findEmbeddedPostgres } from './internals.ts'
import { launcher, startMs, startService } from './program.ts'
import { file, type Json, pluck, until } from './support.ts'

/** Both tests start on it: to start on a used folder takes a third of the time of a first start. */
const dataDir = createFolder(file)

/** Replies to a contact of the demo's history, on a channel with a messaging window, and waits until it is read. */
async function answerHistory({ base_url, api_key }: Json): Promise<void> {
  const headers = { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' }
  const ask = async (path: string, options = {}): Promise<Json> =>
    (await fetch(`${base_url}${path}`, { headers, ...options })).json()
  const { phone: to } = demoPeople.samuel
  const sent = await ask('/messages', { method: 'POST', body: JSON.stringify({ to, text: 'We are looking for it.' }) })
  await until('the answer to be read', async () => {
    const { data } = await ask(`/conversations/${sent.data.conversation_id}/messages`)
    return data[0].id === sent.data.message_id && data[0].status === 'read'
  })
}

test('the first start creates a demo workspace, the second reuses it, and both stop cleanly', async (t) => {
  const first = await startService(t, { DATA_DIR: dataDir }, launcher)
  const demo = demoOf(dataDir)
  assert.equal(statSync(join(dataDir, 'demo.json')).mode & 0o777, 0o600)
  assert.equal(statSync(join(dataDir, 'encryption.key')).mode & 0o777, 0o600)
  assert.deepEqual([demo.base_url, demo.owner.email], [`${first.url}/v1`, 'owner@demo.test'])
  await until('the welcome', async () => first.output().includes('Parley is ready'))
  const [above = ''] = first.output().split('Parley is ready')
  assert.doesNotMatch(above, /^\{/m, 'a log line stands above the welcome')
  for (const text of [demo.base_url, `${first.url}/docs`, demo.simulator_url, demo.api_key, demo.owner.password]) {
    assert.ok(first.output().includes(text), text)
  }
  const [, tried = ''] = /Try: (curl .*)$/m.exec(first.output()) ?? []
  const { stdout } = await promisify(execFile)('bash', ['-euc', tried.replace('curl ', 'curl -sf ')])
  assert.equal(JSON.parse(stdout).data.contact_created, true)
  await answerHistory(demo)
  const known: Json = await (await me(first.url, demo.api_key)).json()
  assert.equal(known.data.account.id, demo.workspace_id)
  assert.equal(known.data.key.scopes.length, 10)
  assert.equal(demo.simulator_url, `${first.url}/simulator`)
  const connected = await channelsOf(first.url, demo.owner)
  assert.deepEqual(pluck(connected, 'channel', 'state', 'messages_per_second'), [
    ['msgapp', 'connected', 80],
    ['social', 'connected', 80],
    ['web', 'connected', 80],
  ])
  assert.deepEqual([connected[0].base_url, connected[2].id], [`${demo.simulator_url}/graph`, demo.web_site_id])
  assert.equal(await first.kill('SIGTERM'), 0)
  assert.equal(await findEmbeddedPostgres(dataDir), undefined)

  const second = await startService(t, { DATA_DIR: dataDir }, launcher)
  const simulator_url = `${second.url}/simulator`
  assert.deepEqual(demoOf(dataDir), { ...demo, base_url: `${second.url}/v1`, simulator_url })
  assert.equal((await me(second.url, demo.api_key)).status, 200)
  // Later starts print where the password is.
  await until('the welcome', async () => second.output().includes('Parley is ready'))
  assert.ok(second.output().includes(`owner@demo.test (the password is in ${join(dataDir, 'demo.json')})`))
  assert.ok(!second.output().includes(demo.owner.password))
  const moved = connected.map((connection: Json) => ({
    ...connection,
    ...(connection.callback_url && { callback_url: connection.callback_url.replace(first.url, second.url) }),
    base_url: connection.base_url.replace(first.url, second.url),
  }))
  assert.deepEqual(await channelsOf(second.url, demo.owner), moved)
  assert.equal(await second.kill('SIGINT'), 0)
})

test('the first examples of the README and of the guide to campaigns work as printed', async (t) => {
  const service = await startService(t, { DATA_DIR: dataDir }, launcher)
  const blocksOf = (document: string, part: string) =>
    [...readFileSync(document, 'utf8').matchAll(/```sh\n(.*?)```/gs)]
      .map(([, block = '']) => block)
      .filter((block) => block.includes(part))
  const [send = '', answer = ''] = blocksOf('README.md', '/v1/')
  const [broadcast = ''] = blocksOf('docs/campaigns.md', 'BROADCAST=')
  const [key = ''] = /^KEY=.*$/m.exec(send) ?? []
  const run = async (example: string): Promise<Json[]> => {
    const here = example
      .replaceAll('http://127.0.0.1:4000', service.url)
      .replaceAll('data/demo.json', join(dataDir, 'demo.json'))
    const { stdout } = await promisify(execFile)('bash', ['-euc', here.replaceAll('curl ', "curl -sf -w '\\n' ")])
    const lines = stdout.trim().split('\n')
    return lines.map((line): Json => JSON.parse(line))
  }
  const [first] = await run(send)
  // The first start has sent to the same number.
  assert.equal(first.data.contact_created, false)

  // The commands of the banner too, in a terminal that knows nothing of this service's settings.
  const { DATA_DIR: _, PORT: __, ...env } = process.env
  await until('the banner', async () => service.output().includes('Try: '))
  const [, listen = ''] = /^ {2}Events +(.*)$/m.exec(service.output()) ?? []
  const [, tryIt = ''] = /^ {2}Try: (.*)$/m.exec(service.output()) ?? []
  assert.match(listen, /^DATA_DIR=\S+ npx parley listen$/)
  const listening = spawn('bash', ['-c', listen], { env, detached: true })
  t.after(() => {
    if (listening.exitCode === null) process.kill(-Number(listening.pid), 'SIGKILL')
  })
  let output = ''
  for (const stream of [listening.stdout, listening.stderr]) stream.on('data', (text) => (output += text))
  await until('the listener', async () => output.includes('Listening for events of Demo'), startMs)
  const { stdout } = await promisify(execFile)('bash', ['-c', tryIt], { env })
  assert.match(stdout, /"message_id"/)
  await until('the event', async () => output.includes('message.status_updated'))

  const wrote = await fetch(`${service.url}/simulator/control/inbound`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ from: '+14155550100', text: 'Where is it?' }),
  })
  assert.equal(wrote.status, 200)
  const [second, conversations] = await run(`${key}\n${answer}`)
  assert.equal(second.data.conversation_id, first.data.conversation_id)
  // The newest of all, and the only one with this customer.
  assert.equal(conversations.data[0].id, first.data.conversation_id)
  assert.equal(conversations.data.filter(({ contact }: Json) => contact.phone === '+14155550100').length, 1)

  const [accepted] = await run(`${key}\n${broadcast}`)
  assert.equal(accepted.data.total_count, 3)
  const parley = new Parley({ apiKey: demoOf(dataDir).api_key, baseUrl: `${service.url}/v1` })
  await until('all processes to be notified', async () => {
    const { status, read_count, failed_count } = await parley.broadcasts.get(accepted.data.id)
    return status === 'sent' && read_count === 2 && failed_count === 1
  })
})
