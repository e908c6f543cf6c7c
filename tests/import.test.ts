/**
 * Many people at once: a file is imported exactly as its check says, every row is accounted for, a broken file changes nothing, and an
 * import can be undone.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { assertBadRequest, assertRefused, pluck } from './assertions.ts'
import { holdTransaction, untilWaiting } from './database.ts'
import { type CheckRequest, countsOf, createImporter, type Target } from './importing.ts'
import { sweepImports } from './internals.ts'
import { startReceiver } from './receiver.ts'
import { createChecksum } from './rows.ts'
import { createMember, type Json, main, type SignedIn, signIn, startSignedIn, until, withProvider } from './support.ts'

async function signedIn(t: TestContext) {
  const world = await startSignedIn(t)
  const importer = createImporter(world.browser)
  const contacts = async (): Promise<Json[]> => (await world.browser.ask('GET', '/contacts?limit=100')).data
  const idOf = async (phone: string): Promise<string> =>
    (await world.api.get(`/contacts?phone=${encodeURIComponent(phone)}`)).body.data[0]?.id
  const checksum = await createChecksum(world.db, { except: ['audit_log', 'sessions', 'contact_imports'] })
  return { ...world, ...importer, contacts, idOf, checksum: () => checksum(world.api.workspaceId) }
}

/** The mapping of these targets: a text is a field, an attribute with its type, or nothing. */
const to = (...targets: string[]): Target[] =>
  targets.map((target) => {
    const [kind = '', key = '', type = 'text'] = target.split(':')
    if (kind === 'attribute') return { to: kind, key, type }
    return kind === 'tags' ? { to: kind, separator: key || ';' } : { to: kind }
  })

/** The rows of contacts, identities and tags of contacts, without the time of the last change. */
async function rowsOf({ db, api }: Pick<SignedIn, 'db' | 'api'>): Promise<string[]> {
  const rows = await db<{ row: string }[]>`
    select 'contact ' || (to_jsonb(c) - 'updated_at')::text as row from contacts c where workspace_id = ${api.workspaceId}
    union all
    select 'identity ' || to_jsonb(i)::text from contact_identities i where workspace_id = ${api.workspaceId}
    union all
    select 'tag ' || to_jsonb(t)::text from contact_tags t where workspace_id = ${api.workspaceId}
    order by row`
  return pluck(rows, 'row')
}

test('a file is mapped, checked and imported, and each rejected row has a reason', main, async (t) => {
  const { api, db, browser, accept, check, settle, importFile, rejected, download, contacts, checksum } =
    await signedIn(t)
  await api.post('/contacts', { phone: '+14155550101', name: 'Ann', company: 'Old', tags: ['VIP'] })
  await api.post('/contacts', { phone: '+14155550102', name: 'Bob' })
  const file = [
    '\ufeffFull name;E-Mail; Mobile ;Tags;Shoe size;company',
    'Ann;;(415) 555-0101;vip;41;New', // known: the company and the shoe size
    '"Bob";; +1 415 555 0102 ;;;', // known: nothing new
    'Cyd;cyd@x;415 555 0103;"a;b\\;c";44;"two',
    'lines"',
    'Cyd 2;;+14155550103;;;', // again
    ';;;;;',
    'Dan;;;;;',
    'Eve;;nonsense;;;',
    `${'x'.repeat(501)};;+14155550104;;;`,
    `Fay;;+14155550105;${'y'.repeat(81)};;`,
    `Gus;;+14155550106;"${Array.from({ length: 101 }, (_, i) => `t${i}`).join(';')}";;`,
    'Hal;;+14155550107;;;;',
    'Ida;;+14155550108;;;;more',
    'Jo\0e;;+14155550109;;;',
    'Kim;;+14155550110;;large;',
    '',
  ].join('\r\n')
  const uploaded = await accept(file)
  assert.deepEqual(pluck([uploaded], 'filename', 'state', 'delimiter', 'encoding')[0], [
    ...['people.csv', 'uploaded', ';', 'utf-8'],
  ])
  assert.equal(uploaded.size_bytes, Buffer.byteLength(file))
  assert.deepEqual(pluck(uploaded.columns, 'name'), ['Full name', 'E-Mail', 'Mobile', 'Tags', 'Shoe size', 'company'])
  assert.deepEqual(uploaded.columns[0].samples, ['Ann', 'Bob', 'Cyd'])
  assert.deepEqual(uploaded.columns[4].attribute, { key: 'shoe_size', type: 'text' })
  assert.deepEqual(uploaded.mapping, to('name', 'email', 'phone', 'tags', 'nothing', 'company'))
  const mapping = to('name', 'email', 'phone', 'tags', 'attribute:shoe_size:number', 'company')

  const before = await checksum()
  const first = await check(file, { mapping })
  assert.deepEqual([first.state, countsOf(first.check)], ['checked', [2, 1, 1, 9]], first.error)
  await db`delete from contact_import_rejects where workspace_id = ${api.workspaceId}`
  assert.equal(await checksum(), before, 'a check changed something')

  const done = await importFile(file, { mapping })
  assert.deepEqual(await rejected(done.id), [
    [6, 'phone: same number as line 4'],
    [8, 'phone: missing'],
    [9, 'phone: not a phone number'],
    [10, 'name: must have at most 500 characters'],
    [11, 'tags[0]: must have at most 80 characters'],
    [12, 'tags: must have at most 100 different names'],
    [14, 'row: has more cells than the first row'],
    [15, 'name: contains a character that is not text'],
    [16, 'attributes.shoe_size: must be a number'],
  ])
  assert.deepEqual(
    done.result.reasons.find(({ reason }: Json) => reason.startsWith('phone: same')),
    { reason: 'phone: same number as an earlier line', count: 1 },
  )
  const list = await download(`/imports/${done.id}/rejected.csv`)
  assert.match(list, /^\ufeffline,reason,Full name,E-Mail,Mobile,Tags,Shoe size,company\r\n/)
  assert.match(list, /\r\n9,phone: not a phone number,Eve,,nonsense,,,\r\n/)
  const found = (await contacts()).map(({ phone, name, email, company, tags, attributes }: Json) => [
    ...[phone, name, email, company, pluck(tags, 'name').sort(), attributes],
  ])
  assert.deepEqual(found, [
    ['+14155550107', 'Hal', null, null, [], {}],
    ['+14155550103', 'Cyd', 'cyd@x', 'two\r\nlines', ['a', 'b;c'], { shoe_size: 44 }],
    ['+14155550102', 'Bob', null, null, [], {}],
    ['+14155550101', 'Ann', null, 'New', ['VIP'], { shoe_size: 41 }],
  ])
  assert.equal((await browser.call('GET', '/contacts?search=TWO')).body.data[0].phone, '+14155550103')
  const [untouched] = await db`
    select created_at = updated_at as same from contacts where workspace_id = ${api.workspaceId} and name = 'Bob'`
  assert.equal(untouched?.same, true)
  assert.deepEqual(countsOf((await importFile(file, { mapping })).result), [0, 0, 4, 9])
  assert.deepEqual((await settle(done.id)).columns, [], 'the values of the first rows are gone')
  const listed = (await browser.ask('GET', '/imports')).data
  assert.deepEqual(pluck(listed, 'state'), ['done', 'done', 'checked', 'uploaded'])
  assert.equal(listed[1].id, done.id)
})

