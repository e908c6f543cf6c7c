/** `parley automations`: automations as files, there and back; and the tools of `parley mcp` for automations. */
import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { dataOf, pluck } from '../assertions.ts'
import { assist, parley } from '../command.ts'
import { createFolder } from '../folder.ts'
import { type Json, start } from '../support.ts'

const examples = globSync('docs/automations/*.json')
  .sort()
  .map((path) => ({ name: basename(path, '.json'), definition: JSON.parse(readFileSync(path, 'utf8')) as Json }))

const greeting = {
  trigger: { type: 'message', when: 'first' },
  steps: [{ type: 'send', message: { type: 'text', text: 'Hello' } }],
}

async function startCommands(t: TestContext) {
  const world = await start(t)
  const { api, url } = world
  const folder = createFolder(t)
  const env = { PARLEY_URL: url, PARLEY_API_KEY: await api.key('automations:manage') }
  /** Runs the command to its end. */
  const automations = async (...args: string[]) => {
    const running = parley(t, env, 'automations', ...(args.includes('--dir') ? args : [...args, '--dir', folder]))
    return { code: await running.exit, out: running.stdout(), err: running.stderr(), lines: running.lines }
  }
  const succeed = async (...args: string[]) => {
    const result = await automations(...args)
    assert.equal(result.code, 0, result.err + result.out)
    return result
  }
  const stored = async (): Promise<Json[]> => (await api.get('/automations')).body.data
  const create = async (name: string, definition: Json = greeting): Promise<Json> =>
    dataOf(await api.post('/automations', { name, definition }), 201)
  const read = (file: string): Json => JSON.parse(readFileSync(join(folder, file), 'utf8'))
  const write = (file: string, content: Json) => writeFileSync(join(folder, file), JSON.stringify(content))
  return { ...world, folder, env, automations, succeed, stored, create, read, write }
}

const textsOf = (folder: string) =>
  Object.fromEntries(readdirSync(folder).map((file) => [file, readFileSync(join(folder, file), 'utf8')]))

test('what is pulled, deleted and pushed is the same, byte by byte', async (t) => {
  const { api, url, folder, succeed, stored, create } = await startCommands(t)
  assert.equal(examples.length, 6)
  for (const { name, definition } of examples) await create(name, definition)
  const before = await stored()
  dataOf(await api.post(`/automations/${before[0]?.id}/publish`))
  dataOf(await api.patch(`/automations/${before[5]?.id}`, { position: 1, description: 'Asks first.' }))
  await succeed('pull')
  const files = textsOf(folder)
  assert.deepEqual(
    Object.keys(files).sort(),
    examples.map(({ name }) => `${name}.json`),
  )
  const { $schema, name, description, position, ...rest } = JSON.parse(files['welcome-menu.json'] ?? '')
  assert.equal($schema, `${url}/docs/automation-file.schema.json`)
  assert.deepEqual([name, description, position, Object.keys(rest)], ['welcome-menu', 'Asks first.', 1, ['definition']])

  const unchanged = await succeed('push')
  assert.equal(unchanged.out, '')
  assert.match(unchanged.err, /^0 created, 0 changed, 6 unchanged, 0 moved, 0 published\.$/m)
  assert.equal((await succeed('pull')).out.match(/: unchanged$/gm)?.length, 6)
  assert.deepEqual(textsOf(folder), files)

  for (const { id } of await stored()) dataOf(await api.delete(`/automations/${id}`))
  assert.match((await succeed('push')).err, /^6 created, 0 changed, 0 unchanged, 0 moved, 0 published\.$/m)
  const sorted = (list: Json[]) => list.map((one) => JSON.stringify([one.name, one.draft ?? one.definition])).sort()
  assert.deepEqual(sorted(await stored()), sorted(before))
  const other = createFolder(t)
  await succeed('pull', '--dir', other)
  assert.deepEqual(textsOf(other), files)
})

