/** The files with which operators run the service: the unit of systemd and the command for its settings. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { createFolder } from './folder.ts'

const root = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** The lines of each section of a unit. */
function sectionsOf(unit: string): Map<string, string[]> {
  const sections = new Map<string, string[]>()
  for (const part of unit.split(/^\[/m).slice(1)) {
    const [name = '', ...lines] = part.split('\n')
    sections.set(name.replace(']', ''), lines)
  }
  return sections
}

test('the unit starts again for ever, runs Node itself without the demo, and can write to its own folders only', () => {
  const sections = sectionsOf(read('deploy/parley.service'))
  // systemd ignores the setting in another section.
  assert.ok(sections.get('Unit')?.includes('StartLimitIntervalSec=0'))
  const service = sections.get('Service') ?? []
  const expected = [
    'Restart=always',
    'RestartSec=5',
    'ExecStart=/opt/parley/node_modules/.bin/node /opt/parley/server/main.ts',
    'Environment=DATA_DIR=/var/lib/parley DEMO=0 PARLEY_COMMAND=/opt/parley/deploy/parley NODE_COMPILE_CACHE=/var/cache/parley',
    'StateDirectory=parley',
    'CacheDirectory=parley',
    'ProtectSystem=strict',
  ]
  for (const line of expected) assert.ok(service.includes(line), line)
})

test('the unit of a further service differs in its port and its cache only, and shares the data folder', () => {
  const own = '# The settings of this service only, with its PORT.\nEnvironmentFile=/etc/parley-%i.env\n'
  const expected = read('deploy/parley.service')
    .replace('Description=Parley', 'Description=Parley, service %i')
    .replaceAll(/(NODE_COMPILE_CACHE=\/var\/cache\/|CacheDirectory=)parley$/gm, '$1parley-%i')
    // A later file overrides an earlier one.
    .replace('EnvironmentFile=-/etc/parley.env\n', (line) => line + own)
  assert.equal(read('deploy/parley@.service').replace(/^#.*\n/, ''), expected)
  const page = read('docs/high-availability.md')
  for (const text of ['/etc/parley-2.env', 'deploy/parley@.service', '--now parley@2', 'UNIT=parley@2 '])
    assert.ok(page.includes(text), text)
})

const analyze = '/usr/bin/systemd-analyze'

test('systemd accepts every line of the units', {
  skip: !existsSync(analyze) && 'systemd-analyze is not installed',
}, async (t) => {
  for (const name of ['parley.service', 'parley@.service']) {
    const file = join(createFolder(t), name.replace('@', '@2'))
    // The paths and the user of an installation do not exist here.
    const unit = read(`deploy/${name}`)
      .replace(/^ExecStart=.*/m, 'ExecStart=/bin/true')
      .replace(/^User=.*\n/m, '')
    writeFileSync(file, unit)
    // The exit code also depends on other units of this machine.
    const output = await new Promise<string>((resolve) =>
      execFile(analyze, ['verify', file], (_error, stdout, stderr) => resolve(stdout + stderr)),
    )
    assert.doesNotMatch(output, /parley(?:@2)?\.service/)
  }
})

const unprintable = '[unprintable]'

/** Runs `deploy/parley` as root, with a systemd that has one unit and prints what it shall run. */
async function runCommand(t: TestContext, environment: string, args: string[], unit = 'parley', settings = '') {
  const folder = createFolder(t)
  const file = join(folder, 'first.env')
  if (settings) writeFileSync(file, settings)
  const program = (name: string, text: string) => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`)
    chmodSync(join(folder, name), 0o755)
  }
  const properties = {
    LoadState: 'loaded',
    User: 'parley',
    StateDirectory: 'parley',
    StateDirectoryMode: '0700',
    Environment: environment,
    EnvironmentFiles: `${settings ? file : '/nowhere/parley.env'} (ignore_errors=yes)\n/nowhere/other file.env (ignore_errors=no)`,
  }
  const cases = Object.entries(properties).map(([name, value]) => `--property=${name}) echo '${value}' ;;`)
  program('systemctl', `[ "$1 $3 $4" = 'show --value parley' ] || exit 9\ncase $2 in\n${cases.join('\n')}\nesac`)
  program('systemd-run', `for word in "$@"; do echo "$word"; done`)
  program('id', 'echo 0')
  const env = { PATH: `${folder}:${process.env.PATH}`, UNIT: unit }
  return promisify(execFile)(join(root, 'deploy/parley'), args, { env }).then(
    ({ stdout }) => ({ code: 0, words: stdout.trimEnd().split('\n'), stderr: '' }),
    ({ code, stderr }) => ({ code, words: [], stderr }),
  )
}

test('deploy/parley runs a command as the user of the unit, with its settings and folders', async (t) => {
  assert.equal(statSync(join(root, 'deploy/parley')).mode & 0o111, 0o111)
  const command = ['workspace', 'create', '--name', 'Acme & Co']
  const { words } = await runCommand(t, 'DATA_DIR=/var/lib/parley DEMO=*', command)
  assert.deepEqual(words, [
    ...['--quiet', '--collect', '--wait', '--pipe'],
    '--setenv=PARLEY_SETTING_NAMES=DATA_DIR:parley,DEMO:parley',
    ...['--property=EnvironmentFile=-/nowhere/parley.env', '--property=EnvironmentFile=/nowhere/other file.env'],
    ...['--setenv=DEMO=*', '--setenv=DATA_DIR=/var/lib/parley'],
    ...['--property=StateDirectory=parley', '--property=StateDirectoryMode=0700', '--uid=parley'],
    `--setenv=PARLEY_COMMAND=${join(root, 'deploy/parley')}`,
    ...[join(root, 'node_modules/.bin/node'), join(root, 'bin/parley.ts')],
    ...command,
  ])
})

test('deploy/parley names the settings of the unit and of its files, without their values', async (t) => {
  const settings = '# PORT=1\nPROT=9\n ENCRYPTION_KEY=secret\n'
  const { words } = await runCommand(t, 'DATA_DIR=/x', ['doctor'], 'parley', settings)
  const [names = '', file = ''] = words
    .filter((word) => /SETTING_NAMES|first\.env/.test(word))
    .map((word) => word.replace(/^--(?:setenv=PARLEY_SETTING_NAMES|property=EnvironmentFile)=-?/, ''))
  assert.equal(names, `DATA_DIR:parley,PROT:${file},ENCRYPTION_KEY:${file}`)
  assert.doesNotMatch(words.join(' '), /secret/)
})

test('deploy/parley refuses a relative path', async (t) => {
  for (const args of [['--to', 'x/y'], ['--to=x/y']]) {
    const { code, stderr } = await runCommand(t, '', ['backup', ...args])
    assert.equal(code, 1)
    assert.equal(stderr, `--to: must be an absolute path, such as ${process.cwd()}/x/y\n`)
  }
  assert.equal((await runCommand(t, '', ['backup', '--to', '/x', '--json'])).code, 0)
})

test('deploy/parley refuses a setting that systemd does not print, and an unknown unit', async (t) => {
  const refused = await runCommand(t, `DATA_DIR=/var/lib/parley ${unprintable}`, ['doctor'])
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /has a space\. Move it to the EnvironmentFile\./)
  const unknown = await runCommand(t, '', ['doctor'], 'other')
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /^systemd has no unit other\./)
})

/** The commands below a heading of a page. */
function commandsBelow(document: string, heading: string): string {
  const [, section = ''] = read(document).split(`\n## ${heading}\n`)
  return [...(section.split('\n## ')[0] ?? '').matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block).join('')
}

test('the commands of the upgrade from 0.1.0 move its data to the folder of the unit', async (t) => {
  const machine = createFolder(t)
  const put = (path: string, text: string, mode = 0o644) => {
    mkdirSync(join(machine, path, '..'), { recursive: true })
    writeFileSync(join(machine, path), text, { mode })
  }
  put('opt/parley/data/encryption.key', 'key')
  put('opt/parley/package.json', '0.1.0')
  put('etc/systemd/system/parley.service', 'old')
  put('release/parley-Y/deploy/parley.service', 'new')
  for (const folder of ['var/lib', 'var/backups']) mkdirSync(join(machine, folder), { recursive: true })
  const archive = join(machine, 'parley-Y.tar.gz')
  await promisify(execFile)('tar', ['-czf', archive, '-C', join(machine, 'release'), 'parley-Y'])
  put('bin/sudo', '#!/bin/sh\nexec "$@"\n', 0o755)
  for (const name of ['systemctl', 'journalctl', 'npm', 'chown']) put(`bin/${name}`, '#!/bin/sh\n', 0o755)
  const paths = / (?=\/(?:opt|etc|var)\/?)/g
  const commands = commandsBelow('docs/upgrade.md', 'From 0.1.0').replaceAll(paths, ` ${machine}`)
  const env = { ...process.env, PATH: `${join(machine, 'bin')}:${process.env.PATH}` }
  await promisify(execFile)('bash', ['-euc', commands], { cwd: machine, env })
  const found = (path: string) => readFileSync(join(machine, path), 'utf8')
  assert.equal(readlinkSync(join(machine, 'opt/parley')), 'parley-Y')
  for (const path of ['var/lib/parley/encryption.key', 'var/backups/parley-0.1.0/encryption.key'])
    assert.equal(found(path), 'key')
  assert.equal(found('etc/systemd/system/parley.service'), 'new')
  assert.equal(found('opt/parley-0.1.0/parley.service'), 'old')
  assert.equal(statSync(join(machine, 'etc/parley.env')).mode & 0o777, 0o600)
})

const composeFiles = ['compose.yaml', 'compose.embedded.yaml']
/** The container sets these. */
const fixed = ['HOST', 'PORT', 'DATA_DIR']

test('compose takes all settings from a file of its own, and has a place for backups', () => {
  for (const name of composeFiles) {
    const text = read(name).replace(/^#.*/gm, '')
    // A value of .env would be inserted, and `npm start` would read that file too.
    assert.doesNotMatch(text, /\$\{/, name)
    const [, parley = ''] = /^ {2}parley:\n((?: {4}.*\n)+)/m.exec(text) ?? []
    assert.match(parley, /^ {4}env_file: \[parley\.env\]$/m)
    assert.match(parley, /^ {4}volumes: \[data:\/data, backups:\/backups\]$/m)
    const [, set = ''] = /^ {4}environment:\n((?: {6}.*\n)+)/m.exec(parley) ?? []
    const settings = [...set.matchAll(/^ {6}(\w+):/gm)].map(([, setting]) => setting)
    assert.deepEqual(settings, fixed)
  }
  assert.match(read('Dockerfile'), /mkdir \/data \/backups && chown 10001:10001 \/data \/backups/)
  for (const ignored of ['.gitignore', '.dockerignore']) {
    for (const file of ['parley.env', 'postgres.env']) assert.match(read(ignored), new RegExp(`^/?${file}$`, 'm'))
  }
})
