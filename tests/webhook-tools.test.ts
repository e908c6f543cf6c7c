/** Webhook tools of the public API: rotation of the secret with an overlap, the list of deliveries, redelivery. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { signatureOf } from '../common/webhook-request.ts'
import { verifyWebhook } from '../receivers/verify.ts'
import { assertFields, assertRefused, assertStatus, dataOf, pluck } from './assertions.ts'
import { addEndpoint, causeEvent, queueEvents, waitForAttempts } from './deliveries.ts'
import { sweepOldSecrets } from './internals.ts'
import { type Received, startReceiver } from './receiver.ts'
import { type Api, assertBadRequest, type Json, main, signIn, start, until } from './support.ts'

async function rotate(api: Api, id: string, body: Json = {}): Promise<string> {
  const answer = dataOf(await api.post(`/webhooks/${id}/rotate-secret`, body))
  assert.match(answer.secret, /^whsec_[0-9A-Za-z]{43}$/)
  return answer.secret
}

/** Which of the secrets signed a request, in the order of its header. Fails if one of its signatures is of another secret. */
function signersOf(received: Received | undefined, secrets: Record<string, string>): string[] {
  const header = String(received?.headers['x-service-signature'])
  assert.equal(received?.headers['x-legacy-signature'], header)
  const [t = '', ...signatures] = header.split(',')
  return signatures.map((signature) => {
    const isMine = ([, secret]: [string, string]) =>
      signature === `v1=${signatureOf(secret, Number(t.slice(2)), received?.raw ?? '')}`
    return Object.entries(secrets).find(isMine)?.[0] ?? assert.fail(header)
  })
}

test('during the overlap of a rotation both secrets sign, afterwards only the new one', main, async (t) => {
  const { api, db } = await start(t)
  const receiver = await startReceiver(t)
  const { id, secret: first } = await addEndpoint(api, receiver.url)
  const before = (await api.get(`/webhooks/${id}`)).body.data
  const second = await rotate(api, id, { overlap_hours: 24 })
  const secrets: Record<string, string> = { first, second }
  const next = async () => {
    const count = receiver.received.length
    await causeEvent(api)
    return (await receiver.until(count + 1)).at(-1)
  }

  const both = await next()
  assert.deepEqual(signersOf(both, secrets), ['first', 'second'])
  const header = both?.headers['x-service-signature']
  for (const secret of [first, second]) assert.ok(verifyWebhook(secret, header, Buffer.from(both?.raw ?? '')))
  const { last_delivery_at: _, ...shown } = (await api.get(`/webhooks/${id}`)).body.data
  assert.deepEqual({ ...shown, last_delivery_at: null }, before, 'a rotation changes nothing else')

  // Twice in a row: the overlap of the first rotation is kept.
  secrets.third = await rotate(api, id, { overlap_hours: 1 })
  assert.deepEqual(signersOf(await next(), secrets), ['first', 'second', 'third'])
  await db`update webhook_endpoints set old_secrets_until[2] = now() where id = ${id}`
  assert.deepEqual(signersOf(await next(), secrets), ['first', 'third'])
  await sweepOldSecrets(db)
  const [swept] = await db`
    select cardinality(old_secrets) as count, old_secrets_until from webhook_endpoints where id = ${id}`
  assert.equal(swept?.count, 1)
  assert.deepEqual(signersOf(await next(), secrets), ['first', 'third'])

  // Without an overlap, all earlier secrets stop at once.
  secrets.fourth = await rotate(api, id)
  assert.deepEqual(signersOf(await next(), secrets), ['fourth'])
  const [row] = await db`select old_secrets, old_secrets_until from webhook_endpoints where id = ${id}`
  assert.deepEqual({ ...row }, { old_secrets: null, old_secrets_until: null })
  const rows = JSON.stringify(await db`select e::text from webhook_endpoints e where id = ${id}`)
  for (const secret of Object.values(secrets)) assert.ok(!rows.includes(secret.slice(6)))
})

test('at most four earlier secrets overlap, also when rotations run at the same time', async (t) => {
  const { api, db } = await start(t)
  const { id } = await addEndpoint(api, 'https://127.0.0.1:9/')
  const path = `/webhooks/${id}/rotate-secret`
  const answers = await Promise.all(Array.from({ length: 8 }, () => api.post(path, { overlap_hours: 72 })))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 200, 400, 400, 400, 400])
  for (const answer of answers.filter(({ status }) => status === 400))
    assertBadRequest(answer, /^overlap_hours: 4 earlier secrets/)
  await rotate(api, id, { overlap_hours: 0 })
  await rotate(api, id, { overlap_hours: 72 })
  const [row] = await db`select cardinality(old_secrets) as count from webhook_endpoints where id = ${id}`
  assert.equal(row?.count, 1)
})

test('a rotation validates its overlap, needs the scope, and is replayed under its Idempotency-Key', async (t) => {
  const { api, workspace } = await start(t)
  const { api: stranger } = await workspace()
  const { id, secret } = await addEndpoint(api, 'https://127.0.0.1:9/')
  const path = `/webhooks/${id}/rotate-secret`
  for (const overlap_hours of [-1, 73, 1.5, '24', true, [], {}])
    assertBadRequest(await api.post(path, { overlap_hours }), /^overlap_hours: /)
  assertRefused(await stranger.post(path, {}), 404, 'not_found', 'webhook not found')
  assertBadRequest(await api.post(path))
  assertRefused(await api.post('/webhooks/nonsense/rotate-secret', {}), 404, 'not_found')
  assertRefused(await api.post(path, {}, { key: await api.key('messages:send') }), 403, 'forbidden')
  const headers = { 'idempotency-key': randomUUID() }
  const first = await api.post(path, { overlap_hours: null }, { headers })
  const again = await api.post(path, { overlap_hours: null }, { headers })
  assert.equal(first.status, 200, first.text)
  assert.equal(again.text, first.text)
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  assert.notEqual(first.body.data.secret, secret)
})

