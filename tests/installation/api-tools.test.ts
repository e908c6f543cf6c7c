/**
 * Programs that test an API by its documents: Schemathesis sends requests that it makes from the OpenAPI document, and Newman
 * runs the Postman collection.
 */
import assert from 'node:assert/strict'
import { copyFileSync, readFileSync } from 'node:fs'
import { Agent, createServer, request as sendRequest } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { collectionFile } from '../../scripts/collection.ts'
import { createFolder } from '../folder.ts'
import { scopes } from '../internals.ts'
import { listen } from '../listen.ts'
import { start, withProvider } from '../support.ts'
import { resolveNodePackages, resolvePythonPackages, runProgram, sources } from '../tools.ts'

/** Webhooks go to made-up hosts. All are this machine, which refuses the connections. */
const resolver = { resolve4: async () => ['127.0.0.1'], resolve6: async () => [] }

/** The caller has this key. The proxy replaces it by the next of many, and no other: wrong keys stay wrong. */
const ownKey = 'svc_live_of_the_caller'
/** Each may make 120 requests a minute. */
const keyCount = 150
/** After this time the proxy ends a stream of events, which has no end of its own. */
const streamMs = 300

async function startProxy(t: TestContext, url: string, keys: readonly string[]): Promise<string> {
  const agent = new Agent({ keepAlive: true })
  const { hostname, port } = new URL(url)
  let requests = 0
  const server = createServer((request, response) => {
    const { method = '', url: path = '', headers } = request
    if (headers.authorization === `Bearer ${ownKey}`) headers.authorization = `Bearer ${keys[requests++ % keys.length]}`
    const sent = sendRequest({ agent, hostname, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.rawHeaders)
      answer.pipe(response)
      if (!answer.headers['content-type']?.startsWith('text/event-stream')) return
      setTimeout(() => {
        answer.destroy()
        response.end()
      }, streamMs)
    })
    sent.on('error', () => response.destroy())
    response.on('close', () => response.writableFinished || sent.destroy())
    request.pipe(sent)
  })
  t.after(() => agent.destroy())
  return listen(t, server)
}

test('Schemathesis finds no response that the document does not promise, and no way around a key', async (t) => {
  const programs = await resolvePythonPackages('schemathesis')
  if (!programs) return t.skip('Schemathesis could not be installed. It needs Python 3.11 or newer with venv.')
  const { url, api, contract, provider } = await withProvider(start(t, { resolver }))
  await provider.writes({ from: '+14155550100', name: 'Ann', text: 'Where is it?' })
  const keys = await Promise.all(Array.from({ length: keyCount }, () => api.key(...scopes)))
  const proxy = await startProxy(t, url, keys)
  const folder = createFolder(t)
  copyFileSync(join(sources, 'python/schemathesis.toml'), join(folder, 'schemathesis.toml'))
  const args = ['run', `${url}/openapi.json`, '--url', `${proxy}/v1`, '--header', `Authorization: Bearer ${ownKey}`]
  // It fails if a check fails, and prints the requests as commands of curl.
  await runProgram(folder, join(programs, 'schemathesis'), args)
  const { operations, phases } = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8'))
  assert.equal(operations.tested, contract.operations.length)
  for (const phase of ['examples', 'coverage', 'fuzzing', 'stateful']) assert.equal(phases[phase].status, 'success')
})

type Execution = { item: { name: string }; response?: { code: number; stream: { data: number[] } } }
type Report = { run: { executions: Execution[]; failures: { error: Error; source?: { name: string } }[] } }

test('Newman runs the Postman collection from top to bottom with a URL and a key', async (t) => {
  const packages = await resolveNodePackages('newman', join(sources, 'newman'))
  if (!packages) return t.skip('Newman could not be installed.')
  const { url, api, connect } = await start(t, { resolver })
  await connect()
  const report = join(createFolder(t), 'report.json')
  const variables = { base_url: `${url}/v1`, api_key: await api.key(...scopes) }
  await runProgram(sources, process.execPath, [
    ...[join(packages, 'newman/bin/newman.js'), 'run', collectionFile, '--reporters', 'json'],
    ...['--reporter-json-export', report, '--timeout-request', '20000', '--suppress-exit-code'],
    ...Object.entries(variables).flatMap(([name, value]) => ['--env-var', `${name}=${value}`]),
  ])
  const { executions, failures } = (JSON.parse(readFileSync(report, 'utf8')) as Report).run
  const messages = failures.map(({ error, source }) => `${source?.name}: ${error.message}`)
  assert.deepEqual(messages, [])
  for (const { item, response } of executions) {
    const text = Buffer.from(response?.stream.data ?? []).toString()
    assert.ok(response && response.code >= 200 && response.code < 300, `${item.name}: ${response?.code} ${text}`)
  }
  const collection: { item: { item: unknown[] }[] } = JSON.parse(readFileSync(collectionFile, 'utf8'))
  assert.equal(executions.length, collection.item.flatMap((folder) => folder.item).length)
})
