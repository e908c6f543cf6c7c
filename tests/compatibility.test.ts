/** The public API keeps its promises from release to release. `docs/releases` has the document of each release, without its prose. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { describeService } from '../scripts/describe-service.ts'
import { type ApiDocument, listBreaks } from './compatible.ts'
import type { Json } from './owner.ts'

const root = join(import.meta.dirname, '..')
const files = globSync('docs/releases/openapi-*.json', { cwd: root })
const read = (file: string): ApiDocument => JSON.parse(readFileSync(join(root, file), 'utf8'))

let text: Promise<string> | undefined

/** A copy of the document of this code. */
async function describe(): Promise<Json> {
  text ??= describeService().then(({ document }) => JSON.stringify(document))
  return JSON.parse(await text)
}

const inBodies = (operations: readonly string[], ...limits: readonly string[]): string[] =>
  operations.flatMap((operation) => limits.map((limit) => `${operation} body${limit}`))
const nameLimits = ['.name: minLength undefined became 1', '.name: maxLength undefined became 80']

/** Limits that the document of a release did not state. Its service had them, so no caller relies on more. */
const unstatedLimits: Record<string, string[]> = {
  'openapi-0.1.0.json': [
    ...inBodies(
      ['POST /contacts', 'PATCH /contacts/{id}'],
      '.tags: maxItems 1000 became 100',
      '.tags[]: minLength undefined became 1',
      '.tags[]: maxLength undefined became 80',
    ),
    ...inBodies(
      ['POST /segments', 'PATCH /segments/{id}'],
      ...nameLimits,
      '.filter.rules[].value: maxLength undefined became 500',
      '.filter.rules[].rules[].value: maxLength undefined became 500',
    ),
    ...inBodies(['POST /broadcasts', 'POST /broadcasts/check'], ...nameLimits),
    ...inBodies(['POST /messages', 'POST /messages/check'], '.text: maxLength undefined became 4096'),
  ],
}

test('each release has its document, and nothing of it is gone or works differently', async () => {
  const releases: { version: string }[] = JSON.parse(readFileSync(join(root, 'migrations/releases.json'), 'utf8'))
  const named = releases.map(({ version }) => `openapi-${version}.json`)
  assert.deepEqual(files.map((file) => basename(file)).sort(), named.sort())
  const now = await describe()
  for (const file of files) {
    assert.deepEqual(listBreaks(read(file), now).sort(), (unstatedLimits[basename(file)] ?? []).sort(), file)
  }
})

/** Changes of a document, and what the comparison says about each. */
const changes: [change: (document: Json) => void, breaks: string[]][] = [
  [
    ({ paths }) => {
      delete paths['/me']
    },
    ['GET /me: removed'],
  ],
  [
    ({ paths }) => {
      paths['/contacts'].get.parameters = paths['/contacts'].get.parameters.filter(({ name }: Json) => name !== 'tag')
    },
    ['GET /contacts tag: removed'],
  ],
  [
    ({ components }) => {
      delete components.schemas.Contact.properties.email
    },
    ['.email: removed'],
  ],
  [
    ({ components }) => {
      components.schemas.Contact.properties.id.type = ['string', 'null']
    },
    ['.id: type string became string,null'],
  ],
  [
    ({ components }) => {
      const { Contact } = components.schemas
      Contact.required = Contact.required.filter((name: string) => name !== 'tags')
    },
    ['.tags: is not always present'],
  ],
  [
    ({ components }) => {
      const { code } = components.schemas.Error.properties.error.properties
      code.enum = code.enum.filter((value: string) => value !== 'rate_limited')
    },
    ['.error.code: rate_limited removed'],
  ],
  [
    ({ paths }) => {
      paths['/segments'].post.security = [{ bearerAuth: ['segments:manage'] }]
    },
    ['POST /segments: needs another scope'],
  ],
  [
    ({ paths }) => {
      delete paths['/contacts'].post.responses[201]
    },
    ['POST /contacts 201: removed'],
  ],
  // Additions.
  [
    ({ paths, components }) => {
      paths['/new'] = paths['/me']
      components.schemas.Contact.properties.new = { type: 'string' }
      components.schemas.Contact.required.push('new')
      components.schemas.Error.properties.error.properties.code.enum.push('new')
      paths['/contacts'].get.parameters.push({ name: 'new', in: 'query', required: false, schema: { type: 'string' } })
    },
    [],
  ],
]

for (const [index, [change, expected]] of changes.entries()) {
  test(`the comparison reports ${expected[0] ?? 'no addition'}`, async () => {
    const [before, now] = [await describe(), await describe()]
    change(now)
    const found = listBreaks(before, now)
    assert.equal(found.length > 0, expected.length > 0, `${index}: ${found.join('\n')}`)
    const missing = expected.filter((each) => !found.some((line) => line.endsWith(each)))
    assert.deepEqual(missing, [], found.join('\n'))
  })
}

test('the comparison reports fields of a request that are gone, required or narrower', async () => {
  const bodyOf = ({ paths, components }: Json): Json => {
    const { schema } = paths['/contacts'].post.requestBody.content['application/json']
    return schema.$ref ? components.schemas[schema.$ref.split('/').at(-1)] : schema
  }
  const before = await describe()
  for (const [change, expected] of [
    [(body: Json) => delete body.properties.company, /\.company: removed$/],
    [(body: Json) => body.required.push('name'), /\.name: became required$/],
    [(body: Json) => (body.properties.name.maxLength = 1), /\.name: maxLength .* became 1$/],
  ] as const) {
    const now = await describe()
    change(bodyOf(now))
    assert.match(listBreaks(before, now).join('\n'), new RegExp(expected.source, 'm'))
  }
})
