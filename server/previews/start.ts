/**
 * Starts the automation of a preview where its trigger is no message: does what the trigger waits for. A silence is simulated by moving
 * the times of the conversation back; the engine then finds it as it finds every silence.
 */
import type { Definition, Trigger } from '../automation/definition.ts'
import { toMs } from '../automation/durations.ts'
import { startRuns } from '../automation/run-list.ts'
import type { Channel } from '../channels/channel.ts'
import { changeAttributes } from '../contacts/attributes.ts'
import { addTags, dropTags, readTagNames, resolveTags } from '../contacts/tags.ts'
import { updateConversation } from '../conversations/changes.ts'
import { badRequest } from '../lib/errors.ts'
import { newId } from '../lib/id.ts'
import { type Db, requireRow, type Sql } from '../lib/postgres/db.ts'
import { queueTriggers } from '../triggers/queue.ts'
import type { SimulatorClient } from './phone.ts'
import type { Sandbox } from './sandbox.ts'

type Context = { db: Db; simulator: SimulatorClient; channel: Pick<Channel, 'windowMs'> }

type Conversation = { id: string; contact_id: string }

/** What the customer writes first, if the trigger needs a conversation and there is none. */
const greeting = 'Hello'
/** For triggers that name no label, tag or attribute. */
const anyName = 'Preview'
const anyAttribute = 'preview'

export async function start(context: Context, sandbox: Sandbox, { trigger }: Definition): Promise<void> {
  const { type } = trigger
  const isWritten = type === 'message' || ('event' in trigger && ['opened', 'created'].includes(trigger.event))
  if (isWritten) throw badRequest('the customer starts this automation: write a message on the phone')
  const conversation = await resolveConversation(context, sandbox)
  if (type === 'conversation') await changeConversation(context.db, sandbox, trigger, conversation)
  else if (type === 'contact') await changeContact(context.db, sandbox, trigger, conversation)
  else if (type === 'silence') await simulateSilence(context, sandbox, trigger, conversation)
  else if (type === 'target') await simulateTarget(context.db, sandbox, trigger, conversation)
  else if (type === 'rating') await rate(context.db, sandbox, trigger, conversation)
  else await startByHand(context.db, sandbox, conversation)
}

/** Of the customer of the preview. */
export async function getConversation(sql: Sql, { id }: Sandbox): Promise<Conversation | undefined> {
  const [conversation] = await sql<Conversation[]>`
    select id, contact_id from conversations where workspace_id = ${id} order by id limit 1`
  return conversation
}

async function resolveConversation({ db, simulator }: Context, sandbox: Sandbox): Promise<Conversation> {
  const known = await getConversation(db, sandbox)
  if (known) return known
  await simulator.write(sandbox.id, { text: greeting })
  return requireRow(await getConversation(db, sandbox), 'the conversation of a preview')
}

type Of<Type extends Trigger['type']> = Extract<Trigger, { type: Type }>

/** Undoes the change first, so that it can be repeated. */
async function changeConversation(
  db: Db,
  { id: workspaceId }: Sandbox,
  { event, label = anyName }: Of<'conversation'>,
  { id }: Conversation,
): Promise<void> {
  const [member] = await db<{ id: string }[]>`select id from members where workspace_id = ${workspaceId} limit 1`
  const { id: memberId } = requireRow(member, 'the member of a preview')
  const added = { add_labels: [label] }
  const removed = { remove_labels: [label] }
  const changes = {
    opened: [],
    closed: [{ status: 'open' }, { status: 'closed' }],
    assigned: [{ assigned_agent_id: null }, { assigned_agent_id: memberId }],
    label_added: [removed, added],
    label_removed: [added, removed],
  } as const
  for (const change of changes[event]) await updateConversation(db, workspaceId, { memberId }, id, change)
}

async function changeContact(
  db: Db,
  { id: workspaceId }: Sandbox,
  { event, tag = anyName, attribute = anyAttribute }: Of<'contact'>,
  { contact_id }: Conversation,
): Promise<void> {
  if (event === 'attribute_changed') {
    return changeAttributes(db, workspaceId, contact_id, { [attribute]: newId() })
  }
  const names = readTagNames([tag])
  const pairs = [...names.keys()].map((key) => ({ contact_id, key }))
  await db.begin(async (sql) => {
    await resolveTags(sql, workspaceId, names)
    if (event === 'tag_added') await dropTags(sql, workspaceId, pairs)
    await addTags(sql, workspaceId, pairs)
    if (event === 'tag_removed') await dropTags(sql, workspaceId, pairs)
  })
}

/** `no_reply` is about customers whom a member has answered, so a reply is simulated too. */
async function simulateSilence(
  { db, channel }: Context,
  { id: workspaceId }: Sandbox,
  { event, after }: Of<'silence'>,
  { id }: Conversation,
): Promise<void> {
  const seconds = toMs(after) / 1000
  const silentSeconds = event === 'window_ends' ? (channel.windowMs ?? 0) / 1000 - seconds : seconds
  const since = db`now() - make_interval(secs => ${silentSeconds})`
  const isWaiting = event === 'waiting'
  await db`
    update conversations set status = 'open', snoozed_until = null, last_inbound_at = ${since},
      last_received_at = ${since} - interval '1 second', waiting_since = case when ${isWaiting} then ${since} end, inbox_at = ${since}
    where workspace_id = ${workspaceId} and id = ${id}`
}

/** The sandbox has no targets, so the clock is simulated by what it would queue. */
async function simulateTarget(
  db: Db,
  { id: workspaceId }: Sandbox,
  { event, before, target = newId(), clock = 'first_reply' }: Of<'target'>,
  { id, contact_id }: Conversation,
): Promise<void> {
  const minutes = before === undefined ? 0 : toMs(before) / 60_000
  await db`
    with
    clock_event as (select ${workspaceId}::uuid as workspace_id),
    ${queueTriggers(db, {
      kinds: ['target'],
      workspaces: db`clock_event`,
      from: db`clock_event i`,
      workspaceId: db`i.workspace_id`,
      event: db`${event}`,
      contactId: db`${contact_id}::uuid`,
      conversationId: db`${id}::uuid`,
      detail: db`${`${clock} ${target} ${minutes}`}`,
    })}
    select 1`
}

/** As the worker that reads a rating queues it. */
async function rate(
  db: Db,
  { id: workspaceId }: Sandbox,
  { at_most: rating = 1 }: Of<'rating'>,
  { id, contact_id }: Conversation,
): Promise<void> {
  await db`
    insert into automation_triggers (workspace_id, id, kind, event, detail, contact_id, conversation_id)
    values (${workspaceId}, ${newId()}, 'rating', 'rated', ${String(rating)}, ${contact_id}, ${id})`
}

async function startByHand(db: Db, { id: workspaceId, copyId }: Sandbox, { id }: Conversation): Promise<void> {
  const [started] = await startRuns(db, { workspaceId }, copyId, [id], { key: newId() })
  if (started?.error) throw badRequest(started.error)
}
