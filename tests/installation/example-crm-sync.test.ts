/** `examples/crm-sync`: both sides change while it is killed again and again, and no change and no contact is lost or doubled. */
import assert from 'node:assert/strict'
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { runExample } from '../example.ts'
import { createFolder } from '../folder.ts'
import { type Json, start } from '../support.ts'

const phoneOf = (n: number) => `+1415${5_550_000 + n}`

test('both sides change while it is killed, and in the end they are equal', async (t) => {
  const world = await start(t)
  const { api } = world
  const folder = createFolder(t)
  const run = async (...args: string[]) => {
    const key = await api.key('contacts:read', 'contacts:write', 'webhooks:manage')
    return runExample(t, world, { name: 'crm-sync', key, args: [folder, ...args] })
  }
  const crmFile = join(folder, 'crm.jsonl')
  const write = (changes: [phone: string, fields: object][]) =>
    appendFileSync(crmFile, changes.map(([phone, fields]) => `${JSON.stringify({ phone, fields })}\n`).join(''))
  const readCrm = () => {
    const records = new Map<string, Json>()
    for (const line of readFileSync(crmFile, 'utf8').split('\n')) {
      if (!line.startsWith('{') || !line.endsWith('}')) continue
      const { phone, fields } = JSON.parse(line)
      records.set(phone, { ...records.get(phone), ...fields })
    }
    return records
  }
  const createInParley = async (n: number, fields: object) => {
    const answer = await api.post('/contacts', { phone: phoneOf(n), ...fields, if_exists: 'update' })
    assert.ok(answer.status < 300, answer.text)
  }

  // The people 0 to 299 are in the CRM, 200 to 239 in Parley, and a few have another spelling in the CRM.
  write(Array.from({ length: 300 }, (_, n) => [phoneOf(n), { name: `CRM ${n}`, plan: 'free' }]))
  write([['(415) 555-9990', { name: 'Spelled' }]])
  for (let n = 200; n < 240; n++) await createInParley(n, { email: `p${n}@example.com` })

  // The CRM changes the company, Parley the e-mail address, both create people, and each write is counted.
  const expected = { company: new Map<string, string>(), email: new Map<string, string>() }
  let isOver = false
  let writes = 0
  const crmWriter = async () => {
    for (; !isOver; writes++) {
      const n = (writes * 37) % 320
      expected.company.set(phoneOf(n), `Company ${writes}`)
      write([[phoneOf(n), { company: `Company ${writes}` }]])
      await sleep(7)
    }
  }
  const parleyWriter = async () => {
    for (let i = 0; !isOver; i++) {
      const n = 150 + ((i * 41) % 220)
      await createInParley(n, { email: `e${i}@example.com` })
      expected.email.set(phoneOf(n), `e${i}@example.com`)
    }
  }
  const writers = [crmWriter(), parleyWriter()]
  for (let round = 0; round < 8; round++) {
    const example = await run()
    // At a different point of its work each time: while it loads, sends, reads pages or writes the journal.
    if (round % 2 === 0) await example.prints('following')
    await sleep(round * 60)
    assert.equal(await example.kill(), null, example.output())
  }
  isOver = true
  await Promise.all(writers)
  const last = await run('--once')
  assert.equal(await last.ended, 0, last.output())
  assert.match(last.output(), /in sync: \d+ records/)

  const crm = readCrm()
  const contacts: Json[] = []
  for (let cursor = ''; ; ) {
    const { data, meta } = (await api.get(`/contacts?limit=100${cursor}`)).body
    contacts.push(...data)
    if (meta.next_cursor === null) break
    cursor = `&cursor=${meta.next_cursor}`
  }
  assert.equal(contacts.length, crm.size, 'each person is once in Parley and once in the CRM')
  for (const { phone, name, email, company, attributes } of contacts) {
    const record = crm.get(phone === '+14155559990' ? '(415) 555-9990' : phone)
    const shown = [name, email, company, attributes.plan ?? null]
    const { name: itsName = null, email: itsEmail = null, company: itsCompany = null, plan = null } = record ?? {}
    assert.deepEqual(shown, [itsName, itsEmail, itsCompany, plan], phone)
    if (expected.company.has(phone)) assert.equal(company, expected.company.get(phone), phone)
    if (expected.email.has(phone)) assert.equal(email, expected.email.get(phone), phone)
  }

  const lines = readFileSync(crmFile, 'utf8').length
  const again = await run('--once')
  assert.equal(await again.ended, 0, again.output())
  assert.equal(readFileSync(crmFile, 'utf8').length, lines, 'nothing is left to copy')
})
