/**
 * `npm run statements` generates `server/STATEMENTS.md`: the hot statements as PostgreSQL receives them, for readers and for
 * reviewers of plans. The code composes them from fragments of several files. A test checks that the file is current.
 *
 * Each entry calls the code of the service with a pool that records statements instead of sending them. A statement has the name
 * of the function that runs it.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { times } from '../common/times.ts'
import { admitKeys } from '../server/accounts/auth.ts'
import { getFirst, insertClaim, settleKey } from '../server/accounts/idempotency.ts'
import { chooseRecipients, lockActiveBroadcasts } from '../server/broadcasts/choose.ts'
import { recipientFollower } from '../server/broadcasts/counts.ts'
import { moveRecipients } from '../server/broadcasts/hand-over.ts'
import { lockPace, spendAllowance } from '../server/broadcasts/pace.ts'
import { listPublicContacts } from '../server/contacts/contacts.ts'
import { listConversations } from '../server/conversations/conversations.ts'
import { listInbox } from '../server/conversations/inbox.ts'
import { findThreads, resolveThreads } from '../server/conversations/threads.ts'
import { top } from '../server/lib/page.ts'
import { connect, type Db } from '../server/lib/postgres/db.ts'
import { listMessages } from '../server/messages/messages.ts'
import { applyStatuses } from '../server/messages/receiving/reports.ts'
import { storeInbound } from '../server/messages/receiving/store-inbound.ts'
import { createPreparer, prepareReserved } from '../server/messages/sending/prepare.ts'
import { createSettler } from '../server/messages/sending/settle.ts'
import { requireThread } from '../server/messages/sending/target.ts'
import { claimDeliveries } from '../server/webhooks/queue.ts'
import { settleAttempts } from '../server/webhooks/settle.ts'

export const statementsFile = join(import.meta.dirname, '../server/STATEMENTS.md')

const id = '0199c1d2-9e40-7a63-88d4-7a0b1c2d3e4f'
const publicUrl = 'https://parley.example'
const who = { workspace_id: id, channel: 'msgapp', phone: '+14155550100', user_id: null } as const
const thread = { contact_id: id, conversation_id: id, index: 0, phone: who.phone, identity_count: 1 }
const created = { ...who, contact_id: id, external_id: who.phone }
const followed = { publicUrl, follower: recipientFollower }
const inbound = { publicUrl, findStarts: async () => ['always' as const] }
const position = { limit: 50, before: top }
/** For inputs whose values are only placeholders in the statement. */
const empty = {} as never

type Entry = {
  /** What needs the statements. */
  caller: string
  /** Calls the service. It may fail after the statements, because it finds no rows. */
  run: (sql: Db) => unknown
  /** The rows that the first statements return; the others return none. */
  answers?: unknown[][]
  /** What each statement does, by the name of its function. */
  statements: Record<string, string>
}

