/**
 * A campaign to many people with values of their own, followed to the last recipient.
 *
 * The broadcast is found by its name or created under an `Idempotency-Key`, and a number is added to it once. So the program
 * has no state of its own: after a crash, run it again with the same arguments. It continues where it was, and no person gets
 * a second message.
 */
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
// In your own project: from 'parley-sdk'
import { type Broadcast, Parley, ParleyError } from '../../sdk/src/index.ts'

type Person = { to: string; name: string; params: string[] }

const template = { name: 'order_confirmed', language: 'en_US' }
const batchSize = 1_000
const pollMs = 1_000
/** After the last message was accepted, delivery reports may still arrive. The program ends when none came for this time. */
const quietMs = 10_000

const [name = '', audience = '', from] = process.argv.slice(2)
if (!name || !audience) {
  console.error('usage: main.ts NAME (PEOPLE.csv | COUNT) [FROM]')
  process.exit(2)
}
const parley = new Parley({
  apiKey: process.env.PARLEY_API_KEY,
  baseUrl: process.env.PARLEY_URL ?? 'http://127.0.0.1:4000/v1',
  maxRetries: 8,
})

const people = existsSync(audience) ? readPeople(audience) : inventPeople(Number(audience))
const broadcast = await resolveBroadcast()
if (broadcast.status === 'draft') {
  await addPeople(broadcast.id)
  await startOnce(broadcast.id)
}
await follow(broadcast.id)
await printSummary(broadcast.id)

/** The broadcast of this name, or a new draft. Two runs at the same time get the same one. */
async function resolveBroadcast(): Promise<Broadcast> {
  for await (const found of parley.broadcasts.list()) if (found.name === name) return found
  const { params } = await parley.templates.get(template.name, template)
  const valueCount = params?.body?.length ?? 0
  if (people.some((person) => person.params.length !== valueCount)) {
    throw new Error(`the template ${template.name} needs ${valueCount} values per person`)
  }
  return parley.broadcasts.create({ name, template, from, draft: true }, { idempotencyKey: `campaign ${name}` })
}

/** Adds all people in batches. A batch that an earlier run has added is skipped by the service, number by number. */
async function addPeople(id: string): Promise<void> {
  for (let from = 0; from < people.length; from += batchSize) {
    const batch = people.slice(from, from + batchSize)
    const { added, skipped } = await parley.broadcasts.addRecipients(id, { recipients: batch })
    console.log(`added ${from + batch.length} of ${people.length} (${added} new)`)
    for (const { index, reason } of skipped) {
      if (!reason.includes('already')) console.log(`  not added: ${batch[index]?.to}: ${reason}`)
    }
  }
}

/** Of two runs at the same time one starts it. The other finds it started. */
async function startOnce(id: string): Promise<void> {
  try {
    await parley.broadcasts.start(id, { idempotencyKey: `start ${id}` })
    console.log('started')
  } catch (error) {
    const { status } = await parley.broadcasts.get(id)
    if (!(error instanceof ParleyError) || status === 'draft') throw error
  }
}

/** Prints the progress until every recipient has an outcome and no more reports arrive. */
async function follow(id: string): Promise<void> {
  let last = ''
  let changedAt = Date.now()
  for (;;) {
    const now = await parley.broadcasts.get(id)
    const { pending_count, sent_count, delivered_count, read_count, failed_count, skipped_count } = now
    const line = `${now.status}${now.is_paused ? ` (paused: ${now.paused_reason ?? 'by a member'})` : ''}: ${pending_count} pending, ${sent_count} sent, ${delivered_count} delivered, ${read_count} read, ${failed_count} failed, ${skipped_count} skipped`
    if (line !== last) {
      console.log(line)
      last = line
      changedAt = Date.now()
    }
    const isOver = now.completed_at !== null && pending_count === 0
    const isComplete = isOver && read_count === sent_count
    if (isComplete || (isOver && Date.now() - changedAt > quietMs)) return
    await sleep(pollMs)
  }
}

async function printSummary(id: string): Promise<void> {
  const { total_count, sent_count, delivered_count, read_count, failed_count, skipped_count } =
    await parley.broadcasts.get(id)
  console.log(`\n${total_count} recipients`)
  console.log(`  read            ${read_count}`)
  console.log(`  delivered       ${delivered_count - read_count}`)
  console.log(`  sent            ${sent_count - delivered_count}`)
  for (const [status, count] of Object.entries({ failed: failed_count, skipped: skipped_count })) {
    console.log(`  ${status.padEnd(15)} ${count}`)
    if (count > 0) await printReasons(id, status as 'failed' | 'skipped')
  }
}

async function printReasons(id: string, status: 'failed' | 'skipped'): Promise<void> {
  const byReason = new Map<string, string[]>()
  for await (const { to, reason } of parley.broadcasts.listRecipients(id, { status, limit: 100 })) {
    const numbers = byReason.get(reason ?? 'unknown') ?? []
    byReason.set(reason ?? 'unknown', [...numbers, to ?? 'erased'])
  }
  for (const [reason, numbers] of byReason) {
    const more = numbers.length > 3 ? ` and ${numbers.length - 3} more` : ''
    console.log(`    ${reason}: ${numbers.slice(0, 3).join(', ')}${more}`)
  }
}

/** Lines of `phone,name,order`, without quotes. */
function readPeople(file: string): Person[] {
  const lines = readFileSync(file, 'utf8').split(/\r?\n/).filter(Boolean)
  return lines.map((line) => {
    const [to = '', person = '', order = ''] = line.split(',').map((field) => field.trim())
    return toPerson(to, person, order)
  })
}

/** The same people in every run. */
function inventPeople(count: number): Person[] {
  if (!(count > 0)) throw new Error(`${audience}: neither a file nor a number of people`)
  return Array.from({ length: count }, (_, i) =>
    toPerson(`+1415${5_000_000 + i}`, `Customer ${i + 1}`, `A-${10_001 + i}`),
  )
}

function toPerson(to: string, person: string, order: string): Person {
  return { to, name: person, params: [person, order] }
}