test('options: a tag for all rows, and what is changed of contacts that exist', async (t) => {
  const { api, importFile, contacts } = await signedIn(t)
  const file = 'phone,name,email,plan\n+14155550101,Ann B,new@x,pro\n+14155550102,Bob,b@x,free\n'
  const mapping = to('phone', 'name', 'email', 'attribute:plan')
  const reset = () =>
    api.post('/contacts', {
      phone: '+14155550101',
      name: 'Ann',
      email: null,
      attributes: { plan: 'old' },
      if_exists: 'update',
    })
  const ann = async () => (await contacts()).find(({ phone }) => phone === '+14155550101')
  await reset()
  const run = (update: string, tag: string | null = null) => importFile(file, { mapping, options: { tag, update } })
  assert.deepEqual(countsOf((await run('never', 'fair')).result), [1, 0, 1, 0])
  assert.deepEqual(pluck([await ann()], 'name', 'email')[0], ['Ann', null])
  assert.deepEqual((await ann())?.tags, [])
  assert.deepEqual(
    pluck((await contacts())[0]?.tags, 'name'),
    ['fair'],
    'a new contact has the tag although existing ones do not change',
  )
  assert.deepEqual(countsOf((await run('empty')).result), [0, 1, 1, 0])
  assert.deepEqual(pluck([await ann()], 'name', 'email', 'attributes')[0], ['Ann', 'new@x', { plan: 'old' }])
  assert.deepEqual(countsOf((await run('all', ' Fair ')).result), [0, 1, 1, 0])
  assert.deepEqual(pluck([await ann()], 'name', 'email', 'attributes')[0], ['Ann B', 'new@x', { plan: 'pro' }])
  assert.deepEqual(pluck((await ann())?.tags, 'name'), ['fair'])
  assert.deepEqual(countsOf((await run('all')).result), [0, 0, 2, 0])
})

test('names of two columns, types of attributes, separators of tags and other spellings of yes', async (t) => {
  const { importFile, contacts } = await signedIn(t)
  const file = [
    'Vorname\tNachname\tHandy\tGruppen\tSeats\tActive\tAbgemeldet\tConstructor',
    'Ada\tLovelace\t+14155550101\ta|b\t12\tJa\tx\tyes',
    '\tByron\t+14155550102\ta\t-3.5\tnein\t\tno',
    'Ann\t\t+14155550103\t\t\t\tfalse\t',
  ].join('\n')
  const mapping = to('name', 'name', 'phone', 'tags:|', 'attribute:seats:number', 'attribute:active:boolean')
  await importFile(file, { mapping: [...mapping, ...to('opted_out', 'attribute:constructor:boolean')] })
  const found = (await contacts()).map(({ name, tags, attributes, opted_out, opted_out_by }) => [
    ...[name, pluck(tags, 'name').sort(), attributes, opted_out, opted_out_by],
  ])
  assert.deepEqual(found, [
    ['Ann', [], {}, false, null],
    ['Byron', ['a'], { seats: -3.5, active: false, constructor: false }, false, null],
    ['Ada Lovelace', ['a', 'b'], { seats: 12, active: true, constructor: true }, true, 'member'],
  ])
})

test('a file opts contacts out, but never a customer in who opted out', async (t) => {
  const world = await withProvider(signedIn(t))
  const { api, browser, provider, importFile, contacts } = world
  const [customer, member, open] = ['+14155550101', '+14155550102', '+14155550103']
  for (const phone of [customer, member, open]) await api.post('/contacts', { phone })
  await provider.writes({ from: customer, text: 'STOP' })
  for (const contact of await contacts()) {
    if (contact.phone === member) await browser.ask('PATCH', `/contacts/${contact.id}`, { opted_out: true })
  }
  const stateOf = async () =>
    Object.fromEntries((await contacts()).map(({ phone, opted_out_by }) => [phone, opted_out_by]))
  await until('the customer to opt out', async () => (await stateOf())[customer] === 'customer')
  const file = (values: string[]) =>
    `phone,opted_out\n${[customer, member, open].map((phone, i) => `${phone},${values[i]}`).join('\n')}`
  const mapping = to('phone', 'opted_out')
  const run = async (update: string, ...values: string[]) =>
    countsOf((await importFile(file(values), { mapping, options: { tag: null, update } })).result)
  assert.deepEqual(await run('empty', 'no', 'no', 'yes'), [0, 1, 2, 0])
  assert.deepEqual(await stateOf(), { [customer]: 'customer', [member]: 'member', [open]: 'member' })
  assert.deepEqual(await run('all', 'no', 'no', 'no'), [0, 2, 1, 0])
  assert.deepEqual(await stateOf(), { [customer]: 'customer', [member]: null, [open]: null })
})

test('every delimiter and encoding imports the same, and another delimiter can be chosen', async (t) => {
  const { browser, accept, check, importFile, contacts } = await signedIn(t)
  const rows = [
    ['name', 'phone'],
    ['Zoë 🙂', '+14155550101'],
  ]
  const texts = [',', ';', '\t'].map((delimiter) => rows.map((cells) => cells.join(delimiter)).join('\r\n'))
  const encode = (text: string) => [
    Buffer.from(text),
    Buffer.from(`\ufeff${text}`),
    Buffer.from(`\ufeff${text}`, 'utf16le'),
    Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
  ]
  for (const file of texts.flatMap(encode)) {
    const { result } = await importFile(file)
    assert.equal(result.created + result.unchanged, 1)
  }
  assert.deepEqual(pluck(await contacts(), 'name'), ['Zoë 🙂'])

  const { id, delimiter, columns } = await accept('phone;name,full\n+14155550102;Ann,B\n')
  assert.deepEqual([delimiter, columns.length], [',', 2])
  const changed = (await browser.ask('PATCH', `/imports/${id}`, { delimiter: ';' })).data
  assert.deepEqual([changed.delimiter, pluck(changed.columns, 'name')], [';', ['phone', 'name,full']])
  assertBadRequest(await browser.call('PATCH', `/imports/${id}`, { delimiter: '|' }))
  const checked = await check('phone;name\n+14155550102;Ann\n')
  await browser.ask('POST', `/imports/${checked.id}/start`)
  assertBadRequest(await browser.call('PATCH', `/imports/${checked.id}`, { delimiter: ',' }), /^import: /)
})

test('a saved mapping is offered for a file with the same header', async (t) => {
  const { accept, check } = await signedIn(t)
  const header = 'phone,remark'
  const mapping = to('phone', 'attribute:remark')
  await check(`${header}\n+14155550101,x\n`, { mapping })
  assert.deepEqual((await accept(`${header}\n+14155550102,x\n`)).mapping, to('phone', 'nothing'))
  await check(`${header}\n+14155550101,x\n`, { mapping, save_mapping: true })
  const offered = await accept(`${header}\n+14155550102,x\n`)
  assert.deepEqual([offered.mapping, offered.is_mapping_saved], [mapping, true])
  const other = await accept('phone,remarks\n+14155550102,x\n')
  assert.deepEqual([other.mapping, other.is_mapping_saved], [to('phone', 'nothing'), false])
})

