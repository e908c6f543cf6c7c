/**
 * Keeps the contacts of Parley and of a CRM equal, in both directions.
 *
 * `crm.jsonl` stands for the CRM: a list of changes, one JSON object per line, `{ phone, fields }`. Anyone may append lines. This
 * program sends them to Parley in batches and appends the changes that it reads from Parley, with `by: "parley"`.
 *
 * For each person it knows the fields that Parley had last (`parleyHas`). A field that differs from them was changed on that side,
 * so changes of different fields on both sides are all kept. If both sides change the same field, the CRM wins.
 *
 * It may be killed at any moment. `journal.jsonl` has every batch before it is sent: after a restart the same bytes go out under the
 * same `Idempotency-Key`, so an old batch never overwrites a newer change. A line `by: "parley"` shows what Parley had, so a page that
 * is read again changes nothing.
 */
import { randomUUID } from 'node:crypto'
import { appendFileSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
// In your own project: from 'parley-sdk'
import { type ChangePosition, type Contact, type NewContact, Parley, ParleyError } from '../../sdk/src/index.ts'

const fieldNames = ['name', 'email', 'company', 'plan'] as const
type Fields = Record<(typeof fieldNames)[number], string | null>
type Change = { phone: string; fields: Partial<Fields> }
/** Lines of this program have the id of the contact, and in `parley` all its fields in Parley at that time. */
type CrmLine = Change & { by?: 'parley'; id?: string; parley?: Fields }
type Batch = { key: string; crm_offset: number; changes: Change[] }
type Result = { phone: string; id: string | undefined; created: boolean }
type Entry =
  | ({ kind: 'batch' } & Batch)
  | { kind: 'sent'; key: string; results: Result[] }
  | { kind: 'position'; position: ChangePosition }

const nothing: Fields = { name: null, email: null, company: null, plan: null }
const batchSize = 1_000
const pollMs = 2_000
const minPauseMs = 1_000

const [folder = 'crm-data', mode] = process.argv.slice(2)
const crmFile = join(folder, 'crm.jsonl')
const journalFile = join(folder, 'journal.jsonl')
mkdirSync(folder, { recursive: true })
const parley = new Parley({
  apiKey: process.env.PARLEY_API_KEY,
  baseUrl: process.env.PARLEY_URL ?? 'http://127.0.0.1:4000/v1',
  maxRetries: 8,
})

/** The records of the CRM and the contacts of Parley as last seen, by the phone number in the CRM. */
const crm = new Map<string, Fields>()
const parleyHas = new Map<string, Fields>()
/** The number of a contact in the CRM: it may be spelled differently there. */
const phoneOfId = new Map<string, string>()
/** Records whose fields may differ from Parley. */
const changed = new Set<string>()
let crmOffset = 0
let position: ChangePosition = { updated_after: '2000-01-01T00:00:00Z' }
/** A batch that Parley may not have received. */
let unsent: Batch | undefined
let wake = () => {}

load()
console.log(`following ${crmFile}: ${crm.size} records`)
if (mode !== '--once') void followEvents()
for (;;) {
  const woken = new Promise<void>((resolve) => {
    wake = resolve
  })
  try {
    const sent = await push()
    const received = await pull()
    if (sent + received > 0) console.log(`sent ${sent}, received ${received}`)
    if (mode === '--once' && sent + received === 0) break
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error
    console.error(`trying again: ${error.message}`)
  }
  // A pause between two rounds: a key may make 120 requests per minute.
  if (mode !== '--once') await Promise.all([sleep(minPauseMs), Promise.race([woken, sleep(pollMs)])])
}
console.log(`in sync: ${crm.size} records`)

/** Sends the changes of the CRM. Returns how many records were sent. */
async function push(): Promise<number> {
  if (unsent) await sendBatch(unsent)
  readCrm()
  let count = 0
  while (changed.size > 0) {
    const phones = [...changed].slice(0, batchSize)
    const changes = phones.flatMap((phone) => {
      const fields = differences(crm.get(phone) ?? nothing, parleyHas.get(phone) ?? nothing)
      const isUnknown = !parleyHas.has(phone)
      return isUnknown || Object.keys(fields).length > 0 ? [{ phone, fields }] : []
    })
    for (const phone of phones) changed.delete(phone)
    if (changes.length === 0) continue
    unsent = { key: randomUUID(), crm_offset: crmOffset, changes }
    record({ kind: 'batch', ...unsent })
    await sendBatch(unsent)
    count += changes.length
  }
  return count
}

async function sendBatch({ key, changes }: Batch): Promise<void> {
  const contacts = changes.map(toContact)
  const results = await parley.contacts.createBatch({ contacts }, { idempotencyKey: key })
  for (const { index, error } of results) if (error) console.error(`${changes[index]?.phone}: ${error.message}`)
  const sent = results.map(({ index, id, created }) => ({
    phone: changes[index]?.phone ?? '',
    id,
    created: created ?? false,
  }))
  record({ kind: 'sent', key, results: sent })
  applySent(changes, sent)
  unsent = undefined
}

/** Appends the changes of Parley to the CRM. Returns how many records changed. */
async function pull(): Promise<number> {
  let count = 0
  for await (const page of parley.contacts.changes(position, { limit: 100 })) {
    readCrm()
    const lines = page.data.flatMap((contact): CrmLine[] => {
      const phone = phoneOfId.get(contact.id) ?? contact.phone
      if (phone === null) return []
      const fields = fieldsOf(contact)
      const before = parleyHas.get(phone) ?? nothing
      const record = crm.get(phone)
      const mine = differences(record ?? nothing, before)
      const theirs = Object.entries(differences(fields, before)).filter(([name]) => !(name in mine))
      const isNews = !record || !parleyHas.has(phone) || Object.keys(differences(fields, before)).length > 0
      return isNews ? [{ phone, fields: Object.fromEntries(theirs), by: 'parley', id: contact.id, parley: fields }] : []
    })
    if (lines.length > 0) append(crmFile, lines)
    readCrm()
    position = page.position
    record({ kind: 'position', position })
    count += lines.length
  }
  return count
}

/** New contacts are copied at once. Other changes wait for the next poll. */
async function followEvents(): Promise<void> {
  try {
    for await (const _ of parley.events.stream({ events: ['contact.created'] })) wake()
  } catch (error) {
    console.error(`no events, polling only: ${error}`)
  }
}

function toContact({ phone, fields: { plan, ...texts } }: Change): NewContact {
  return { phone, ...texts, ...(plan === undefined ? {} : { attributes: { plan } }), if_exists: 'update' }
}

function fieldsOf({ name, email, company, attributes: { plan } }: Contact): Fields {
  return { name, email, company, plan: plan === undefined ? null : String(plan) }
}

function differences(fields: Fields, others: Fields): Partial<Fields> {
  return Object.fromEntries(
    fieldNames.filter((name) => fields[name] !== others[name]).map((name) => [name, fields[name]]),
  )
}

/** Reads the files of an earlier run. */
function load(): void {
  const batches: Batch[] = []
  const sent = new Map<string, Result[]>()
  for (const file of [crmFile, journalFile]) endLastLine(file)
  for (const entry of parseLines<Entry>(existsSync(journalFile) ? readFileSync(journalFile, 'utf8') : '')) {
    if (entry.kind === 'batch') batches.push(entry)
    else if (entry.kind === 'sent') sent.set(entry.key, entry.results)
    else position = entry.position
  }
  // A batch was sent after the lines before its offset and before the lines behind it.
  for (const { key, crm_offset, changes } of batches) {
    readCrm(crm_offset)
    applySent(changes, sent.get(key) ?? [])
  }
  readCrm()
  for (const phone of crm.keys()) changed.add(phone)
  const last = batches.at(-1)
  if (last && !sent.has(last.key)) unsent = last
}

/** Parley has these fields now. A record that it created again, because the contact was erased, is sent whole. */
function applySent(changes: readonly Change[], results: readonly Result[]): void {
  const outcomes = new Map(results.map((result) => [result.phone, result]))
  for (const { phone, fields } of changes) {
    const outcome = outcomes.get(phone)
    if (!outcome) continue
    if (outcome.id) phoneOfId.set(outcome.id, phone)
    if (outcome.created && parleyHas.has(phone)) changed.add(phone)
    parleyHas.set(phone, { ...((outcome.created ? undefined : parleyHas.get(phone)) ?? nothing), ...fields })
  }
}

/** Reads the lines that were appended to the CRM, up to an offset. */
function readCrm(end = Number.POSITIVE_INFINITY): void {
  if (!existsSync(crmFile)) return
  const file = openSync(crmFile, 'r')
  const bytes = Buffer.alloc(4 * 1024 * 1024)
  for (;;) {
    const length = readSync(file, bytes, 0, Math.min(bytes.length, end - crmOffset), crmOffset)
    const whole = bytes.subarray(0, bytes.subarray(0, length).lastIndexOf(10) + 1)
    if (whole.length === 0) break
    crmOffset += whole.length
    for (const line of parseLines<CrmLine>(whole.toString())) {
      if (typeof line.phone !== 'string') continue
      crm.set(line.phone, { ...(crm.get(line.phone) ?? nothing), ...line.fields })
      if (line.id) phoneOfId.set(line.id, line.phone)
      if (line.parley) parleyHas.set(line.phone, line.parley)
      changed.add(line.phone)
    }
  }
  closeSync(file)
}

function record(entry: Entry): void {
  append(journalFile, [entry])
}

function append(file: string, lines: readonly object[]): void {
  appendFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
}

/** An interrupted write may have left half a line: it is ended, and ignored when it is read. */
function endLastLine(file: string): void {
  if (existsSync(file) && !/(^|\n)$/.test(readFileSync(file, 'utf8').slice(-1))) appendFileSync(file, '\n')
}

function parseLines<Line>(text: string): Line[] {
  return text.split('\n').flatMap((line) => {
    try {
      return line ? [JSON.parse(line) as Line] : []
    } catch {
      return []
    }
  })
}