const entries: Entry[] = [
  {
    caller: 'every request of the public API',
    run: (sql) => admitKeys(sql, ['']),
    statements: {
      admitKeys: 'Finds the keys of concurrent requests, counts them in their rate windows, updates their last use.',
    },
  },
  {
    caller: 'every POST with an `Idempotency-Key`',
    run: async (sql) => {
      const claim = { subject: {} } as never
      await insertClaim(sql, claim, times.idempotency)
      await getFirst(sql, claim)
      await settleKey(sql, claim, { status: 201, body: '', hasEffect: true })
    },
    statements: {
      insertClaim: 'Claims the key if it is free.',
      getFirst: 'Reads the request that has the key: its response, or its lease.',
      settleKey: 'Stores the response.',
    },
  },
  {
    caller: '`POST /v1/messages`, callbacks and broadcasts',
    run: (sql) => findThreads(sql, [who]),
    statements: { findThreads: 'Finds the contacts and conversations of people by their numbers and user ids.' },
  },
  {
    caller: 'replies of members and of the API',
    run: (sql) => requireThread(sql, id, id),
    statements: { requireThread: 'Reads the contact of a conversation, with their identities on its channel.' },
  },
  {
    caller: '`POST /v1/messages` and replies',
    run: (sql) => createPreparer(sql)({ thread } as never, { id } as never),
    statements: { prepareMessages: 'Writes the messages of concurrent sends as `pending`, and counts their quota.' },
  },
  {
    caller: '`POST /v1/messages` and replies, after the answer of the channel',
    run: (sql) => createSettler(sql, { publicUrl })({ status: 'sent' } as never),
    statements: { settleMessages: 'Writes the outcomes of concurrent sends, here without a refused one.' },
  },
  {
    caller: 'broadcasts, after the answer of the channel',
    run: (sql) => createSettler(sql, followed)({ status: 'failed', rename: { name: 'Ann' } } as never),
    statements: { settleMessages: 'The same with recipients, a refused message, and a new name of a contact.' },
  },
  {
    caller: 'callbacks with status reports',
    run: (sql) => applyStatuses(sql, [{ report: {} } as never], followed),
    statements: {
      updateStatuses: 'Moves messages to their reported statuses. Each report is an event.',
      identifyMessages: "Finds messages by our id whose send had no answer, and stores the channel's id.",
    },
  },
  {
    caller: "callbacks with customers' messages, and the web chat",
    run: (sql) => storeInbound(sql, [{ id, from: who, written: {}, automationsVersion: null } as never], inbound),
    answers: [[thread]],
    statements: { insertMessages: 'Stores messages with their events and media, and updates their conversations.' },
  },
  {
    caller: 'the same, in a workspace with automations for messages',
    run: (sql) => storeInbound(sql, [{ id, from: who, written: {}, automationsVersion: '1' } as never], inbound),
    answers: [[thread]],
    statements: { insertMessages: 'The same with the queue of changes that may start an automation.' },
  },
  {
    caller: 'messages from and to a person who is not a contact yet',
    run: (sql) => resolveThreads(sql, [who]),
    answers: [[], [created]],
    statements: {
      createPeople: 'Creates contacts with their identities and events.',
      createConversations: 'Creates conversations with their events.',
    },
  },
  {
    caller: 'the loop `deliver`',
    run: (sql) => claimDeliveries(sql, empty, times.webhooks),
    statements: { claimDeliveries: 'Leases the oldest due deliveries of each endpoint, endpoints in turn.' },
  },
  {
    caller: 'the loop `settle-deliveries`',
    run: (sql) => settleAttempts(sql, [{ delivery: {} } as never], times.webhooks),
    statements: {
      writeAttempts: 'Stores attempts, counts the failures of endpoints, removes or reschedules deliveries.',
    },
  },
  {
    caller: 'the loop `broadcasts`, in the transaction of each batch',
    run: async (sql) => {
      await lockPace(sql, empty, times.broadcasts)
      await lockActiveBroadcasts(sql, { workspace_id: id, id, scope: '' } as never)
      await chooseRecipients(sql, { workspace_id: id, scope: '' }, [], 10)
      await moveRecipients(sql, id, [], [], new Map())
      await spendAllowance(sql, empty, empty, 1)
      await prepareReserved(sql, [{ id } as never])
    },
    statements: {
      lockPace: 'Locks the sending rate of a phone number, unless another process hands over.',
      lockActiveBroadcasts: 'Locks the broadcasts that have recipients to hand over.',
      chooseRecipients: 'Reads their next recipients, with the contacts.',
      prepareMessages: 'Writes their messages as `pending`. Their quota is reserved.',
      moveRecipients: 'Writes the new states of the recipients and the positions of the broadcasts.',
      spendAllowance: 'Takes the messages out of the pace.',
    },
  },
  {
    caller: '`GET /v1/conversations`',
    run: (sql) => listConversations(sql, id, {}, position),
    statements: { readRows: 'One page, newest first.' },
  },
  {
    caller: '`GET /v1/conversations/{id}/messages`',
    run: (sql) => listMessages(sql, id, id, publicUrl, position),
    answers: [[{ channel: 'msgapp' }]],
    statements: { listMessages: 'One page, newest first.' },
  },
  {
    caller: '`GET /v1/contacts`',
    run: (sql) => listPublicContacts(sql, id, {}, position),
    statements: { listPublicContacts: 'One page, newest first.' },
  },
  {
    caller: 'the inbox',
    run: (sql) => listInbox(sql, { workspaceId: id }, empty, { status: 'open' }, { limit: 50, cursor: undefined }),
    statements: { scanPage: 'One page of the open conversations, merged from one index range per channel.' },
  },
]

