/**
 * Compares what was asked, what the provider took, what the receiver and the stream got, and what the database says. Returns every
 * difference as a sentence. It waits until the service has nothing left to do, and says what did not end.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Json } from '../tests/owner.ts'
import type { Load } from './load.ts'
import type { Stack } from './stack.ts'

type Outbound = { id: string; phone: string; status: string; broadcast_id: string | null }

export async function audit(stack: Stack, load: Load, settleMs = 120_000): Promise<string[]> {
  const unfinished = await waitForEnd(stack, load, settleMs)
  const { provider, db, workspaceId } = stack
  const { asked } = load
  const differences = [...unfinished]
  const differ = (text: string) => differences.push(text)

  const sent = await provider.sent()
  const sentTo = new Map<string, Json[]>()
  for (const one of sent) {
    const phone = `+${one.to.replace(/^\+/, '')}`
    sentTo.set(phone, [...(sentTo.get(phone) ?? []), one])
  }
  const outbound = await db<Outbound[]>`
    select m.id, c.phone, m.status, m.broadcast_id
    from messages m
    join conversations v on v.workspace_id = m.workspace_id and v.id = m.conversation_id
    join contacts c on c.workspace_id = v.workspace_id and c.id = v.contact_id
    where m.workspace_id = ${workspaceId} and m.direction = 'outbound'
      -- The caller sends a message again that did not reach the provider.
      and not (m.broadcast_id is null and m.status = 'failed' and coalesce(m.error, '') like '%, so nothing was sent')`
  const storedFor = new Map<string, Outbound[]>()
  for (const row of outbound) storedFor.set(row.phone, [...(storedFor.get(row.phone) ?? []), row])

  const recipients = new Set([...asked.sends.keys(), ...[...asked.broadcasts.values()].flatMap(({ phones }) => phones)])
  for (const phone of recipients) {
    const taken = sentTo.get(phone) ?? []
    const stored = storedFor.get(phone) ?? []
    const [row] = stored
    if (taken.length > 1) differ(`${phone} was sent to ${taken.length} times`)
    if (stored.length > 1) differ(`${phone} has ${stored.length} messages`)
    if (taken.length > 0 && row?.id !== taken[0].body.biz_opaque_callback_data)
      differ(`${phone}: the provider took the message ${taken[0].body.biz_opaque_callback_data}, stored is ${row?.id}`)
    const isDelivered = row?.status === 'read'
    if (isDelivered !== taken.length > 0)
      differ(`${phone}: the provider took ${taken.length}, and the message is ${row?.status ?? 'not stored'}`)
  }
  for (const [phone, { messageId, refusal }] of asked.sends) {
    if (refusal) differ(`the send to ${phone} was refused: ${refusal}`)
    else if (messageId !== storedFor.get(phone)?.[0]?.id)
      differ(`the send to ${phone} was acknowledged as ${messageId} and is not stored`)
  }
  for (const phone of sentTo.keys()) if (!recipients.has(phone)) differ(`${phone} was sent to without a request`)

  const inbound = await db<{ external_id: string; content_text: string; n: number }[]>`
    select external_id, content_text, count(*)::int as n from messages
    where workspace_id = ${workspaceId} and direction = 'inbound'
    group by external_id, content_text`
  const received = new Map(inbound.map((row) => [row.external_id, row]))
  for (const [id, { text }] of asked.inbound) {
    const row = received.get(id)
    if (row?.n !== 1 || row.content_text !== text) differ(`the customer's message ${id} is stored ${row?.n ?? 0} times`)
  }
  if (inbound.length !== asked.inbound.size)
    differ(`${inbound.length} customers' messages are stored, ${asked.inbound.size} were written`)

  // A recipient in flight at the end has an unknown outcome: the provider did not take its message, as compared above.
  const broadcasts = await db<
    { id: string; name: string; status: string; total_count: number; has_unknown: boolean }[]
  >`
    select id, name, status, total_count, exists (
        select from broadcast_recipients r
        where r.workspace_id = b.workspace_id and r.broadcast_id = b.id and r.status = 'sending'
      ) as has_unknown
    from broadcasts b where workspace_id = ${workspaceId}`
  for (const [name, { id, phones }] of asked.broadcasts) {
    const rows = broadcasts.filter((one) => one.name === name)
    if (rows.length !== 1 || rows[0]?.id !== id) differ(`${name} is stored ${rows.length} times`)
    if (rows[0]?.status !== (rows[0]?.has_unknown ? 'sending' : 'sent') || rows[0]?.total_count !== phones.length)
      differ(`${name} is ${rows[0]?.status} with ${rows[0]?.total_count} of ${phones.length} recipients`)
  }

  const contacts = await db<{ id: string }[]>`select id from contacts where workspace_id = ${workspaceId}`
  const contactIds = new Set(contacts.map(({ id }) => id))
  for (const id of asked.contacts)
    if (!contactIds.has(id)) differ(`the contact ${id} was acknowledged and is not stored`)

  differences.push(...(await auditEvents(stack, load)), ...(await auditCounters(stack)))
  return differences
}

/** Every event reached the receiver, with the stored bytes, and the stream, once each. */
async function auditEvents({ db, workspaceId, delivered }: Stack, { asked }: Load): Promise<string[]> {
  const events = await db<{ id: string; event: string; digest: string }[]>`
    select id, event, encode(sha256(convert_to(body, 'UTF8')), 'hex') as digest
    from webhook_events where workspace_id = ${workspaceId} order by id`
  const { digests, conflicts } = delivered
  const differences = [...conflicts].map((id) => `the event ${id} was delivered with two bodies`)
  const streamed = new Map<string, number>()
  for (const id of asked.streamed) streamed.set(id, (streamed.get(id) ?? 0) + 1)
  for (const { id, event, digest } of events) {
    if (digests.get(id) !== digest) differences.push(`the event ${event} ${id} was not delivered as it is stored`)
    if (streamed.get(id) !== 1) differences.push(`the event ${event} ${id} was streamed ${streamed.get(id) ?? 0} times`)
  }
  const ids = new Set(events.map(({ id }) => id))
  for (const id of digests.keys()) if (!ids.has(id)) differences.push(`the event ${id} was delivered and is not stored`)
  const countOf = (name: string) => events.filter(({ event }) => event === name).length
  if (countOf('message.received') !== asked.inbound.size)
    differences.push(`${countOf('message.received')} events for ${asked.inbound.size} customers' messages`)
  return differences
}

