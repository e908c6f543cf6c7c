/** The events that members read: what was emitted, and to which endpoints it was delivered. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBadRequest, assertRefused, pluck } from './assertions.ts'
import { addEndpoint, queueEvents } from './deliveries.ts'
import { startReceiver } from './receiver.ts'
import { type Json, main, signIn, startSignedIn, until, withProvider } from './support.ts'

test(
  'events are listed newest first with their deliveries, and found by name, id, phone and event id',
  main,
  async (t) => {
    const { api, url, ask, get, browser, workspace, provider } = await withProvider(startSignedIn(t))
    const [good, bad] = [await startReceiver(t), await startReceiver(t)]
    bad.answers(404)
    const all = ['contact.created', 'message.received']
    const { data: goodEndpoint } = (await api.post('/webhooks', { url: good.url, events: all })).body
    const failing = await addEndpoint(api, bad.url)
    const contact = (await api.post('/contacts', { phone: '+14155550123', name: 'Zoë "Z" Adams' })).body.data
    await provider.writes({ from: '+14155550188', text: 'Where is my order?' })
    const list = async (query = ''): Promise<Json[]> => (await ask('GET', `/events${query}`)).data
    const settled = await until('the outcomes', async () => {
      const events = await list()
      const statuses = events.flatMap(({ deliveries }) => deliveries.map(({ status }: Json) => status))
      return statuses.length === 5 && !statuses.includes('pending') && events
    })
    assert.deepEqual(pluck(settled, 'event'), ['message.received', 'contact.created', 'contact.created'])
    const [received, , created] = settled
    assert.equal(created?.subject_id, contact.id)
    const [conversation] = (await api.get('/conversations')).body.data
    const [message] = (await api.get(`/conversations/${conversation.id}/messages`)).body.data
    assert.equal(received?.subject_id, message.id)
    const byEndpoint = Object.fromEntries(
      created?.deliveries.map(({ endpoint, status }: Json) => [endpoint.id, [endpoint.url, status]]),
    )
    assert.deepEqual(byEndpoint, { [goodEndpoint.id]: [good.url, 'delivered'], [failing.id]: [bad.url, 'failed'] })

    const ids = async (query: string) => (await list(query)).map(({ id }) => id)
    assert.deepEqual(await ids('?event=message.received'), [received?.id])
    for (const search of [contact.id, '+14155550123', 'Zoë "Z" Adams', created?.id]) {
      assert.deepEqual(await ids(`?search=${encodeURIComponent(search)}`), [created?.id], search)
    }
    assert.deepEqual(await ids(`?search=${contact.id}&event=message.received`), [])
    const first = await ask('GET', '/events?limit=2')
    assert.deepEqual(await ids(`?limit=2&cursor=${first.meta.next_cursor}`), [created?.id])
    assertBadRequest(await browser.call('GET', '/events?event=nothing'))

    const whole = await get(`/events/${created?.id}`)
    assert.equal(JSON.parse(whole.body).data.contact_id, contact.id)
    const failed = whole.deliveries.find(({ endpoint }: Json) => endpoint.id === failing.id)
    assert.deepEqual([failed.event, failed.attempts[0].http_status], ['contact.created', 404])
    bad.answers(200)
    await ask('POST', `/deliveries/${failed.id}/redeliver`, undefined, 201)
    await until('the second delivery', async () => {
      const { deliveries } = await get(`/events/${created?.id}`)
      return deliveries.length === 3 && deliveries.every(({ status }: Json) => status !== 'pending')
    })
    const [, , resent] = await list()
    // The list has the newest delivery to each endpoint.
    assert.deepEqual(resent?.deliveries.map(({ status }: Json) => status).sort(), ['delivered', 'delivered'])

    const { owner } = await workspace()
    const stranger = await signIn({ url, owner })
    assertRefused(await stranger.call('GET', `/events/${created?.id}`), 404, 'not_found')
    for (const query of ['', `?search=${contact.id}`, `?search=${created?.id}`]) {
      assert.deepEqual((await stranger.call('GET', `/events${query}`)).body.data, [], query)
    }
    assertRefused(await stranger.call('GET', '/events/x'), 404, 'not_found')
  },
)

test('a delivery before its first attempt is shown as pending', async (t) => {
  const { api, db, ask, get } = await startSignedIn(t)
  const receiver = await startReceiver(t)
  const endpoint = await addEndpoint(api, receiver.url)
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  t.after(() => release())
  receiver.answers((response) => void held.then(() => response.writeHead(200).end()))
  const [id] = await queueEvents(db, api.workspaceId, [endpoint.id], ['{"data":{"contact_id":"c"}}'])
  const [event] = (await ask('GET', '/events')).data
  const [delivery] = event.deliveries
  assert.deepEqual([event.id, delivery.status, delivery.endpoint.id], [id, 'pending', endpoint.id])
  release()
  await until('the delivery', async () => {
    const { deliveries } = await get(`/events/${id}`)
    return deliveries.length === 1 && deliveries[0].status === 'delivered'
  })
})
