/** The structure that ARCHITECTURE.md describes: which code may import which, and in which order locks are taken. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

const architecture = readFileSync('ARCHITECTURE.md', 'utf8')

/** The items of a code block of ARCHITECTURE.md that starts with `first`, in the order of the arrows. */
function readLine(first: string): string[] {
  const [, line] = new RegExp(`\`\`\`\\n(${first} [◀→][^\`]+)\`\`\``).exec(architecture) ?? []
  assert.ok(line, `ARCHITECTURE.md has no line that starts with ${first}`)
  return line.split(/◀|→|\n/).flatMap((part) => part.trim() || [])
}

const isGenerated = (name: string): boolean => ['node_modules', 'dist', 'data'].includes(name)

const folders = readLine('common')
const modules = readLine('lib')

const files = globSync('{*,*/**}/*.{ts,tsx,js}', { exclude: isGenerated }).filter((file) =>
  folders.includes(file.split('/')[0] ?? ''),
)

/** The files of the repository that a file imports, types included. */
const importsOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/(?:\bfrom|\bimport|\bimport\() ?['"](\.[^'"]+)['"]/g)].map(([, path = '']) =>
    join(dirname(file), path),
  )

test('every folder with code stands in the line of folders', () => {
  const top = new Set(globSync('*/**/*.{ts,tsx,js}', { exclude: isGenerated }).map((file) => file.split('/')[0]))
  assert.deepEqual([...top].sort(), [...folders].sort())
  const inServer = new Set(globSync('server/*/**/*.ts').map((file) => file.split('/')[1]))
  assert.deepEqual([...inServer].sort(), [...modules].sort())
})

test('a folder imports only itself and folders to its left', () => {
  for (const file of files) {
    // A test beside its engine may use the helpers of tests/.
    if (file.endsWith('.test.ts')) continue
    const folder = file.split('/')[0] ?? ''
    for (const path of importsOf(file)) {
      const other = path.split('/')[0] ?? ''
      assert.ok(folders.indexOf(other) <= folders.indexOf(folder), `${file} imports ${path}`)
    }
  }
})

test('a module of the server imports only itself and modules to its left', () => {
  for (const file of files) {
    const [folder, module = '', ...inside] = file.split('/')
    if (folder !== 'server' || inside.length === 0 || file.endsWith('.test.ts')) continue
    for (const path of importsOf(file)) {
      const [top, other = '', ...rest] = path.split('/')
      if (top !== 'server') {
        const isAllowed = top === 'common' || (top === 'simulator' && ['simulator-host', 'demo'].includes(module))
        assert.ok(isAllowed, `${file} imports ${path}`)
        continue
      }
      assert.ok(rest.length > 0, `${file} imports ${path} of the root`)
      assert.ok(modules.indexOf(other) <= modules.indexOf(module), `${file} imports ${path}`)
    }
  }
})

test('no file imports itself through others', () => {
  const visited = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file)
    assert.equal(start, -1, `an import cycle: ${[...path.slice(start), file].join(' → ')}`)
    if (visited.has(file)) return
    for (const other of importsOf(file)) if (files.includes(other)) visit(other, [...path, file])
    visited.add(file)
  }
  for (const file of files) visit(file, [])
})

test('a file over 400 lines says in its header why', () => {
  const styles = globSync('{dashboard,ui,widget,simulator,reference,server}/**/*.css', { exclude: isGenerated })
  for (const file of [...files, ...styles]) {
    if (file.startsWith('tests/') || file.endsWith('.test.ts')) continue
    const lines = readFileSync(file, 'utf8').split('\n')
    if (lines.length <= 401 || /^\/\*\* .*[Gg]enerated (?:by|from)/.test(lines[0] ?? '')) continue
    assert.match(lines.slice(0, 30).join('\n'), /Over 400 lines because/, file)
  }
})

/** Files besides tests in one folder, without its folders. A folder that needs more has two topics. */
const maxFiles: Record<string, number> = { server: 8, 'server/accounts': 25, 'server/messages': 25, 'server/lib': 30 }

test('the folders of the server have few files', () => {
  for (const [folder, max] of Object.entries(maxFiles)) {
    const own = globSync(`${folder}/*.ts`).filter((file) => !file.endsWith('.test.ts'))
    assert.ok(own.length > 0 && own.length <= max, `${folder} has ${own.length} files, at most ${max} are allowed`)
  }
})

test('every file that ARCHITECTURE.md names exists', () => {
  const named = [...architecture.matchAll(/`([\w./-]+\/[\w./-]*)`/g)].flatMap(([, path = '']) =>
    path.startsWith('/') || path.includes('<') ? [] : path,
  )
  assert.ok(named.length > 40, `only ${named.length} paths were found`)
  for (const path of named) {
    assert.ok(existsSync(path) || existsSync(join('server', path)), `ARCHITECTURE.md names ${path}`)
  }
})

test('ARCHITECTURE.md names every pool and every loop', () => {
  const pools = [...readFileSync('server/config/pools.ts', 'utf8').matchAll(/^ {2}(\w+): Db$/gm)].map(
    ([, name]) => name,
  )
  assert.ok(pools.length >= 4)
  const loops = globSync('server/{worker.ts,*/**/*.ts}')
    .flatMap((file) => [
      ...readFileSync(file, 'utf8').matchAll(
        /(?:repeat|startRepeating)\(\{\s*name: '([\w-]+)'|health\s*\.watch\('([\w-]+)'/g,
      ),
    ])
    .map(([, repeated, watched]) => repeated ?? watched)
  assert.ok(loops.length >= 10, loops.join(' '))
  const processes = architecture.slice(architecture.indexOf('## Processes'), architecture.indexOf('## Lock order'))
  for (const name of [...pools, ...loops]) assert.ok(processes.includes(`\`${name}\``), `${name} is missing`)
})

test('every statement that waits for row locks takes them in the lock order of ARCHITECTURE.md', () => {
  const order = readLine('workspaces')
  let seen = 0
  for (const file of globSync('server/**/*.ts')) {
    if (file.endsWith('.test.ts')) continue
    for (const [, statement = ''] of readFileSync(file, 'utf8').matchAll(/`([^`]*\bfor (?:no key )?update[^`]*)`/g)) {
      const locked = lockedTables(statement)
      seen += locked.length
      for (const table of locked)
        assert.ok(order.includes(table), `${file} locks ${table}, which has no place in the order`)
      const positions = locked.map((table) => order.indexOf(table))
      const sorted = positions.toSorted((one, other) => one - other)
      assert.deepEqual(positions, sorted, `${file} locks ${locked.join(', ')}`)
    }
  }
  assert.ok(seen >= 15, `only ${seen} locks were found`)
})

const tables = new Set(
  [...readFileSync('schema.sql', 'utf8').matchAll(/^create (?:unlogged )?table (\w+)/gm)].map(([, name]) => name),
)

/** The tables that a statement locks with `for update` and waits for, in the order of its text. */
function lockedTables(statement: string): string[] {
  return [...statement.matchAll(/for (?:no key )?update(?: of (\w+))?(?! of| skip)\b(?! skip locked)/g)].flatMap(
    (match) => {
      const before = statement.slice(0, match.index)
      const part = before.slice(Math.max(0, before.lastIndexOf(' as (')))
      const sources = [...part.matchAll(/\b(?:from|join)\s+(\w+)(?:\s+(?:as\s+)?(\w+))?/g)].filter(([, name = '']) =>
        tables.has(name),
      )
      const source = match[1] ? sources.find(([, , alias]) => alias === match[1]) : sources[0]
      return source?.[1] ?? []
    },
  )
}
