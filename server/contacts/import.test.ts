/**
 * Many people at once: a file is imported as its dry run says, every row is
 * accounted for, and what is taken away can be brought back unchanged.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { assertCheap } from '../../tests/cpu.ts'
import { startReceiver } from '../../tests/receiver.ts'
import { createChecksum } from '../../tests/rows.ts'
import {
  assertRefused,
  type Browser,
  createBrowser,
  type Json,
  publicUrl,
  startSignedIn,
  until,
} from '../../tests/support.ts'
import { writeRow } from '../lib/csv.ts'
import { type ImportResult, importContacts } from './import.ts'
import { joinTags, readImport, splitTags } from './import-file.ts'

async function cookieOf(url: string, who: { email: string; password: string }): Promise<string> {
  const response = await fetch(`${url}/app/api/session`, {
    method: 'POST',
    headers: { origin: publicUrl, 'content-type': 'application/json' },
    body: JSON.stringify(who),
  })
  return response.headers.getSetCookie()[0]?.split(';')[0] ?? ''
}

async function signedIn(t: TestContext) {
  const world = await startSignedIn(t)
  const cookie = await cookieOf(world.url, world.owner)
  const upload = async (file: string | Buffer, query = '', headers: Record<string, string> = {}) => {
    const response = await fetch(`${world.url}/app/api/contacts/import${query}`, {
      method: 'POST',
      headers: { origin: publicUrl, cookie, 'content-type': 'text/csv', ...headers },
      body: new Uint8Array(Buffer.from(file)),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text }
  }
  const importFile = async (file: string | Buffer, isDryRun = false): Promise<ImportResult> => {
    const { status, headers, text } = await upload(file, `?dry_run=${isDryRun}`)
    assert.equal(status, 200, text)
    assert.equal(headers.get('content-type'), 'application/x-ndjson; charset=utf-8')
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line): Json => JSON.parse(line))
    const { data } = lines.at(-1)
    assert.ok(data, text)
    const progress = lines.slice(0, -1).map(({ progress }) => progress.done)
    assert.deepEqual(
      progress,
      progress.toSorted((a: number, b: number) => a - b),
    )
    assert.equal(progress.at(-1), data.total)
    assert.equal(data.created + data.updated + data.unchanged + data.failed, data.total)
    assert.equal(data.dry_run, isDryRun)
    return data
  }
  const refusal = async (file: string | Buffer, message: RegExp | string) => {
    const { status, headers, text } = await upload(file)
    assertRefused({ status, headers, text, body: JSON.parse(text) }, 400, 'bad_request', message)
  }
  const takeAway = async (query = '') => {
    const response = await fetch(`${world.url}/app/api/contacts.csv${query}`, { headers: { cookie } })
    return { response, text: await response.text() }
  }
  const checksum = await createChecksum(world.db, { except: ['audit_log', 'sessions'] })
  return { ...world, upload, importFile, refusal, takeAway, checksum }
}

const countsOf = ({ total, created, updated, unchanged, failed }: ImportResult) => [
  total,
  created,
  updated,
  unchanged,
  failed,
]

test('a cell with very many tag names is the failure of its row, and is not read to its end', async (t) => {
  const { importFile } = await signedIn(t)
  const names = Array.from({ length: 30_000 }, (_, i) => `É${i}`).join(';')
  const rows = Array.from({ length: 20 }, (_, i) => `+141555501${String(i).padStart(2, '0')},${names}`)
  await assertCheap('the import', 60, async () => {
    const result = await importFile(`phone,tags\n${rows.join('\n')}`, true)
    assert.equal(result.failed, 20)
    assert.equal(result.failures[0]?.reason, 'tags: must have at most 1000 names')
  })
})

test('an import creates, updates and tags contacts, and each failed row has a reason', async (t) => {
  const { api, db, browser, importFile, checksum } = await signedIn(t)
  await api.post('/contacts', { phone: '+14155550101', name: 'Ann', company: 'Old', tags: ['VIP'] })
  await api.post('/contacts', { phone: '+14155550102', name: 'Bob' })
  const file = [
    '\ufeffName;E-Mail; PHONE ;Tags;Shoe size;company',
    'Ann;;(415) 555-0101;vip|new;41;New', // known: company and one tag
    '"Bob";; +1 415 555 0102 ;;;', // known: nothing new
    'Cyd;cyd@x;415 555 0103;"a;b\\;c";44;"two',
    'lines"',
    'Cyd 2;;+14155550103;;;', // again, changed
    'Cyd 2;;4155550103;A;;', // again, nothing new
    ';;;;;',
    'Dan;;;;;',
    'Eve;;nonsense;;;',
    `${'x'.repeat(501)};;+14155550104;;;`,
    `Fay;;+14155550105;${'y'.repeat(81)};;`,
    `Gus;;+14155550106;"${Array.from({ length: 101 }, (_, i) => `t${i}`).join('|')}";;`,
    'Hal;;+14155550107;;;;',
    'Ida;;+14155550108;;;;more',
    'Jo\0e;;+14155550109;;;',
    '',
  ].join('\r\n')
  const before = await checksum(api.workspaceId)
  const tried = await importFile(file, true)
  assert.equal(await checksum(api.workspaceId), before, 'a dry run wrote something')
  const done = await importFile(file)
  assert.deepEqual({ ...done, dry_run: true }, tried)
  assert.deepEqual(countsOf(done), [13, 2, 2, 2, 7])
  assert.deepEqual(done.ignored_columns, ['Shoe size'])
  assert.deepEqual(
    done.failures.map(({ line, reason }) => [line, reason]),
    [
      [9, 'phone: missing'],
      [10, 'phone: not a phone number'],
      [11, 'name: must have at most 500 characters'],
      [12, 'tags[0]: must have at most 80 characters'],
      [13, 'tags: must have at most 100 different names'],
      [15, 'row: has more cells than the first row'],
      [16, 'name: contains a character that is not text'],
    ],
  )
  assert.equal(done.failures[1]?.text, 'Eve;;nonsense;;;')
  assert.equal(done.failures[2]?.text.length, 201)
  const { data } = (await browser.call('GET', '/contacts')).body
  assert.deepEqual(
    data.map(({ phone, name, email, company, tags }: Json) => [
      ...[phone, name, email, company],
      tags.map((tag: Json) => tag.name).sort(),
    ]),
    [
      ['+14155550107', 'Hal', null, null, []],
      ['+14155550103', 'Cyd 2', 'cyd@x', 'two\r\nlines', ['a', 'b;c']],
      ['+14155550102', 'Bob', null, null, []],
      ['+14155550101', 'Ann', null, 'New', ['VIP', 'new']],
    ],
  )
  const found = await browser.call('GET', '/contacts?search=TWO')
  assert.equal(found.body.data[0].phone, '+14155550103')
  assert.deepEqual((await browser.call('GET', '/contacts?tag=NEW')).body.data[0].name, 'Ann')
  const [untouched] = await db`
    select created_at = updated_at as same from contacts
    where workspace_id = ${api.workspaceId} and name = 'Bob'`
  assert.equal(untouched?.same, true)
  assert.deepEqual(countsOf(await importFile(file)), [13, 0, 2, 4, 7])
})

test('contacts created by an import cause the same events as API calls', async (t) => {
  const { api, browser, importFile } = await signedIn(t)
  const receiver = await startReceiver(t)
  const subscribed = await api.post('/webhooks', { url: receiver.url, events: ['contact.created'] })
  assert.equal(subscribed.status, 201, subscribed.text)
  const file = 'phone,name,tags\n+14155550101,Ann,x|y\n+14155550101,Ann B,z\n'
  await importFile(file, true)
  await importFile(file)
  const made = await browser.call('POST', '/contacts', { phone: '+14155550102', name: 'Bob', tags: ['x'] })
  assert.equal(made.status, 201, made.text)
  assert.equal(made.body.data.opted_out_at, null)
  const again = await browser.call('POST', '/contacts', { phone: '(415) 555-0102', name: 'Other' })
  assert.deepEqual([again.status, again.body.data.name], [200, 'Bob'])
  const received = await receiver.until(2)
  assert.deepEqual(received.map(({ body }: Json) => [body.event, body.data.phone, body.data.name]).sort(), [
    ['contact.created', '+14155550101', 'Ann B'],
    ['contact.created', '+14155550102', 'Bob'],
  ])
  for (const { body } of received) {
    assert.deepEqual(body.data.contact, (await api.get(`/contacts/${body.data.contact_id}`)).body.data)
  }
})

test('an invalid file is rejected with the fault and its line, and nothing is imported', async (t) => {
  const { api, url, browser, upload, refusal, checksum } = await signedIn(t)
  const before = await checksum(api.workspaceId)
  await refusal('', 'file: is empty')
  await refusal('\n\n,,\n', 'file: is empty')
  await refusal('name,email\nAnn,a@x\n', /^file: has no column named phone/)
  await refusal('phone,name,Phone\n', 'file: has two columns named phone')
  await refusal(`phone${'-'.repeat(300)}\n`, /^file: has no column named phone/)
  await refusal(`phone,name\n+14155550101,"${'""'.repeat(5_000_000)}"\n`, /^file: line 2: a row has more than 200000 /)
  await refusal(
    'phone,name\n+14155550101,ok\n+14155550102,"open\n\n',
    'file: line 3: a quote is opened and never closed',
  )
  await refusal('phone,name\n+14155550101,o"k\n', /^file: line 2: a quote is inside/)
  await refusal(
    Buffer.from('phone,name\n+14155550101,ok\n+14155550102,Jos\xe9\n', 'latin1'),
    /^file: line 3: not UTF-8/,
  )
  await refusal(Buffer.from('\ufeffphone\n+14155550101', 'utf16le'), /not UTF-8/)
  await refusal(`phone\n${'1\n'.repeat(100_001)}`, /^file: has more than 100000 rows; .*\(line 100002\)$/)
  const tags = Array.from({ length: 1_001 }, (_, i) => `+14155550101,t${i}`)
  await refusal(`phone,tags\n${tags.join('\n')}`, /^file: has more than 1000 different tags \(line 1002\)$/)
  await refusal('x'.repeat(20 * 1024 * 1024 + 1), 'body: must have at most 20 MiB')
  const json = await upload('{}', '', { 'content-type': 'application/json' })
  assert.deepEqual([json.status, /must be text\/csv/.test(json.text)], [400, true])
  const xml = await upload('<x/>', '', { 'content-type': 'text/xml' })
  assert.deepEqual([xml.status, /must be text\/csv/.test(xml.text)], [400, true])
  assert.equal((await upload('phone\n', '?dry_run=maybe')).status, 400)
  assert.equal((await upload('phone\n', '', { origin: 'https://evil.test' })).status, 403)
  assert.equal((await upload('phone\n', '', { cookie: '' })).status, 401)
  assert.equal(await checksum(api.workspaceId), before)
  const agent = await invite(browser, url)
  for (const [method, path] of [
    ['POST', '/contacts/import'],
    ['GET', '/contacts.csv'],
    ['DELETE', '/contacts/00000000-0000-0000-0000-000000000000'],
  ] as const) {
    assertRefused(await agent.call(method, path), 403, 'forbidden')
  }
  assert.equal((await agent.call('POST', '/contacts', { phone: '+14155550199' })).status, 201)
  assert.equal((await api.get('/contacts')).body.data.length, 1)
})

async function invite(owner: Browser, url: string): Promise<Browser> {
  const { invitation_token } = (await owner.call('POST', '/members', { email: 'agent@x.test', role: 'agent' })).body
    .data
  const browser = createBrowser(url)
  await browser.call('POST', `/invitations/${invitation_token}`, { name: 'Agent', password: 'long enough' })
  return browser
}

test('for any rows the counts of dry run and import agree, and a second import changes nothing', async (t) => {
  const { api, db } = await signedIn(t)
  const phones = ['+14155550101', '(415) 555-0101', '4155550102', '+1 415 555 0102', '+5511987654321', '+551187654321']
  const aRow = fc.record({
    phone: fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...phones) }, fc.constantFrom('', '12', 'x', '=1+1')),
    name: fc.constantFrom('', 'Ann', ' Ann ', 'Bob', '=1+1', "'=1", 'a "b", c\nd', 'Zoë 🙂', 'ש‮ל', "'", '\t'),
    email: fc.constantFrom('', 'a@x', 'A@X'),
    tags: fc.constantFrom('', 'VIP', 'vip;new', 'a\\;b|c', ' ; | '),
  })
  const run = async (file: string, isDryRun: boolean): Promise<ImportResult> => {
    const importing = { workspaceId: api.workspaceId, isDryRun, onCreated: () => {} }
    const steps = importContacts(db, { ...importing, file: await readImport(Buffer.from(file), 'US') })
    for (;;) {
      const step = await steps.next()
      if (step.done) return step.value
    }
  }
  await fc.assert(
    fc.asyncProperty(fc.array(aRow, { maxLength: 12 }), async (rows) => {
      const lines = rows.map(({ phone, name, email, tags }) => writeRow([phone, name, email, tags]))
      const file = writeRow(['phone', 'name', 'email', 'tags']) + lines.join('')
      await db`delete from contacts where workspace_id = ${api.workspaceId} and random() < 0.3`
      const tried = await run(file, true)
      const done = await run(file, false)
      assert.deepEqual({ ...done, dry_run: true }, tried)
      const [total = 0, created = 0, updated = 0, unchanged = 0, failed = 0] = countsOf(done)
      assert.equal(created + updated + unchanged + failed, total)
      const again = await run(file, false)
      assert.deepEqual([again.created, again.failed], [0, failed])
      // Six spellings of three numbers.
      const [people] = await db<{ count: number }[]>`
        select count(*)::int as count from contacts where workspace_id = ${api.workspaceId}`
      assert.ok((people?.count ?? 0) <= 3)
    }),
    { numRuns: 60, seed: 20_260_131 },
  )
  fc.assert(
    fc.property(fc.array(fc.string({ unit: fc.constantFrom(...'a;|\\ b'), minLength: 1 })), (names) => {
      assert.deepEqual(splitTags(joinTags(names)), names.length > 0 ? names : [''])
    }),
  )
})

test('an export imports unchanged, whatever the values, and contains no formula', async (t) => {
  const { api, db, browser, importFile, takeAway, checksum, connect } = await signedIn(t)
  const provider = await connect()
  const names = ['=1+1', "'=1", '+cmd', '-2', '@x', '\tx', ' y ', 'a "b", c', 'two\r\nlines', 'Zoë 🙂', 'ש‮ל', "'", '  ']
  names.push('x;=1+1', 'x\n=1+1', 'x;"=1+1;', "x;'=1", 'x|@y', ';-)')
  for (const [i, name] of names.entries()) {
    const phone = `+1415555${String(2_000 + i)}`
    const made = await api.post('/contacts', {
      phone,
      name,
      company: name,
      email: `${i}@x`,
      tags: ['a;b', 'c|d\\', '=e'],
    })
    assert.equal(made.status, 201, made.text)
  }
  await provider.writes({ channel: 'social', from: '90000001', username: 'ann', text: 'hi' })
  const [first] = (await api.get(`/contacts?search=${encodeURIComponent('+14155552000')}`)).body.data
  await browser.call('PATCH', `/contacts/${first.id}`, { opted_out: true })
  const before = await checksum(api.workspaceId)
  const { response, text } = await takeAway()
  assert.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8')
  assert.equal(response.headers.get('content-disposition'), 'attachment; filename="contacts.csv"')
  assert.match(text, /^name,phone,email,company,tags,channels,opted_out,created_at\r\n/)
  assert.match(text, /\r\n'=1\+1,\+14155552000,0@x,'=1\+1,"'=e;a\\;b;c\\\|d\\\\",msgapp,true,\d{4}-/)
  assert.doesNotMatch(text, /(^|[,;|\t\r\n])"*[=@]/)
  const done = await importFile(text)
  assert.deepEqual(countsOf(done), [names.length + 1, 0, 0, names.length, 1])
  assert.equal(done.failures[0]?.reason, 'phone: missing')
  assert.deepEqual(done.ignored_columns, ['channels', 'opted_out', 'created_at'])
  assert.equal(await checksum(api.workspaceId), before)

  const rowsOf = async (query: string) =>
    (await takeAway(query)).text.match(/,\d{4}-\d\d-\d\dT[\d:.]+Z\r\n/g)?.length ?? 0
  const filter = { match: 'all', rules: [{ field: 'name', op: 'contains', value: 'zoë' }] }
  const segment = (await browser.call('POST', '/segments', { name: 'Z', kind: 'dynamic', filter })).body.data
  for (const [query, count] of [
    ['?opted_out=true', 1],
    ['?channel=social', 1],
    ['?tag=a%3Bb&search=Zo', 1],
    [`?segment_id=${segment.id}`, 1],
    [`?segment_id=${segment.id}&opted_out=true`, 0],
  ] as const) {
    assert.equal(await rowsOf(query), count, query)
  }
  assert.equal((await takeAway('?segment_id=x')).response.status, 404)
  const out = await browser.call('GET', '/contacts?opted_out=true')
  assert.deepEqual([out.body.data.length, out.body.data[0].opted_out_by], [1, 'member'])
  assert.equal((await browser.call('GET', '/contacts?opted_out=false')).status, 400)

  await db`
    insert into contacts (workspace_id, id, phone, created_at, updated_at)
    select ${api.workspaceId}, gen_random_uuid(), '+1212' || (5000000 + i), now(), now() from generate_series(1, 2500) i`
  assert.equal(await rowsOf(''), names.length + 1 + 2_500)
})

test('an aborted import has stored whole chunks, and other requests run beside an import', async (t) => {
  const { api, db, importFile } = await signedIn(t)
  const phoneOf = (i: number) => `+1212${5_000_000 + i}`
  const file = `phone,name,tags\n${Array.from({ length: 2_500 }, (_, i) => `${phoneOf(i)},N${i},all`).join('\n')}`
  const importing = { workspaceId: api.workspaceId, isDryRun: false, onCreated: () => {} }
  const steps = importContacts(db, { ...importing, file: await readImport(Buffer.from(file), 'US') })
  await steps.next()
  await steps.next()
  await steps.return({} as ImportResult)
  const count = async () =>
    (await db`select count(*)::int as count from contacts where workspace_id = ${api.workspaceId}`)[0]?.count
  assert.equal(await count(), 1_000)

  // While the same people are made by calls, none is made twice and none is missed.
  const calls = Promise.all(
    Array.from({ length: 40 }, (_, i) => api.post('/contacts', { phone: phoneOf(1_000 + i * 30), name: 'Called' })),
  )
  const done = await importFile(file)
  const called = (await calls).filter(({ status }) => status === 201).length
  assert.equal(done.failed, 0)
  assert.ok(done.unchanged >= 1_000)
  assert.equal(await count(), 2_500)
  assert.ok(called + done.created === 1_500, `${called} and ${done.created}`)
  const last = await importFile(file)
  assert.equal(last.unchanged + last.updated, 2_500)
  await until('one import at a time', async () => {
    const [one, other] = await Promise.all([importFile(file).catch(String), importFile(file).catch(String)])
    return [one, other].some((answer) => typeof answer === 'string' && answer.includes('another import'))
  })
})
