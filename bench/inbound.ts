/**
 * Provider callbacks: customers' messages and status reports, signed and escaped like the provider's. They are built before
 * the measurement, so that the load generator needs little CPU.
 */
import { createHmac } from 'node:crypto'
import type { Connection } from '../server/channels/channel.ts'
import { createWamid, userIdOf, wireJson } from '../simulator/wire/ids.ts'
import type { Figure } from './figure.ts'
import type { Measured } from './load.ts'
import { phoneOf } from './people.ts'
import { connectTo, discard, measureLoad, type Service, startService, startSimulator, toRequest } from './service.ts'

const people = 10_000
const perCallback = 100
const callbacks = 1_000
const connections = 8
const seconds = 60

export async function benchInbound(): Promise<Figure[]> {
  const service = await startService()
  const simulator = await startSimulator()
  const connection = await connectTo(simulator.url, service)
  // The benchmark needs only the account.
  await simulator.stop()
  const before = await countMessages(service)
  const write = (count: number, size: number) =>
    Array.from({ length: count }, (_, i) => writtenBy(connection, range(i * size, size)))
  const post = async (bodies: string[], size: number, connections: number) => {
    const measured = await measureLoad({
      port: service.port,
      requests: bodies.map((body) => sign(connection, body)),
      once: true,
      connections,
      seconds,
      warmUpSeconds: 0,
    })
    if (measured.failures > 0) throw new Error(`${measured.failures} callbacks were not answered with 200`)
    return { ...measured, perSecond: measured.perSecond * size }
  }
  const first = await post(write(people / perCallback, perCallback), perCallback, connections)
  const known = await post(write(callbacks, perCallback), perCallback, connections)
  await requireStored(service, before + people + callbacks * perCallback)
  const lone = await post(write(500, 1), 1, 1)

  const ids = await insertSent(service, 300 * perCallback)
  const reports = (['sent', 'delivered', 'read'] as const).flatMap((status) =>
    Array.from({ length: 300 }, (_, i) =>
      reportOf(connection, status, ids.slice(i * perCallback, (i + 1) * perCallback)),
    ),
  )
  const statuses = await post(reports, perCallback, connections)
  await service.stop()
  discard(service)
  return [
    {
      what: `inbound, ${connections} connections, callbacks of ${perCallback} messages, known contacts`,
      value: known.perSecond,
      unit: 'messages/s',
      goal: { atLeast: 8_000 },
      note: waits(known),
    },
    {
      what: 'the same, new contacts',
      value: first.perSecond,
      unit: 'messages/s',
      note: waits(first),
    },
    {
      what: 'a single callback with one message, p50',
      value: lone.p50,
      unit: 'ms',
      goal: { below: 10 },
      note: `p99 ${lone.p99.toFixed(1)} ms`,
    },
    {
      what: `status reports, ${connections} connections, callbacks of ${perCallback}`,
      value: statuses.perSecond,
      unit: 'reports/s',
      note: waits(statuses),
    },
  ]
}

const waits = ({ p50, p99 }: Measured): string => `a callback p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, i) => (from + i) % people)

function writtenBy(connection: Connection, writers: number[]): string {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const named = writers.map((i) => {
    const wa_id = phoneOf(i).slice(1)
    return { wa_id, user_id: userIdOf(connection.account_id, wa_id), profile: { name: `Zoë Number ${i}` } }
  })
  return callback(connection, {
    contacts: named.map(({ profile, wa_id, user_id }) => ({ profile, wa_id, user_id })),
    messages: named.map(({ wa_id, user_id }) => ({
      from: wa_id,
      from_user_id: user_id,
      id: createWamid(wa_id, 'customer'),
      timestamp,
      type: 'text',
      text: { body: 'Is it still on its way? I’ll be home until six.' },
    })),
  })
}

type Sent = { external_id: string; phone: string }

function reportOf(connection: Connection, status: string, sent: Sent[]): string {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const pricing = { billable: true, pricing_model: 'PMP', type: 'regular', category: 'utility' }
  const named = sent.map(({ phone, external_id: id }) => {
    const wa_id = phone.slice(1)
    return { id, wa_id, user_id: userIdOf(connection.account_id, wa_id) }
  })
  return callback(connection, {
    contacts: named.map(({ wa_id, user_id }) => ({ wa_id, user_id })),
    statuses: named.map(({ id, wa_id, user_id }) => ({
      id,
      status,
      timestamp,
      recipient_id: wa_id,
      recipient_user_id: user_id,
      ...(status === 'sent' ? { pricing } : {}),
    })),
  })
}

function callback({ account_id: id, phone_number_id }: Connection, what: Record<string, unknown>): string {
  const metadata = { display_phone_number: `1555${phone_number_id.slice(-7)}`, phone_number_id }
  const value = { messaging_product: 'whatsapp', metadata, ...what }
  return wireJson({ object: 'whatsapp_business_account', entry: [{ id, changes: [{ value, field: 'messages' }] }] })
}

function sign({ id, channel, app_secret }: Connection, body: string): string {
  const signature = createHmac('sha256', app_secret).update(body).digest('hex')
  return toRequest({
    path: `/channels/${channel}/${id}`,
    headers: { 'X-Hub-Signature-256': `sha256=${signature}` },
    body,
  })
}

async function countMessages({ db, workspaceId }: Service): Promise<number> {
  const [counted] = await db<{ n: number }[]>`
    select count(*)::int as n from messages where workspace_id = ${workspaceId}`
  return counted?.n ?? 0
}

async function requireStored(service: Service, count: number): Promise<void> {
  const kept = await countMessages(service)
  if (kept !== count) throw new Error(`${kept} of ${count} messages were stored`)
}

/** Inserts outbound messages that the channel accepted, spread over all contacts. */
async function insertSent({ db, workspaceId }: Service, count: number): Promise<Sent[]> {
  await db`
    insert into messages (workspace_id, conversation_id, id, direction, sender_type, content_type, content_text,
      template_name, external_id, status, created_at)
    select ${workspaceId}, v.id, uuidv7(), 'outbound', 'agent', 'template', 'Hi Ada Abbott, your order A-10042 is on its way.',
      'order_confirmed', 'wamid.HBgLMTQxNTI' || upper(md5(v.id::text || i)), 'sent', now()
    from generate_series(1, ${count / people}::int) as i
    -- Excludes the contacts of the demo's history.
    cross join (
      select v.id from conversations v
      join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
      where v.workspace_id = ${workspaceId} and starts_with(c.phone, ${phoneOf(0).slice(0, 6)})
    ) v`
  await db`vacuum analyze messages`
  return db<Sent[]>`
    select m.external_id, c.phone
    from messages m
    join conversations v on v.workspace_id = m.workspace_id and v.id = m.conversation_id
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    where m.workspace_id = ${workspaceId} and m.direction = 'outbound' and starts_with(c.phone, ${phoneOf(0).slice(0, 6)})
    order by m.id`
}
