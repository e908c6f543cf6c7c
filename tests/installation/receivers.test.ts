/**
 * The webhook receivers for customers: each accepts only genuine signatures, and the documents show the files tested here.
 * The tests of a language that is not installed are skipped.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { signatureOf } from '../../common/webhook-request.ts'
import { verifyWebhook } from '../../receivers/verify.ts'
import * as shown from '../../reference/src/webhook-vectors.ts'
import { freePort } from '../../scripts/free-port.ts'
import { addEndpoint, causeEvent } from '../deliveries.ts'
import { createFolder } from '../folder.ts'
import { newId } from '../internals.ts'
import { startReceiver } from '../receiver.ts'
import { cases, secret, t, vectors } from '../signatures.ts'
import { start, until } from '../support.ts'

const folder = join(import.meta.dirname, '../../receivers')
const read = (path: string) => readFileSync(join(folder, path), 'utf8')

/** How a language judges all cases, by a program beside its file, and how its example is started. */
type Language = {
  file: string
  command: string
  version: string[]
  judge: { name: string; program: string; run: string[] }
  serve: (port: number) => string[]
}

const languages: Language[] = [
  {
    file: 'verify.py',
    command: 'python3',
    version: ['--version'],
    judge: {
      name: 'judge.py',
      program: `
import json
from verify import verify_webhook
cases = json.load(open('cases.json'))
print(json.dumps([verify_webhook(c['secret'], c['header'], c['body'].encode(), c['now']) for c in cases]))
assert verify_webhook('whsec_x', None, b'') is False`,
      run: ['judge.py'],
    },
    serve: () => ['verify.py'],
  },
  {
    file: 'verify.php',
    command: 'php',
    version: ['--version'],
    judge: {
      name: 'judge.php',
      program: `<?php
require 'verify.php';
$judge = fn ($c) => verify_webhook($c['secret'], $c['header'], $c['body'], $c['now']);
echo json_encode(array_map($judge, json_decode(file_get_contents('cases.json'), true)));
assert(verify_webhook('whsec_x', null, '') === false);`,
      run: ['judge.php'],
    },
    serve: (port) => ['-S', `127.0.0.1:${port}`, 'verify.php'],
  },
  {
    file: 'verify.go',
    command: 'go',
    version: ['version'],
    judge: {
      name: 'judge_test.go',
      program: `package main
import ("encoding/json"; "fmt"; "os"; "testing"; "time")
func TestJudge(t *testing.T) {
	var cases []struct { Secret, Header, Body string; Now int64 }
	text, _ := os.ReadFile("cases.json")
	if err := json.Unmarshal(text, &cases); err != nil { t.Fatal(err) }
	verdicts := []bool{}
	for _, c := range cases {
		verdicts = append(verdicts, VerifyWebhook(c.Secret, c.Header, []byte(c.Body), time.Unix(c.Now, 0)))
	}
	out, _ := json.Marshal(verdicts)
	fmt.Println(string(out))
}`,
      run: ['test', '-v', 'verify.go', 'judge_test.go'],
    },
    serve: () => ['run', 'verify.go'],
  },
]

/** A folder with a copy of the file: nothing that a language leaves behind lands in ours. */
function copyOf(t: TestContext, file: string): string {
  const copy = createFolder(t)
  cpSync(join(folder, file), join(copy, file))
  return copy
}

const isMissing = ({ command, version }: Language) => {
  const here = spawnSync(command, version, { timeout: 20_000 }).status === 0
  return here ? false : `${command} is not on the PATH`
}

test('verify.ts accepts signed payloads and rejects everything else without throwing', () => {
  for (const { secret, header, body, now, ok } of cases)
    assert.equal(verifyWebhook(secret, header, Buffer.from(body), now), ok, JSON.stringify({ secret, header, now }))
  for (const header of [undefined, [], ['t=1', 'v1=2']])
    assert.equal(verifyWebhook(secret, header, Buffer.from('{}'), t), false)
})