test('contacts created by an import cause the same events as API calls', async (t) => {
  const { api, browser, check, importFile } = await signedIn(t)
  const receiver = await startReceiver(t)
  const subscribed = await api.post('/webhooks', { url: receiver.url, events: ['contact.created'] })
  assert.equal(subscribed.status, 201, subscribed.text)
  const file = 'phone,name,tags\n+14155550101,Ann,x;y\n+14155550101,Ann B,z\n'
  await check(file)
  await importFile(file)
  await browser.ask('POST', '/contacts', { phone: '+14155550102', name: 'Bob', tags: ['x'] }, 201)
  const received = await receiver.until(2)
  assert.deepEqual(received.map(({ body }: Json) => [body.event, body.data.phone, body.data.name]).sort(), [
    ['contact.created', '+14155550101', 'Ann'],
    ['contact.created', '+14155550102', 'Bob'],
  ])
  const listed: Json[] = (await api.get('/contacts')).body.data
  for (const { body } of received) {
    assert.deepEqual(
      body.data.contact,
      listed.find(({ id }) => id === body.data.contact_id),
    )
  }
})

const megabyte = 1024 * 1024
const phones = (count: number) => Array.from({ length: count }, (_, i) => `+1415${2_000_000 + i}\n`).join('')
const latin = (text: string) => Buffer.from(text, 'latin1')
const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')
const save = 'save it as “CSV UTF-8”'

/** Files that cannot be imported, with their sentence. Without a mapping, the suggested one is used. */
const brokenFiles: [file: string | Buffer, sentence: string | RegExp, mapping?: Target[]][] = [
  // No table.
  ['', 'file: is empty'],
  ['\n', 'file: is empty'],
  ['\r\n\r\n', 'file: is empty'],
  ['\n\n,,\n', 'file: is empty'],
  [' \n\t\n', 'file: is empty'],
  ['\ufeff', 'file: is empty'],
  [utf16(''), 'file: is empty'],
  ['""\n"",""\n', 'file: is empty'],
  ['phone', 'file: has only one row; the first row must name the columns'],
  ['phone,name\r\n', 'file: has only one row; the first row must name the columns'],
  ['phone\n\n , \n', 'file: has only one row; the first row must name the columns'],
  // Other formats.
  [Buffer.from([0x50, 0x4b, 3, 4, 20, 0, 6, 0]), `file: is a spreadsheet; ${save}`],
  [Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1]), `file: is a spreadsheet; ${save}`],
  [Buffer.from([0x1f, 0x8b, 8, 0]), 'file: is compressed; choose the CSV file itself'],
  [Buffer.from([0xff, 0xfe, 0, 0, 0x70, 0, 0, 0]), `file: is UTF-32; ${save}`],
  [Buffer.from([0, 0, 0xfe, 0xff, 0, 0, 0, 0x70]), `file: is UTF-32; ${save}`],
  [Buffer.from('phone\n1', 'utf16le'), `file: is UTF-16 without a byte order mark; ${save}`],
  [Buffer.from('phone\n1', 'utf16le').swap16(), `file: is UTF-16 without a byte order mark; ${save}`],
  // No text.
  [latin('phone,name\n+14155550101,ok\n+14155550102,Jos\xe9\n'), `file: line 3: not UTF-8; ${save}`],
  [latin('phone,Ge\xe4ndert\n+14155550101,ok\n'), `file: line 1: not UTF-8; ${save}`],
  [latin(`phone,name\n${'+14155550101,ok\n'.repeat(3_000)}+14155550102,\xff\n`), `file: line 3002: not UTF-8; ${save}`],
  [latin('phone\n+14155550101\xc3'), `file: line 2: not UTF-8; ${save}`],
  [latin('phone\n"a\n\xff\n"\n'), `file: line 2: not UTF-8; ${save}`],
  [latin('phone,name\n\xed\xa0\x80,x\n'), `file: line 2: not UTF-8; ${save}`],
  [latin('phone,name\n\xc0\xaf,x\n'), `file: line 2: not UTF-8; ${save}`],
  [latin('phone,name\n+1,x\n\xf5\x80\x80\x80,"y'), `file: line 3: not UTF-8; ${save}`],
  [Buffer.concat([utf16('phone\n1'), Buffer.from([0x32])]), `file: line 2: not UTF-16; ${save}`],
  [Buffer.concat([utf16('phone\n1\n'), Buffer.from([0x3d, 0xd8])]), `file: line 3: not UTF-16; ${save}`],
  [Buffer.concat([utf16('phone\n1\n'), Buffer.from([0, 0xdc, 0x31, 0])]), `file: line 3: not UTF-16; ${save}`],
  ['pho\0ne\n+14155550101\n', 'file: line 1: contains a character that is not text'],
  ['\n\nphone,\0\n+14155550101\n', 'file: line 3: contains a character that is not text'],
  // Quotes.
  ['"phone\n+14155550101\n', 'file: line 1: a quote is opened and never closed'],
  ['phone,name\n+14155550101,ok\n+14155550102,"open\n\n', 'file: line 3: a quote is opened and never closed'],
  ['phone\n"', 'file: line 2: a quote is opened and never closed'],
  ['phone\n"""', 'file: line 2: a quote is opened and never closed'],
  ['phone,name\n1,"a""\n2,b\n', 'file: line 2: a quote is opened and never closed'],
  ['phone,name\n+14155550101,o"k\n', 'file: line 2: a quote is inside a cell that does not begin with one'],
  ['ph"one\n1\n', 'file: line 1: a quote is inside a cell that does not begin with one'],
  ['phone,name\n1, "a"\n', 'file: line 2: a quote is inside a cell that does not begin with one'],
  ['phone,name\n1,"a"b\n', 'file: line 2: there is text behind a closing quote'],
  ['phone,name\n1,"a\nb" \n', 'file: line 3: there is text behind a closing quote'],
  ['phone;name\r1;"a"""b"\r', 'file: line 2: there is text behind a closing quote'],
  [`phone\n${phones(5_000)}"`, 'file: line 5002: a quote is opened and never closed'],
  [
    `phone\n${phones(5_000)}"${'x\n'.repeat(megabyte)}`,
    /^file: line 5002: a quote opens a cell of more than 1 MB; its /,
  ],
  [`phone,name\n1,"${'""'.repeat(megabyte)}"\n`, 'file: line 2: a row has more than 1 MB'],
  // Sizes.
  [`phone\n${'1'.repeat(megabyte + 1)}`, 'file: line 2: a row has more than 1 MB'],
  [`phone\n1\n${','.repeat(900).concat('1'.repeat(megabyte))}\n`, 'file: line 3: a row has more than 1 MB'],
  ['a'.repeat(3 * megabyte), 'file: line 1: a row has more than 1 MB'],
  [`${'a,'.repeat(1_000_000)}a\n1\n`, 'file: line 1: a row has more than 1000 columns'],
  [`phone${',x'.repeat(1_000)}\n1\n`, 'file: line 1: a row has more than 1000 columns'],
  [`phone\n1\n1${';1,'.repeat(1_001)}\n`, 'file: line 3: a row has more than 1000 columns'],
  [
    `phone,tags\n${Array.from({ length: 1_001 }, (_, i) => `+1415${2_000_000 + i},t${i}`).join('\n')}`,
    'file: has more than 1,000 different tags (line 1002)',
  ],
  // Mappings.
  ['name,email\nAnn,a@x\n', 'mapping: no column is mapped to phone'],
  ['phone,x\n1,2\n', 'mapping: two columns are mapped to phone', to('phone', 'phone')],
  ['phone,x,y\n1,2,3\n', 'mapping: two columns are mapped to email', to('phone', 'email', 'email')],
  ['phone,x,y\n1,2,3\n', 'mapping: two columns are mapped to company', to('phone', 'company', 'company')],
  ['phone,x,y\n1,2,3\n', 'mapping: two columns are mapped to opted_out', to('phone', 'opted_out', 'opted_out')],
  ['phone,a,b,c\n1,2,3,4\n', 'mapping: more than two columns are mapped to name', to('phone', 'name', 'name', 'name')],
  [
    'phone,x,y\n1,2,3\n',
    'mapping: two columns are mapped to the attribute a',
    to('phone', 'attribute:a', 'attribute:a'),
  ],
  ['phone,x\n1,2\n', /^mapping\[1\]\.key: must have 1 to 40 characters of a-z/, to('phone', 'attribute:Größe')],
  ['phone,x\n1,2\n', /^mapping\[1\]\.key: must have/, [{ to: 'phone' }, { to: 'attribute', type: 'text' }]],
  ['phone,x\n1,2\n', /^mapping\[1\]\.type: must be one of/, [{ to: 'phone' }, { to: 'attribute', key: 'a' }]],
  ['phone,x\n1,2\n', 'mapping: must have one entry for each column, 2 in this file', to('phone')],
  [
    `phone${Array.from({ length: 51 }, (_, i) => `,a${i}`).join('')}\n1\n`,
    'mapping: must have at most 50 attributes',
    to('phone', ...Array.from({ length: 51 }, (_, i) => `attribute:a${i}`)),
  ],
]

