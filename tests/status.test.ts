/** `/app/api/status`: the operator sees queues, processes, the database and problems of the whole installation. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertFields, assertRefused } from './assertions.ts'
import { type Browser, createBrowser, createMember, signIn } from './browser.ts'
import { holdTransaction } from './database.ts'
import { addEndpoint, causeEvent } from './deliveries.ts'
import { startReceiver } from './receiver.ts'
import { alertsOf, namesOf, untilStatus } from './status.ts'
import { file, type Json, main, type SignedIn, startSignedIn } from './support.ts'

const queueOf = (status: Json, name: string): Json => status.queues?.find((queue: Json) => queue.name === name)

let operator: Promise<SignedIn> | undefined
/** The owner of the first workspace. The status is that of the installation, so its tests share one. */
const startOperator = () => (operator ??= startSignedIn(file, { alone: 'the first workspace of an installation' }))

test(
  'a stopped receiver raises the queue of webhooks, and a late one is named with the advice of docs/alerts.md',
  main,
  async (t) => {
    const { api, db, browser } = await startOperator()
    const before = await untilStatus(browser, 'a whole status', ({ unknown }) => unknown.length === 0)
    assert.equal(queueOf(before, 'webhooks').count, 0)
    const receiver = await startReceiver(t)
    receiver.answers(() => {})
    await addEndpoint(api, receiver.url)
    await causeEvent(api)
    await causeEvent(api)
    const waiting = await untilStatus(browser, 'two deliveries', (status) => queueOf(status, 'webhooks')?.count === 2)
    assert.ok(queueOf(waiting, 'webhooks').oldest_seconds < 300)
    assert.ok(!alertsOf(waiting).includes('ParleyWebhooksLate'))

    await db`update webhook_deliveries set created_at = now() - interval '301 seconds'`
    const late = await untilStatus(browser, 'the problem', (status) => alertsOf(status).includes('ParleyWebhooksLate'))
    const problem = late.problems.find(({ alert }: Json) => alert === 'ParleyWebhooksLate')
    assertFields(problem, { severity: 'page', summary: 'A webhook has waited for five minutes.', where: null })
    assert.match(problem.advice, /^Open the page Webhooks: .* and at the CPU\.$/)
  },
)

test('only owners of the first workspace see the status', main, async () => {
  const { workspace, url, browser } = await startOperator()
  const other = await workspace({ name: 'Other' })
  const stranger = await signIn({ url, owner: other.owner })
  const people: Record<string, Browser> = { stranger }
  for (const role of ['admin', 'agent', 'viewer'] as const) people[role] = await createMember(browser, role)
  for (const [name, person] of Object.entries(people)) {
    assertRefused(await person.call('GET', '/status'), 403, 'forbidden')
    assert.equal((await person.call('GET', '/session')).body.data.is_operator, false, name)
  }
  assertRefused(await createBrowser(url).call('GET', '/status'), 401, 'unauthorized')
  assert.equal((await browser.call('GET', '/session')).body.data.is_operator, true)
  const status = await browser.call('GET', '/status')
  assert.equal(status.status, 200)
  for (const secret of ['Other', other.api.workspaceId, other.owner.email]) assert.ok(!status.text.includes(secret))
})

test('a part that cannot be read is unknown with the reason, and the others are shown', async () => {
  const { db, browser } = await startOperator()
  const release = await holdTransaction(db, 'lock table contact_merges in access exclusive mode')
  const partial = await untilStatus(
    browser,
    'an unknown part, and the others',
    ({ queues, processes, database }) => queues === null && processes && database,
  )
  assert.equal(partial.queues, null)
  const queues = partial.unknown.find(({ part }: Json) => part === 'queues')
  assert.match(queues?.reason, /timeout|no answer/)
  assert.ok(partial.processes.length > 0 && partial.database.size_bytes > 0)
  await release()
  await untilStatus(browser, 'all parts', ({ unknown, queues }) => unknown.length === 0 && queues !== null)
})

test('each process gives the same answer about all of them', async () => {
  const world = await startOperator()
  const twin = await world.twin()
  for (const url of [world.url, twin]) {
    const browser = await signIn({ url, owner: world.owner })
    await untilStatus(browser, 'both', (status) => namesOf(status).join() === 'process-1,process-2')
  }
})