test('a push creates, changes, moves and publishes, and says what it does', async (t) => {
  const { api, folder, succeed, stored, create, read, write } = await startCommands(t)
  const [paused, renamed] = [await create('Paused'), await create('Old name')]
  const { id: unfiled } = await create('Without a file')
  dataOf(await api.post(`/automations/${paused.id}/publish`))
  dataOf(await api.post(`/automations/${paused.id}/pause`, {}))
  await succeed('pull', '--ids')
  rmSync(join(folder, 'without-a-file.json'))
  const changed = { ...greeting, steps: [{ type: 'send', message: { text: 'Good day', type: 'text' } }] }
  write('paused.json', { ...read('paused.json'), position: 2, definition: changed })
  write('old-name.json', { ...read('old-name.json'), name: 'New name', description: 'Greets.' })
  write('first.json', { name: 'First', position: 0, definition: { $schema: 'x', ...greeting } })

  const { out, err } = await succeed('push', '--publish')
  assert.deepEqual(out.trim().split('\n').sort(), [
    'first.json: created "First"',
    'first.json: moved to position 0',
    'first.json: published version 1',
    'old-name.json: changed name, description',
    'old-name.json: moved to position 1',
    'old-name.json: published version 1',
    'paused.json: changed definition (steps[0].message.text)',
  ])
  assert.match(err, /^paused\.json: saved as a draft and not published, because the automation is paused\.$/m)
  assert.match(err, /^"Without a file" has no file and stays as it is\.$/m)
  assert.deepEqual(pluck(await stored(), 'name', 'state', 'version'), [
    ['First', 'active', 1],
    ['New name', 'active', 1],
    ['Paused', 'paused', 1],
    ['Without a file', 'draft', 0],
  ])
  const again = await succeed('push', '--publish', '--json')
  assert.deepEqual(
    again.lines().map(({ file, action }) => [file, action]),
    ['first.json', 'old-name.json', 'paused.json'].map((file) => [file, 'unchanged']),
  )
  const list = await stored()
  assert.deepEqual(pluck(list.slice(1), 'id'), [renamed.id, paused.id, unfiled])
  assert.deepEqual([list[2]?.draft, list[2]?.definition], [changed, greeting])
  assert.match((await succeed('pull')).out, /^first\.json: changed\n.*\n.*\nwithout-a-file\.json: created$/m)
})

test('ids distinguish two automations of one name', async (t) => {
  const { succeed, automations, create, read, write, stored } = await startCommands(t)
  const [one, other] = [await create('Twin'), await create('Twin')]
  await succeed('pull')
  assert.deepEqual([read('twin.json').id, read('twin-2.json').id], [one.id, other.id])
  write('twin-2.json', { ...read('twin-2.json'), description: 'The second.' })
  assert.equal((await succeed('push')).out, 'twin-2.json: changed description\n')
  assert.deepEqual(pluck(await stored(), 'description'), ['', 'The second.'])
  const { id: _, ...unnamed } = read('twin.json')
  write('twin.json', unnamed)
  const refused = await automations('push')
  assert.equal(refused.code, 1)
  assert.match(refused.out, /^twin\.json: name: 2 automations have it; pull writes their ids$/m)
})

test('files are tried on the past before they are pushed', async (t) => {
  const { automations, succeed, create, write, api } = await startCommands(t)
  await create('Greeting', greeting)
  await create('By hand')
  write('greeting.json', { name: 'Greeting', definition: greeting })
  write('by-hand.json', { name: 'By hand', definition: { ...greeting, trigger: { type: 'manual' } } })
  write('new.json', { name: 'New', definition: greeting })
  const { out } = await succeed('test', '--dry-run', '--days', '2')
  assert.match(
    out,
    /^greeting\.json: in the last 2 days it would have started \d+ runs? in \d+ conversations? and sent \d+ messages?\.$/m,
  )
  assert.match(out, /^by-hand\.json: not tried, trigger\.type: .*by hand/m)
  assert.match(out, /^new\.json: not tried, the workspace has no such automation; push it first$/m)
  const lines = (await automations('test', '--dry-run', '--json')).lines()
  const tried = lines.find((line) => line.file === 'greeting.json' && line.dry_run)
  assert.equal(tried?.dry_run.source, 'definition')
  for (const wrong of [
    ['push', '--dry-run'],
    ['test', '--days', '2'],
    ['test', '--dry-run', '--days', '8'],
  ]) {
    assert.equal((await automations(...wrong)).code, 1)
  }
  assert.equal((await api.get('/automations')).body.data.length, 2)
})