test('a broken file is one clear sentence, and nothing is changed', async (t) => {
  const { api, db, browser, upload, settle, checksum } = await signedIn(t)
  assert.ok(brokenFiles.length >= 60, String(brokenFiles.length))
  await api.post('/contacts', { phone: '+14155550101', name: 'Ann' })
  const before = await checksum()
  const describe = (file: string | Buffer) => JSON.stringify(Buffer.from(file).toString('latin1').slice(0, 60))
  /** The sentence of the upload, of the mapping, or of the check. */
  const sentenceOf = async (file: string | Buffer, mapping?: Target[]): Promise<string> => {
    const uploaded = await upload(file)
    if (uploaded.status === 400) return uploaded.body.error.message
    assert.equal(uploaded.status, 201, uploaded.text)
    const { id, mapping: suggested } = uploaded.body.data
    try {
      const requested = await browser.call('POST', `/imports/${id}/check`, { mapping: mapping ?? suggested })
      if (requested.status === 400) return requested.body.error.message
      const { state, error } = await settle(id)
      assert.equal(state, 'failed', describe(file))
      assertBadRequest(await browser.call('POST', `/imports/${id}/start`), 'import: check it before it starts')
      return error
    } finally {
      await browser.ask('DELETE', `/imports/${id}`)
    }
  }
  for (const [file, sentence, mapping] of brokenFiles) {
    const actual = await sentenceOf(file, mapping)
    if (typeof sentence === 'string') assert.equal(actual, sentence, describe(file))
    else assert.match(actual, sentence, describe(file))
    assert.doesNotMatch(actual, /\n/)
  }
  assert.equal(await checksum(), before)
  assert.deepEqual([...(await db`select from contact_imports where workspace_id = ${api.workspaceId}`)], [])
})

test('an upload that is refused leaves neither a row nor a file', async (t) => {
  const { api, db, url, browser, upload, accept } = await signedIn(t)
  assertBadRequest(await upload('{}', { 'content-type': 'application/json' }), 'content-type: must be text/csv')
  assertBadRequest(await upload('<x/>', { 'content-type': 'text/xml' }), 'content-type: must be text/csv')
  assertBadRequest(await upload('phone\n', { 'content-encoding': 'gzip' }), /^content-encoding: /)
  assert.equal((await upload('phone\n', { origin: 'https://evil.test' })).status, 403)
  assert.equal((await upload('phone\n', { cookie: '' })).status, 401)
  const headers = { origin: browser.origin, cookie: browser.cookie(), 'content-type': 'text/csv' }
  // Without a length: it is counted as it arrives.
  let left = 26
  const large = new ReadableStream({
    pull: (controller) =>
      left-- > 0 ? controller.enqueue(Buffer.alloc(4 * megabyte, 'phone\n1\n')) : controller.close(),
  })
  const request = { method: 'POST', headers, body: large, duplex: 'half' } as RequestInit
  const tooLarge = await fetch(`${url}/app/api/imports`, request)
  const text = await tooLarge.text()
  assert.deepEqual([tooLarge.status, /at most 100 MiB/.test(text)], [400, true], text)
  assert.deepEqual([...(await db`select from contact_imports where workspace_id = ${api.workspaceId}`)], [])
  for (let i = 0; i < 10; i++) await accept('phone\n1\n')
  assertRefused(await upload('phone\n1\n'), 429, 'rate_limited', /^10 files wait for their import/)
})

test('only owners and admins import, and only in their own workspace', async (t) => {
  const { url, browser, workspace, check, importFile } = await signedIn(t)
  const { id } = await importFile('phone,name\n+14155550101,Ann\n')
  const waiting = await check('phone\n+14155550102\n')
  const other = await workspace()
  const stranger = await signIn({ url, owner: other.owner })
  const agent = await createMember(browser, 'agent')
  const viewer = await createMember(browser, 'viewer')
  const calls: [method: string, path: string, body?: unknown][] = [
    ['GET', `/imports/${id}`],
    ['PATCH', `/imports/${waiting.id}`, { delimiter: ';' }],
    ['POST', `/imports/${waiting.id}/check`, { mapping: to('phone') }],
    ['POST', `/imports/${waiting.id}/start`],
    ['POST', `/imports/${id}/undo`],
    ['DELETE', `/imports/${waiting.id}`],
    ['GET', `/imports/${id}/rejected.csv`],
    ['GET', `/imports/${id}/kept`],
    ['GET', `/imports/${id}/kept.csv`],
  ]
  for (const [method, path, body] of calls) {
    assertRefused(await stranger.call(method, path, body), 404, 'not_found')
    for (const member of [agent, viewer]) assertRefused(await member.call(method, path, body), 403, 'forbidden')
  }
  for (const member of [agent, viewer]) {
    assertRefused(await member.call('GET', '/imports'), 403, 'forbidden')
    assertRefused(await createImporter(member).upload('phone\n1\n'), 403, 'forbidden')
  }
  assert.deepEqual((await stranger.ask('GET', '/imports')).data, [])
  assertRefused(await browser.call('GET', '/imports/x'), 404, 'not_found')
  const admin = createImporter(await createMember(browser, 'admin'))
  await admin.undo(id)
  const audit = (await browser.ask('GET', '/audit?object=import')).data
  assert.deepEqual(
    new Set(pluck(audit, 'action')),
    new Set(['import.uploaded', 'import.checked', 'import.started', 'import.undone']),
  )
})