export async function describeStatements(): Promise<string> {
  const parts: string[] = []
  for (const { caller, run, answers = [], statements } of entries) {
    const { recorded, error } = await record(run, answers)
    for (const [name, does] of Object.entries(statements)) {
      const found = recorded.find((statement) => statement.name === name)
      if (!found) throw new Error(`${caller}: ${name} has run no statement`, { cause: error })
      const code = `\`\`\`sql\n${indent(found.text)}\n\`\`\``
      parts.push(`## ${name}`, `${does} For ${caller}. In \`${found.file}\`.`, code)
    }
  }
  const head = 'As PostgreSQL receives them. Generated by `npm run statements`; a test keeps it true.'
  return `${['# Hot statements', head, ...parts].join('\n\n')}\n`
}

type Statement = { name: string; file: string; text: string }

/** A part of a statement or a whole one, as the driver represents it. */
type Query = {
  strings: readonly string[]
  args: readonly unknown[]
  /** Called by the first `then`. */
  handle: () => Promise<void>
  resolve: (rows: unknown[]) => void
}

async function record(run: Entry['run'], answers: unknown[][]): Promise<{ recorded: Statement[]; error: unknown }> {
  const recorded: Statement[] = []
  // It opens a connection with its first statement, so never.
  const pool = connect({ database: 'postgres://127.0.0.1/none', max: 1 })
  const recorder: Db = new Proxy(pool, {
    apply(tag, self, args) {
      const query: unknown = Reflect.apply(tag as unknown as (...values: unknown[]) => unknown, self, args)
      if (!isQuery(query)) return query
      const origin = originOf(new Error().stack ?? '')
      let isRecorded = false
      query.handle = async () => {
        if (isRecorded) return
        isRecorded = true
        const rows = answers[recorded.length] ?? []
        recorded.push({ ...origin, text: textOf(query) })
        query.resolve(Object.assign([...rows], { count: rows.length, columns: [] }))
      }
      return query
    },
  })
  try {
    await run(recorder)
    return { recorded, error: undefined }
  } catch (error) {
    return { recorded, error }
  }
}

const isQuery = (value: unknown): value is Query => typeof value === 'object' && value !== null && 'strings' in value

/** The first function of the service in a stack. */
function originOf(stack: string): Pick<Statement, 'name' | 'file'> {
  const [, name = '', file = ''] = /at (?:async )?(\w+) \(.*\/(server\/[^:]+):/.exec(stack) ?? []
  return { name, file }
}

/** As the driver composes it. */
function textOf(query: Query): string {
  let count = 0
  const compose = ({ strings, args }: Query): string =>
    strings.reduce((text, part, i) => `${text}${toText(args[i - 1])}${part}`)
  const toText = (value: unknown): string => {
    if (isQuery(value)) return compose(value)
    if (Array.isArray(value) && isQuery(value[0])) return value.map(compose).join(' ')
    count++
    return `$${count}`
  }
  return compose(query)
}

/** Indented by the depth of the parentheses, because fragments have the indentation of their files. */
function indent(text: string): string {
  let depth = 0
  const lines = text.split('\n').flatMap((line) => line.trim() || [])
  return lines
    .map((line) => {
      const code = line.startsWith('--') ? '' : line
      const closed = /^\)*/.exec(code)?.[0].length ?? 0
      const indented = '  '.repeat(Math.max(0, depth - closed)) + line
      depth += code.split('(').length - code.split(')').length
      return indented
    })
    .join('\n')
}

if (import.meta.main) writeFileSync(statementsFile, await describeStatements())