test('a file that is not valid stops a push before it changes anything, with its name and the path', async (t) => {
  const { folder, automations, succeed, write, stored } = await startCommands(t)
  write('good.json', { name: 'Good', definition: greeting })
  assert.equal((await succeed('test')).out, 'good.json: valid\n')
  assert.deepEqual(await stored(), [])
  const steps = [
    { type: 'branch', cases: [{ when: { match: 'all', rules: [{ field: 'tag', op: 'like' }] }, steps: [] }] },
  ]
  write('bad.json', { name: 'Bad', definition: { ...greeting, steps } })
  write('typing-error.json', { name: 'Typing error', definiton: greeting })
  write('twin.json', { name: 'Good' })
  writeFileSync(join(folder, 'broken.json'), '{')
  const faults = [
    /^bad\.json: steps\[0\]\.cases\[0\]\.when\.rules\[0\]\.op: unknown for tag; use one of has, not_has$/m,
    /^typing-error\.json: definiton: unknown field; use \$schema, id, name, /m,
    /^twin\.json: name: good\.json has the same; give both an id$/m,
    /^broken\.json: not valid JSON: /m,
  ]
  for (const action of ['test', 'push']) {
    const { code, out, err } = await automations(action)
    assert.equal(code, 1)
    for (const fault of faults) assert.match(out, fault)
    assert.match(err, /^invalid_files: 4 files are not valid\.$/m)
  }
  assert.deepEqual(await stored(), [])
  const asJson = (await automations('test', '--json')).lines()
  assert.deepEqual(asJson[0], { file: 'good.json', valid: true })
  assert.equal(asJson.at(-1)?.error.code, 'invalid_files')
  assert.ok(asJson.some(({ file, valid, message }) => file === 'bad.json' && !valid && message.startsWith('steps[0].')))

  for (const file of ['bad', 'typing-error', 'twin', 'broken']) rmSync(join(folder, `${file}.json`))
  // Only the service knows this rule: the error names the file.
  write('long.json', { name: 'x'.repeat(101), definition: greeting })
  const long = await automations('push')
  assert.equal(long.code, 1)
  assert.match(long.err, /^bad_request: long\.json: name: must have 1 to 100 characters$/m)
  for (const [args, message] of [
    [['pull', '--publish'], /^bad_option: --publish: only with push$/m],
    [['push', '--dir', join(folder, 'none')], /^no_folder: /m],
    [['push', '--dir', createFolder(t)], /^no_files: /m],
    [['pul'], /^bad_option: The action must be one of pull, push, test\.$/m],
  ] as const) {
    const { code, err } = await automations(...args)
    assert.equal(code, 1)
    assert.match(err, message)
  }
})

test('an assistant describes and checks automations, and publishes only what a dry run showed', async (t) => {
  const { api, env, create, stored } = await startCommands(t)
  const { id } = await create('Menu', examples.find(({ name }) => name === 'welcome-menu')?.definition)
  const reader = await assist(t, env)
  assert.deepEqual(await reader.tools(), [
    'check_automation',
    'describe_automation',
    'get_usage',
    'list_automations',
    'me',
    'try_automation',
  ])
  assert.deepEqual(pluck((await reader.call('list_automations')).data, 'id', 'state'), [[id, 'draft']])
  const { data } = await reader.call('describe_automation', { id })
  assert.deepEqual([data.name, data.published, data.draft.trigger.type], ['Menu', null, 'message'])
  assert.deepEqual(pluck(data.draft.steps.slice(0, 2), 'path', 'depth', 'text'), [
    ['steps[0]', 0, 'ask choice: buttons: Hello {{contact.name|there}}, thank you for your message. …'],
    ['steps[0].timeout.steps[0]', 1, 'hand_over No answer to the welcome menu.'],
  ])
  assert.equal((await reader.call('check_automation', { definition: greeting })).data.steps[0].text, 'send Hello')
  const tried = (await reader.call('try_automation', { id, days: 1 })).data
  assert.deepEqual([tried.source, tried.counts.runs, tried.runs, tried.is_complete], ['draft', 0, [], true])
  const fault = await reader.call('check_automation', { definition: { ...greeting, steps: [{ type: 'sned' }] } })
  assert.match(fault.error, /^bad_request: steps\[0\]\.type: /)
  assert.match((await reader.call('publish_automation', { id, dry_run: true })).error, /--allow-send/)

  const { call, listed } = await assist(t, env, '--allow-send')
  const { annotations } = listed.find(({ name }) => name === 'publish_automation') ?? {}
  assert.deepEqual([annotations.destructiveHint, annotations.openWorldHint], [true, true])
  assert.match((await call('publish_automation', { id })).error, /^not_confirmed: Nothing was published/)
  const shown = await call('publish_automation', { id, dry_run: true })
  assert.deepEqual(
    [shown.published, shown.state, shown.would_publish.steps.length],
    [false, 'draft', data.draft.steps.length],
  )
  assert.equal((await stored())[0]?.state, 'draft')
  // A member changes the draft after the dry run.
  const { body } = await api.get(`/automations/${id}`)
  const draft = { ...body.data.draft, trigger: { type: 'manual' } }
  await fetch(`${env.PARLEY_URL}/v1/automations/${id}/draft`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${env.PARLEY_API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(draft),
  })
  const { confirmation_token } = shown
  assert.match(
    (await call('publish_automation', { id, confirmation_token })).error,
    /^not_confirmed: The arguments differ/,
  )
  const token = (await call('publish_automation', { id, dry_run: true })).confirmation_token
  const published = await call('publish_automation', { id, confirmation_token: token })
  assert.deepEqual([published.published, published.data.state, published.data.version], [true, 'active', 1])
  assert.match((await call('publish_automation', { id, dry_run: true })).error, /^nothing_to_publish: /)
})