test('for any rows check and import agree, and a second import changes nothing', async (t) => {
  const { api, db, importFile } = await signedIn(t)
  const spellings = [
    '+14155550101',
    '(415) 555-0101',
    '4155550102',
    '+1 415 555 0102',
    '+5511987654321',
    '+551187654321',
  ]
  const aRow = fc.record({
    phone: fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...spellings) }, fc.constantFrom('', '12', 'x')),
    name: fc.constantFrom('', 'Ann', ' Ann ', 'Bob', "'=1", 'a "b", c\nd', 'Zoë 🙂', 'ש‮ל', "'", '\t'),
    email: fc.constantFrom('', 'a@x', 'A@X'),
    tags: fc.constantFrom('', 'VIP', 'vip;new', 'a\\;b|c', ' ; | '),
    plan: fc.constantFrom('', 'pro', '1'),
    seats: fc.constantFrom('', '1', '2.5', 'many'),
    opted_out: fc.constantFrom('', 'yes', 'no', 'maybe'),
  })
  const mapping = to('phone', 'name', 'email', 'tags', 'attribute:plan', 'attribute:seats:number', 'opted_out')
  const write = (cell: string) => `"${cell.replaceAll('"', '""')}"`
  await fc.assert(
    fc.asyncProperty(
      fc.array(aRow, { minLength: 1, maxLength: 12 }),
      fc.constantFrom('all', 'empty', 'never'),
      async (rows, update) => {
        const cells = rows.map((row) => Object.values(row).map(write).join(','))
        // A file without any value is refused.
        const file = ['phone,name,email,tags,plan,seats,opted_out', '+14155550101,Ann', ...cells].join('\n')
        await db`delete from contacts where workspace_id = ${api.workspaceId} and random() < 0.3`
        const wanted: CheckRequest = { mapping, options: { tag: null, update } }
        const { result } = await importFile(file, wanted)
        const again = await importFile(file, wanted)
        assert.deepEqual(countsOf(again.result), [
          ...[0, 0, result.created + result.changed + result.unchanged, result.rejected],
        ])
        const [people] = await db<{ count: number }[]>`
          select count(*)::int as count from contacts where workspace_id = ${api.workspaceId}`
        assert.ok((people?.count ?? 0) <= 3, 'six spellings of three numbers')
      },
    ),
    { numRuns: 25, seed: 20_260_131 },
  )
})

test('an export imports unchanged, whatever the values, and contains no formula', async (t) => {
  const { api, db, browser, importFile, rejected, checksum, provider, url } = await withProvider(signedIn(t))
  const takeAway = async (query = '') => {
    const response = await fetch(`${url}/app/api/contacts.csv${query}`, { headers: { cookie: browser.cookie() } })
    return { response, text: await response.text() }
  }
  const names = ['=1+1', "'=1", '+cmd', '-2', '@x', '\tx', ' y ', 'a "b", c', 'two\r\nlines', 'Zoë 🙂', 'ש‮ל', "'", '  ']
  names.push('x;=1+1', 'x\n=1+1', 'x;"=1+1;', "x;'=1", 'x|@y', ';-)')
  for (const [i, name] of names.entries()) {
    const tags = ['a;b', 'c|d\\', '=e']
    const contact = { phone: `+1415555${2_000 + i}`, name, company: name, email: `${i}@x`, tags }
    assert.equal((await api.post('/contacts', contact)).status, 201)
  }
  await provider.writes({ channel: 'social', from: '90000001', username: 'ann', text: 'hi' })
  const [first] = (await api.get(`/contacts?search=${encodeURIComponent('+14155552000')}`)).body.data
  await browser.call('PATCH', `/contacts/${first.id}`, { opted_out: true })
  const before = await checksum()
  const { response, text } = await takeAway()
  assert.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8')
  assert.equal(response.headers.get('content-disposition'), 'attachment; filename="contacts.csv"')
  assert.match(text, /^\ufeff?name,phone,email,company,tags,channels,opted_out,username,created_at\r\n/)
  assert.match(text, /\r\n'=1\+1,\+14155552000,0@x,'=1\+1,"'=e;a\\;b;c\\\|d\\\\",msgapp,true,,\d{4}-/)
  assert.doesNotMatch(text, /(^|[,;|\t\r\n])"*[=@]/)
  const done = await importFile(text)
  assert.deepEqual(
    done.mapping,
    to('name', 'phone', 'email', 'company', 'tags', 'nothing', 'opted_out', 'nothing', 'nothing'),
  )
  assert.deepEqual(countsOf(done.result), [0, 0, names.length, 1])
  assert.deepEqual(pluck(await rejected(done.id), 1), ['phone: missing'])
  await db`delete from contact_import_rejects where workspace_id = ${api.workspaceId}`
  assert.equal(await checksum(), before)

  const rowsIn = async (query: string) =>
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
    assert.equal(await rowsIn(query), count, query)
  }
  assert.equal((await takeAway('?segment_id=x')).response.status, 404)
  const out = await browser.call('GET', '/contacts?opted_out=true')
  assert.deepEqual([out.body.data.length, out.body.data[0].opted_out_by], [1, 'member'])
  assert.equal((await browser.call('GET', '/contacts?opted_out=false')).status, 400)
  await db`
    insert into contacts (workspace_id, id, phone, created_at, updated_at)
    select ${api.workspaceId}, gen_random_uuid(), '+1212' || (5000000 + i), now(), now() from generate_series(1, 2500) i`
  assert.equal(await rowsIn(''), names.length + 1 + 2_500)
})

test('two numbers of one contact are one contact, and two rows may change it', async (t) => {
  const { api, db, browser, check, settle, undo, idOf } = await signedIn(t)
  const [one, other] = ['+14155550101', '+14155550102']
  for (const phone of [one, other]) await api.post('/contacts', { phone })
  await browser.ask('POST', `/contacts/${await idOf(one)}/merge`, { contact_id: await idOf(other) })
  // Far apart, so that they are in different chunks.
  const between = Array.from({ length: 2_500 }, (_, i) => `+1212${5_000_000 + i},x,\n`).join('')
  const file = `phone,name,plan\n${one},Ann,pro\n${between}${other},Ann,free\n`
  const checked = await check(file, { mapping: to('phone', 'name', 'attribute:plan') })
  assert.deepEqual(countsOf(checked.check), [2_500, 2, 0, 0])
  const before = await rowsOf({ db, api })
  await browser.ask('POST', `/imports/${checked.id}/start`)
  const done = await settle(checked.id)
  assert.deepEqual(done.result, done.check)
  const ann = (await api.get(`/contacts/${await idOf(other)}`)).body.data
  assert.deepEqual([ann.phone, ann.name, ann.attributes], [one, 'Ann', { plan: 'free' }])
  const undone = await undo(checked.id)
  assert.deepEqual(undone.undo, { erased: 2_500, restored: 1, kept: 0 })
  assert.deepEqual(await rowsOf({ db, api }), before)
})