test('rotations beside deliveries in flight lose no event, and every request is signed with a valid secret', async (t) => {
  const { api, db } = await start(t)
  const receiver = await startReceiver(t)
  const { id, secret } = await addEndpoint(api, receiver.url)
  const secrets = [secret]
  await queueEvents(
    db,
    api.workspaceId,
    [id],
    Array.from({ length: 400 }, (_, i) => JSON.stringify({ id: `${i}`, event: 'contact.created', data: {} })),
  )
  for (let i = 0; i < 4; i++) {
    await receiver.until(50 * (i + 1))
    secrets.push(await rotate(api, id, { overlap_hours: 1 }))
  }
  await until('all of them', async () => new Set(receiver.received.map(({ raw }) => raw)).size === 400)
  const { received } = receiver
  for (const { headers, raw } of received)
    assert.ok(secrets.some((each) => verifyWebhook(each, headers['x-service-signature'], Buffer.from(raw))))
  // A receiver that still has the first secret accepts all of them.
  for (const { headers, raw } of received)
    assert.ok(verifyWebhook(secret, headers['x-service-signature'], Buffer.from(raw)))
})

test('an earlier secret that the encryption key does not open is skipped', async (t) => {
  const { api, db } = await start(t)
  const receiver = await startReceiver(t)
  const { id } = await addEndpoint(api, receiver.url)
  await db`update webhook_endpoints set secret = 'v2.' || repeat('A', 80) where id = ${id}`
  const current = await rotate(api, id, { overlap_hours: 24 })
  await causeEvent(api)
  assert.deepEqual(signersOf((await receiver.until(1))[0], { current }), ['current'])
})

test('deliveries are listed in pages with their attempts, and sent again', async (t) => {
  const { api, db, workspace } = await start(t)
  const { api: stranger } = await workspace()
  const receiver = await startReceiver(t)
  const { id } = await addEndpoint(api, receiver.url)
  const { id: otherId } = await addEndpoint(api, 'https://127.0.0.1:9/')
  receiver.answers((response) => response.writeHead(200).end('thanks'))
  for (let i = 0; i < 5; i++) await causeEvent(api)
  await waitForAttempts(db, id, 5)
  const path = `/webhooks/${id}/deliveries`
  const listed = await until('five deliveries', async () => {
    const { data } = (await api.get(`${path}?status=delivered`)).body
    return data.length === 5 && data
  })
  const pages: Json[][] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Json = (await api.get(`${path}?limit=2&cursor=${cursor}`)).body
    pages.push(page.data)
    cursor = page.meta.next_cursor
  }
  assert.deepEqual(pluck(pages, 'length'), [2, 2, 1])
  assert.deepEqual(pages.flat(), listed)
  const [delivery] = listed
  assertFields(delivery, { event: 'contact.created', status: 'delivered', attempt_count: 1, next_attempt_at: null })
  const { duration_ms, at, ...attempt } = delivery.attempts[0]
  assert.ok(Number.isInteger(duration_ms) && Math.abs(Date.parse(at) - Date.now()) < 60_000)
  assert.deepEqual(attempt, { attempt: 1, status: 'delivered', http_status: 200, error: null, response: 'thanks' })

  const again = dataOf(await api.post(`${path}/${delivery.id}/redeliver`), 202)
  assert.deepEqual([again.event_id, again.status], [delivery.event_id, 'pending'])
  const [, , , , , repeated] = await receiver.until(6)
  assert.equal(repeated?.body.id, delivery.event_id)

  assertBadRequest(await api.get(`${path}?status=lost`), /^status: /)
  for (const [who, wrong] of [
    [api, `/webhooks/${otherId}/deliveries/${delivery.id}/redeliver`],
    [api, `${path}/${randomUUID()}/redeliver`],
    [api, `${path}/nonsense/redeliver`],
    [api, `/webhooks/${randomUUID()}/deliveries/${delivery.id}/redeliver`],
    [stranger, `${path}/${delivery.id}/redeliver`],
  ] as const)
    assertRefused(await who.post(wrong), 404, 'not_found')
  assertRefused(await stranger.get(path), 404, 'not_found')
  const key = await api.key('contacts:read')
  assertRefused(await api.get(path, { key }), 403, 'forbidden', /webhooks:manage/)
  await api.patch(`/webhooks/${id}`, { is_active: false })
  assertBadRequest(await api.post(`${path}/${delivery.id}/redeliver`), /not active/)
})

test('owners and admins rotate a secret in the dashboard, and the audit log has no secret', async (t) => {
  const { api, url, owner } = await start(t)
  const { id } = await addEndpoint(api, 'https://127.0.0.1:9/in')
  const browser = await signIn({ url, owner })
  assertStatus(await browser.call('POST', `/webhooks/${id}/rotate-secret`, { overlap_hours: 24 }), 200)
  const [shown] = (await browser.call('GET', '/webhooks')).body.data
  assert.ok(Math.abs(Date.parse(shown.old_secret_until) - Date.now() - 86_400_000) < 60_000)
  const { data } = (await browser.call('GET', '/audit')).body
  const entry = [data[0].action, data[0].summary]
  assert.deepEqual(entry, ['webhook.secret_rotated', '127.0.0.1:9, overlap_hours: 24'], JSON.stringify(data[0]))
})