/** Counters equal what they count. */
async function auditCounters({ db, workspaceId }: Stack): Promise<string[]> {
  const [row] = await db<{ counted: string; counters: string }[]>`
    select
      (select concat_ws(' ', count(*) filter (where status in ('sent', 'delivered', 'read')),
          count(*) filter (where status in ('delivered', 'read')), count(*) filter (where status = 'read'))
        from messages where workspace_id = ${workspaceId} and direction = 'outbound') || ' ' ||
      (select concat_ws(' ', count(*), count(*) filter (where assigned_agent_id is null))
        from conversations where workspace_id = ${workspaceId} and inbox_at is not null and status = 'open') as counted,
      -- Release 0.1.0 counts in message_outcomes.
      (select concat_ws(' ', sum(sent), sum(delivered), sum(read)) from (
          select sent, delivered, read from connection_outcomes where workspace_id = ${workspaceId}
          union all
          select sent, delivered, read from message_outcomes where workspace_id = ${workspaceId}
        ) o) || ' ' ||
      (select concat_ws(' ', coalesce(sum(open), 0), coalesce(sum(unassigned), 0))
        from inbox_counts where workspace_id = ${workspaceId}) as counters`
  return row?.counted === row?.counters ? [] : [`counted ${row?.counted}, the counters say ${row?.counters}`]
}

/** Waits until nothing is queued or pending. Returns what is left when the time is over. */
async function waitForEnd(stack: Stack, load: Load, settleMs: number): Promise<string[]> {
  const deadline = Date.now() + settleMs
  for (;;) {
    const left = await findLeft(stack, load).catch((error) => [`the database does not answer: ${error}`])
    if (left.length === 0 || Date.now() > deadline) return left
    await sleep(500)
  }
}

async function findLeft({ db, workspaceId, provider }: Stack, { asked }: Load): Promise<string[]> {
  const [row] = await db<Record<string, number>[]>`
    select
      (select count(*) from webhook_deliveries where workspace_id = ${workspaceId})::int as "queued deliveries",
      (select count(*) from early_reports where workspace_id = ${workspaceId})::int as "reports without a message",
      (select count(*) from broadcasts b where workspace_id = ${workspaceId} and status <> 'sent' and not exists (
          select from broadcast_recipients r
          where r.workspace_id = b.workspace_id and r.broadcast_id = b.id and r.status = 'sending'
        ))::int as "unsent broadcasts",
      (select count(*) from broadcast_recipients where workspace_id = ${workspaceId} and status = 'pending')::int
        as "recipients not sent to",
      (select count(*) from messages where workspace_id = ${workspaceId} and direction = 'outbound'
        and status in ('sent', 'delivered'))::int as "messages without their last report"`
  const [events] = await db<{ n: number }[]>`
    select count(*)::int as n from webhook_events where workspace_id = ${workspaceId}`
  const [inbound] = await db<{ n: number }[]>`
    select count(*)::int as n from messages where workspace_id = ${workspaceId} and direction = 'inbound'`
  const found = (counts: Record<string, number>) =>
    Object.entries(counts).flatMap(([what, count]) => (count > 0 ? [`${count} ${what}`] : []))
  const inDatabase = found({
    ...row,
    'events not streamed': (events?.n ?? 0) - new Set(asked.streamed).size,
    "customers' messages not stored": asked.inbound.size - (inbound?.n ?? 0),
  })
  if (inDatabase.length > 0) return inDatabase
  const taken = new Set((await provider.sent()).map(({ body }) => body.biz_opaque_callback_data))
  const pending = await db<{ id: string }[]>`
    select id from messages where workspace_id = ${workspaceId} and direction = 'outbound' and status = 'pending'`
  return found({
    'messages that the provider took and are pending': pending.filter(({ id }) => taken.has(id)).length,
  })
}