test('people that callers create during an import are neither doubled nor missed', async (t) => {
  const { api, db, browser, check, settle } = await signedIn(t)
  const phoneOf = (i: number) => `+1212${5_000_000 + i}`
  const file = `phone,name,tags\n${Array.from({ length: 6_000 }, (_, i) => `${phoneOf(i)},N${i},all`).join('\n')}`
  const checked = await check(file)
  assert.deepEqual(countsOf(checked.check), [6_000, 0, 0, 0])
  const started = browser.ask('POST', `/imports/${checked.id}/start`)
  const calls = Array.from({ length: 60 }, (_, i) => api.post('/contacts', { phone: phoneOf(i * 100), name: 'Called' }))
  await started
  const called = (await Promise.all(calls)).filter(({ status }) => status === 201).length
  const { state, result, check: expected } = await settle(checked.id)
  assert.equal(state, 'done')
  assert.equal(called + result.created, 6_000, `${called} and ${result.created}`)
  assert.equal(result.created + result.changed + result.unchanged, 6_000)
  assert.deepEqual(countsOf(expected), [6_000, 0, 0, 0], 'the difference shows')
  const [count] = await db<{ contacts: number; identities: number; tagged: number }[]>`
    select (select count(*)::int from contacts where workspace_id = ${api.workspaceId}) as contacts,
      (select count(*)::int from contact_identities where workspace_id = ${api.workspaceId}) as identities,
      (select count(*)::int from contact_tags where workspace_id = ${api.workspaceId}) as tagged`
  assert.deepEqual({ ...count }, { contacts: 6_000, identities: 6_000, tagged: 6_000 })
})

test('an import that a member cancels keeps what is imported, and can be undone', async (t) => {
  const { api, db, database, browser, check, settle, undo, contacts } = await signedIn(t)
  await api.post('/contacts', { phone: '+14155550100', name: 'Ann' })
  const before = await rowsOf({ db, api })
  const rows = Array.from({ length: 3_000 }, (_, i) => `+1212${5_000_000 + i},N${i}\n`).join('')
  const checked = await check(`phone,name\n${rows}+14155550100,Changed\n`)
  // The second chunk waits for Ann.
  const [ann] = await contacts()
  const release = await holdTransaction(
    database.connect(1),
    `select from contacts where workspace_id = '${api.workspaceId}' and id = '${ann?.id}' for update`,
  )
  await browser.ask('POST', `/imports/${checked.id}/start`)
  await until('the first chunk', async () => {
    const { progress } = (await browser.ask('GET', `/imports/${checked.id}`)).data
    return progress?.rows_done === 2_000 && progress.rows_total === 3_001
  })
  await untilWaiting(db)
  const leaseOf = async () => {
    const [row] = await db<{ lease: number; until: string }[]>`
      select lease, leased_until::text as until from contact_imports where workspace_id = ${api.workspaceId} and id = ${checked.id}`
    return row
  }
  const claimed = await leaseOf()
  await until('the lease of the waiting worker to be extended', async () => (await leaseOf())?.until !== claimed?.until)
  assert.equal((await leaseOf())?.lease, claimed?.lease, 'another worker has the import')
  assert.deepEqual((await browser.ask('DELETE', `/imports/${checked.id}`)).data, { id: checked.id, deleted: false })
  await release()
  const canceled = await settle(checked.id)
  assert.deepEqual([canceled.state, countsOf(canceled.result)], ['canceled', [2_000, 0, 0, 0]])
  assertBadRequest(await browser.call('DELETE', `/imports/${checked.id}`), /^import: it has ended/)
  assertBadRequest(await browser.call('POST', `/imports/${checked.id}/start`), 'import: it has started already')
  assert.deepEqual((await undo(checked.id)).undo, { erased: 2_000, restored: 0, kept: 0 })
  assert.deepEqual(await rowsOf({ db, api }), before)
})

test('one import of a workspace runs at a time, and a second one waits', async (t) => {
  const { api, db, database, browser, check, settle, contacts } = await signedIn(t)
  await api.post('/contacts', { phone: '+14155550100', name: 'Ann' })
  const first = await check('phone,name\n+14155550100,Changed\n')
  const second = await check('phone,name\n+14155550101,Bob\n')
  const [ann] = await contacts()
  const release = await holdTransaction(
    database.connect(1),
    `select from contacts where workspace_id = '${api.workspaceId}' and id = '${ann?.id}' for update`,
  )
  await browser.ask('POST', `/imports/${first.id}/start`)
  await untilWaiting(db)
  await browser.ask('POST', `/imports/${second.id}/start`)
  const other = createImporter(await signIn(await startSignedIn(t)))
  await other.importFile('phone\n+14155550101\n')
  const { state, progress } = (await browser.ask('GET', `/imports/${second.id}`)).data
  assert.deepEqual([state, progress.is_waiting, progress.rows_done], ['importing', true, 0])
  await release()
  assert.equal((await settle(first.id)).state, 'done')
  assert.equal((await settle(second.id)).state, 'done')
})

test('a small file does not wait for the large files of other workspaces', async (t) => {
  const { database, url, importFile } = await signedIn(t)
  const releases: (() => Promise<unknown>)[] = []
  const large = await Promise.all(
    [1, 2].map(async () => {
      const { api, owner } = await startSignedIn(t)
      const { id } = (await api.post('/contacts', { phone: '+14155550100', name: 'Ann' })).body.data
      const importer = createImporter(await signIn({ url, owner }))
      const rows = Array.from({ length: 60 }, () => `${'x'.repeat(100 * 1024)},\n`).join('')
      const checked = await importer.check(`remark,phone,name\n-,+14155550100,Changed\n${rows}`, {
        mapping: to('nothing', 'phone', 'name'),
      })
      const lock = `select from contacts where workspace_id = '${api.workspaceId}' and id = '${id}' for update`
      releases.push(await holdTransaction(database.connect(1), lock))
      return { ...importer, id: checked.id, browser: await signIn({ url, owner }) }
    }),
  )
  for (const each of large) await each.browser.ask('POST', `/imports/${each.id}/start`)
  for (const each of large) {
    await until('both to run', async () => {
      const { progress } = (await each.browser.ask('GET', `/imports/${each.id}`)).data
      return progress?.is_waiting === false
    })
  }
  await importFile('phone,name\n+14155550101,Bob\n')
  for (const each of large) {
    const { state } = (await each.browser.ask('GET', `/imports/${each.id}`)).data
    assert.equal(state, 'importing')
  }
  for (const release of releases) await release()
  for (const each of large) assert.equal((await each.settle(each.id)).state, 'done')
})