for (const language of languages) {
  const { file, command, judge } = language
  const skip = isMissing(language)

  test(`${file} accepts what is signed and refuses everything else without throwing`, { skip }, (t) => {
    const cwd = copyOf(t, file)
    writeFileSync(join(cwd, 'cases.json'), JSON.stringify(cases))
    writeFileSync(join(cwd, judge.name), judge.program)
    const { status, stdout, stderr } = spawnSync(command, judge.run, { cwd, encoding: 'utf8', timeout: 120_000 })
    assert.equal(status, 0, stderr || stdout)
    const verdicts: boolean[] = JSON.parse(/^\[(?:true|false).*\]$/m.exec(stdout)?.[0] ?? '[]')
    assert.equal(verdicts.length, cases.length)
    for (const [index, { ok, ...asked }] of cases.entries())
      assert.equal(verdicts[index], ok, JSON.stringify(asked).slice(0, 500))
  })
}

const examples = [
  { file: 'verify.ts', command: process.execPath, serve: () => ['verify.ts'], skip: false as const },
  ...languages.map((language) => ({ ...language, skip: isMissing(language) })),
]

for (const { file, command, serve, skip } of examples) {
  test(`the example of ${file} refuses strangers, answers twice and acts once`, { skip }, async (t) => {
    const cwd = copyOf(t, file)
    const port = await freePort()
    const child = spawn(command, serve(port), {
      cwd,
      env: { ...process.env, PARLEY_WEBHOOK_SECRET: secret, PORT: String(port), TMPDIR: cwd },
      // `go run` has a child of its own, which goes with it.
      detached: true,
    })
    t.after(() => {
      if (child.pid && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (said += part))
    const post = async (body: string, by: string) => {
      const t = Math.floor(Date.now() / 1000)
      const headers = { 'x-service-signature': `t=${t},v1=${signatureOf(by, t, body)}` }
      return (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers })).status
    }
    const toBody = (id: string) => JSON.stringify({ id, event: 'contact.created', data: { name: 'é\u2028😀' } })
    const [forged, first, second] = [newId(), newId(), newId()]

    await until('the example to listen', () => post(toBody(forged), 'whsec_other').catch(() => false), 60_000)
    const answers = [
      await post(toBody(forged), 'whsec_other'),
      await post(toBody(first), secret),
      await post(toBody(first), secret),
      await post(toBody(second), secret),
    ]

    assert.deepEqual(answers, [401, 204, 204, 204], said)
    await until('the last event', async () => said.includes(`${second} contact.created`))
    assert.equal(said.split(`${first} contact.created`).length, 2, said)
    assert.ok(!said.includes(forged), said)
  })
}

test('delivered events pass verification', async (t) => {
  const { api } = await start(t)
  const customer = await startReceiver(t)
  const endpoint = await addEndpoint(api, customer.url)

  await causeEvent(api)

  const [delivery] = await customer.until(1)
  const header = delivery?.headers['x-service-signature']
  const body = Buffer.from(delivery?.raw ?? '')
  assert.equal(verifyWebhook(endpoint.secret, header, body), true)
  assert.equal(verifyWebhook(endpoint.secret.replace('whsec_', ''), header, body), false)
})

test('the guide shows the code of the files and links to all of them', () => {
  const guide = read('../docs/webhooks.md')
  const shown = (language: string, start: string) =>
    new RegExp(`\`\`\`${language}\n(${start}[^]+?)\`\`\``).exec(guide)?.[1] ?? 'nothing'

  assert.ok(read('verify.ts').includes(`${shown('ts', 'export function verifyWebhook')}\n`), 'another verify.ts')
  assert.ok(read('verify.py').includes(`${shown('python', 'def verify_webhook')}\n`), 'another verify.py')
  for (const file of ['verify.ts', 'verify.py', 'verify.php', 'verify.go'])
    assert.ok(guide.includes(`](../receivers/${file})`), file)
})

test('the service serves the same files, as plain text', async (t) => {
  const { url } = await start(t, { pages: true })
  const page = await fetch(`${url}/docs`)
  const files = readdirSync(folder).filter((name) => name.startsWith('verify.'))
  assert.equal(files.length, 4)

  for (const name of files) {
    const answer = await fetch(`${url}/docs/receivers/${name}`)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8')
    for (const header of ['content-security-policy', 'x-content-type-options', 'referrer-policy'])
      assert.equal(answer.headers.get(header), page.headers.get(header))
    assert.equal(await answer.text(), read(name))
  }
})

test('the test vectors of the reference are true', () => {
  assert.deepEqual([shown.secret, shown.timestamp, shown.vectors], [secret, t, vectors])
})