test('after an undo with nothing touched, every row is as it was', main, async (t) => {
  const world = await signedIn(t)
  const { api, db, browser, idOf, importFile, undo } = world
  await api.post('/contacts', {
    ...{ phone: '+14155550101', name: 'Ann', email: 'ann@x', company: 'Old', tags: ['VIP', 'old'] },
    attributes: { plan: 'free', seats: 3, active: true },
  })
  await api.post('/contacts', { phone: '+14155550102' })
  await api.post('/contacts', { phone: '+14155550103', name: 'Same', tags: ['fair'] })
  await browser.ask('PATCH', `/contacts/${await idOf('+14155550102')}`, { opted_out: true })
  await db`
    update contacts set typed_email_key = email_key where workspace_id = ${api.workspaceId} and phone = '+14155550101'`
  const before = await rowsOf(world)
  const rows = Array.from({ length: 3_000 }, (_, i) => `+1212${5_000_000 + i},N${i},n${i}@x,C,a;b,pro,${i},no,yes\n`)
  const file = [
    'phone,name,email,company,tags,plan,seats,active,opted_out\n',
    '+14155550101,Ann B,Ann@new,New,vip;new,pro,4,no,yes\n',
    '+14155550102,Bob,bob@x,Acme,new,pro,1,yes,no\n',
    '+14155550103,Same,,,fair,,,,no\n',
    ...rows,
  ].join('')
  const attributes = ['attribute:plan', 'attribute:seats:number', 'attribute:active:boolean']
  const mapping = to('phone', 'name', 'email', 'company', 'tags', ...attributes, 'opted_out')
  const done = await importFile(file, { mapping, options: { tag: 'fair', update: 'all' } })
  assert.deepEqual(countsOf(done.result), [3_000, 2, 1, 0])
  assert.ok(Date.parse(done.undo_until) - Date.parse(done.ended_at) === 7 * 86_400_000, done.undo_until)
  assert.notDeepEqual(await rowsOf(world), before)
  const undone = await undo(done.id)
  assert.deepEqual(undone.undo, { erased: 3_000, restored: 2, kept: 0 })
  assert.deepEqual(await rowsOf(world), before)
  assert.equal(undone.undo_until, null)
  assertBadRequest(await browser.call('POST', `/imports/${done.id}/undo`), /^import: it can be undone for seven days/)
  const left = await db`select from contact_import_changes where workspace_id = ${api.workspaceId}`
  assert.equal(left.length, 0)
})

test('an undo keeps what has been touched since, and lists it with the reason', async (t) => {
  const world = await withProvider(signedIn(t))
  const { api, db, browser, provider, idOf, importFile, undo, download } = world
  const phoneOf = (i: number) => `+141555501${String(i).padStart(2, '0')}`
  await api.post('/contacts', { phone: phoneOf(90), name: 'Changed again', company: 'Old' })
  await api.post('/contacts', { phone: phoneOf(91), name: 'Restored' })
  await api.post('/contacts', { phone: phoneOf(92), name: 'Stays' })
  const created = Array.from({ length: 9 }, (_, i) => `${phoneOf(i)},N${i},C,pro\n`)
  const file = `phone,name,company,plan\n${created.join('')}${phoneOf(90)},X,New,pro\n${phoneOf(91)},Y,New,pro\n`
  const done = await importFile(file, { mapping: to('phone', 'name', 'company', 'attribute:plan') })
  assert.deepEqual(countsOf(done.result), [9, 2, 0, 0])
  const ids = await Promise.all(Array.from({ length: 9 }, (_, i) => idOf(phoneOf(i))))
  await provider.writes({ from: phoneOf(0), text: 'hi' })
  await browser.ask('POST', `/contacts/${ids[1]}/notes`, { text: 'A note' }, 201)
  const segment = await browser.ask('POST', '/segments', { name: 'S' }, 201)
  await browser.ask('POST', `/segments/${segment.data.id}/contacts`, { contact_ids: [ids[2]] })
  await browser.ask('PATCH', `/contacts/${ids[3]}`, { add_tags: ['vip'] })
  await api.post('/broadcasts', {
    ...{ name: 'B', template: { name: 'hello_world' }, recipients: [{ to: phoneOf(4) }] },
    scheduled_at: new Date(Date.now() + 86_400_000).toISOString(),
  })
  await browser.ask('POST', `/contacts/${await idOf(phoneOf(92))}/merge`, { contact_id: ids[5] })
  await browser.ask('DELETE', `/contacts/${ids[6]}`)
  await browser.ask('PATCH', `/contacts/${await idOf(phoneOf(90))}`, { name: 'Z', attributes: { plan: 'max' } })
  const undone = await undo(done.id)
  assert.deepEqual(undone.undo, { erased: 2, restored: 1, kept: 7 })
  const kept = (await browser.ask('GET', `/imports/${done.id}/kept`)).data
  const found = kept.map(({ contact, reason, fields }: Json) => [contact.phone, reason, fields]).sort()
  assert.deepEqual(found, [
    [phoneOf(0), 'conversation', []],
    [phoneOf(1), 'note', []],
    [phoneOf(2), 'segment', []],
    [phoneOf(3), 'changed', []],
    [phoneOf(4), 'broadcast', []],
    [phoneOf(90), 'fields', ['name', 'attributes.plan']],
    [phoneOf(92), 'merged', []],
  ])
  const list = await download(`/imports/${done.id}/kept.csv`)
  assert.equal(list.trimEnd().split('\r\n').length, 1 + 7)
  assert.match(list, /fields,name attributes\.plan,/)
  const contactOf = async (phone: string) =>
    (await api.get(`/contacts?phone=${encodeURIComponent(phone)}`)).body.data[0]
  assert.deepEqual(pluck([await contactOf(phoneOf(90))], 'name', 'company', 'attributes')[0], [
    'Z',
    'Old',
    { plan: 'max' },
  ])
  assert.deepEqual(pluck([await contactOf(phoneOf(91))], 'name', 'company', 'attributes')[0], ['Restored', null, {}])
  assert.deepEqual(await Promise.all([7, 8].map((i) => contactOf(phoneOf(i)))), [undefined, undefined])
  const values = await db`
    select from contact_import_changes
    where workspace_id = ${api.workspaceId} and (before is not null or after is not null)`
  assert.equal(values.length, 0, 'no values of contacts are left')
})

test('an undo keeps a contact whose number a callback has named since', async (t) => {
  const { api, browser, provider, idOf, importFile, undo } = await withProvider(signedIn(t))
  const phoneOf = (i: number) => `+141555502${String(i).padStart(2, '0')}`
  const waOf = (i: number) => phoneOf(i).slice(1)
  const userOf = (i: number) => `US.8${String(i).padStart(6, '0')}`
  const at = () => String(Math.floor(Date.now() / 1_000))
  const post = async (field: string, value: Json) =>
    assert.equal(await provider.callback({ entry: [{ changes: [{ field, value }] }] }), 200)
  const sent = (i: number, more: Json) =>
    post('messages', {
      statuses: [{ id: `wamid.${i}`, status: 'sent', timestamp: at(), recipient_id: waOf(i), ...more }],
    })
  await provider.writes({ user_id: userOf(1), username: 'bo.b', text: 'hi' })
  const rows = Array.from({ length: 8 }, (_, i) => `${phoneOf(i)},N${i}\n`).join('')
  const done = await importFile(`phone,name\n${rows}`)
  const moved = await idOf(phoneOf(3))
  // A status names a user id with the number: a new one, and one of another contact.
  await sent(0, { recipient_user_id: userOf(0) })
  await sent(1, { recipient_user_id: userOf(1) })
  await post('user_preferences', {
    user_preferences: [{ wa_id: waOf(2), category: 'marketing_messages', value: 'stop', timestamp: at() }],
  })
  const system = { type: 'user_changed_number', wa_id: waOf(33) }
  await post('messages', {
    messages: [{ from: waOf(3), id: 'wamid.moved', timestamp: at(), type: 'system', system }],
  })
  await post('user_id_update', { user_id_update: [{ wa_id: waOf(4), user_id: { current: userOf(4) } }] })
  await post('smb_message_echoes', {
    message_echoes: [{ to: waOf(5), id: 'wamid.echo', timestamp: at(), type: 'text', text: { body: 'hi' } }],
  })
  // This one teaches nothing about the person.
  await sent(6, {})
  assert.deepEqual((await undo(done.id)).undo, { erased: 2, restored: 0, kept: 6 })
  const kept = (await browser.ask('GET', `/imports/${done.id}/kept`)).data
  assert.deepEqual(kept.map(({ contact, reason }: Json) => [contact.phone, reason]).sort(), [
    [phoneOf(0), 'identity'],
    [phoneOf(1), 'identity'],
    [phoneOf(2), 'changed'],
    [phoneOf(4), 'identity'],
    [phoneOf(5), 'conversation'],
    [phoneOf(33), 'changed'],
  ])
  assert.equal((await api.get(`/contacts/${moved}`)).body.data.phone, phoneOf(33))
  const { data: identities } = await browser.ask('GET', `/contacts?search=${encodeURIComponent(phoneOf(1))}`)
  assert.equal(identities.length, 1)
})

test('an undo waits for a callback that names the number at the same time', async (t) => {
  const { api, db, database, browser, provider, importFile, settle } = await withProvider(signedIn(t))
  const phone = '+14155550101'
  await provider.writes({ user_id: 'US.8000001', username: 'bo.b', text: 'hi' })
  const done = await importFile(`phone,name\n${phone},Ann\n+14155550102,Bob\n`)
  // As the statement that stores a report does, before its commit.
  const callback = await database.connect(1).reserve()
  await callback`begin`
  const named = await callback`
    update contact_identities set reported_number = ${phone}
    where workspace_id = ${api.workspaceId} and channel = 'msgapp' and external_id = 'US.8000001'`
  assert.equal(named.count, 1)
  await browser.ask('POST', `/imports/${done.id}/undo`)
  await untilWaiting(db)
  await callback`commit`
  callback.release()
  assert.deepEqual((await settle(done.id)).undo, { erased: 1, restored: 0, kept: 1 })
  const kept = (await browser.ask('GET', `/imports/${done.id}/kept`)).data
  assert.deepEqual(
    kept.map(({ contact, reason }: Json) => [contact.phone, reason]),
    [[phone, 'identity']],
  )
})

test('imports are undone one after the other, the last one first', async (t) => {
  const world = await signedIn(t)
  const { importFile, undo } = world
  const before = await rowsOf(world)
  const first = await importFile('phone,name,tags\n+14155550101,Ann,a\n+14155550102,Bob,\n')
  const between = await rowsOf(world)
  const second = await importFile('phone,name,tags\n+14155550101,Ann B,b\n+14155550103,Cyd,\n')
  assert.deepEqual((await undo(second.id)).undo, { erased: 1, restored: 1, kept: 0 })
  assert.deepEqual(await rowsOf(world), between)
  assert.deepEqual((await undo(first.id)).undo, { erased: 2, restored: 0, kept: 0 })
  assert.deepEqual(await rowsOf(world), before)
})

test('undoing two imports never erases a contact that a member changed after the second', async (t) => {
  const { api, browser, idOf, importFile, undo } = await signedIn(t)
  const first = await importFile('phone,name\n+14155550101,Ann\n+14155550102,Bob\n')
  const second = await importFile('phone,email\n+14155550101,ann@x\n+14155550102,bob@x\n')
  const id = await idOf('+14155550101')
  await browser.ask('PATCH', `/contacts/${id}`, { company: 'Acme' })
  assert.deepEqual((await undo(second.id)).undo, { erased: 0, restored: 2, kept: 0 })
  assert.deepEqual((await undo(first.id)).undo, { erased: 1, restored: 0, kept: 1 })
  const ann = (await api.get(`/contacts/${id}`)).body.data
  assert.deepEqual([ann.name, ann.email, ann.company], ['Ann', null, 'Acme'])
})

test('erasing a contact deletes what an import has stored about it', async (t) => {
  const { api, db, browser, idOf, importFile, undo } = await signedIn(t)
  await api.post('/contacts', { phone: '+14155550101', name: 'Ann' })
  const { id } = await importFile('phone,name\n+14155550101,Ann B\n+14155550102,Bob\n')
  for (const phone of ['+14155550101', '+14155550102']) await browser.ask('DELETE', `/contacts/${await idOf(phone)}`)
  assert.equal((await db`select from contact_import_changes where workspace_id = ${api.workspaceId}`).length, 0)
  assert.deepEqual((await undo(id)).undo, { erased: 0, restored: 0, kept: 0 })
})

test('files, rejected rows and what an undo needs are deleted when they expire', async (t) => {
  const world = await startSignedIn(t, { alone: 'sweeps the imports of all workspaces' })
  const { api, db, browser } = world
  const { accept, check, importFile } = createImporter(browser)
  const [uploaded, checked] = [await accept('phone\n1\n'), await check('phone\n1\n')]
  const done = await importFile('phone\n+14155550101\n1\n')
  const deletedFiles: string[] = []
  const store = { delete: async (id: string) => void deletedFiles.push(id) }
  const rows = async () => {
    const [count] = await db<{ imports: number; changes: number; rejects: number }[]>`
      select (select count(*)::int from contact_imports where workspace_id = ${api.workspaceId}) as imports,
        (select count(*)::int from contact_import_changes where workspace_id = ${api.workspaceId}) as changes,
        (select count(*)::int from contact_import_rejects where workspace_id = ${api.workspaceId}) as rejects`
    return [count?.imports, count?.changes, count?.rejects]
  }
  await until('the file of the import to be deleted', async () => {
    const files = await db`select from contact_imports where workspace_id = ${api.workspaceId} and has_file`
    return files.length === 2
  })
  await sweepImports({ db, store })
  assert.deepEqual([await rows(), deletedFiles], [[3, 1, 2], []])
  await db`
    update contact_imports set created_at = created_at - interval '8 days', changes_until = now()
    where workspace_id = ${api.workspaceId}`
  await sweepImports({ db, store })
  assert.deepEqual([await rows(), deletedFiles.sort()], [[1, 0, 0], [uploaded.id, checked.id].sort()])
  const kept = (await browser.ask('GET', `/imports/${done.id}`)).data
  assert.deepEqual([kept.state, kept.undo_until, countsOf(kept.result)], ['done', null, [1, 0, 0, 1]])
  assertBadRequest(await browser.call('POST', `/imports/${done.id}/undo`), /^import: /)

  const [older, newer] = [await importFile('phone\n+14155550102\n1\n'), await importFile('phone\n+14155550103\n1\n')]
  await until('their files to be deleted', async () => {
    const files = await db`select from contact_imports where workspace_id = ${api.workspaceId} and has_file`
    return files.length === 0
  })
  await sweepImports({ db, store }, { maxListed: 1_000, maxKeptRows: 2 })
  const undoable = async () => {
    const { data } = await browser.ask('GET', '/imports')
    return data.map(({ id, undo_until }: Json) => [id, undo_until !== null])
  }
  assert.deepEqual(await undoable(), [
    [newer.id, true],
    [older.id, false],
    [done.id, false],
  ])
  assert.deepEqual(await rows(), [3, 1, 1])
  await sweepImports({ db, store }, { maxListed: 2, maxKeptRows: 2 })
  assert.deepEqual(pluck((await browser.ask('GET', '/imports')).data, 'id'), [newer.id, older.id])
})
