/**
 * Intake: passes each report of a callback to the verb for its kind.
 *
 * Messages, statuses and preferences of concurrent callbacks share statements; the other kinds are rare and applied one by
 * one. `take` returns after everything is committed. A report that the database cannot store is logged and the others are
 * stored. Any other failure fails the callback, and the provider repeats it.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Times } from '../../../common/times.ts'
import { recordAccountSignal } from '../../channels/account-signals.ts'
import type { Channel, Connection, Report } from '../../channels/channel.ts'
import type { CallbackConnection } from '../../channels/connections.ts'
import { recordForeign } from '../../channels/foreign-callbacks.ts'
import { changeTemplate } from '../../channels/templates.ts'
import { applyDecisions, type Decision } from '../../contacts/opt-out.ts'
import { learnIdentities, movePerson, type PersonRef } from '../../contacts/people.ts'
import type { ChannelName } from '../../contacts/resource.ts'
import { findThreads, type Lookup, lookUp, resolveContacts, retryMoved } from '../../conversations/threads.ts'
import { createBatch } from '../../lib/batch.ts'
import { type Db, type Fragment, isUnkeepable, requireRow, type Sql } from '../../lib/postgres/db.ts'
import type { Signals } from '../../signals/signals.ts'
import type { RunStopper } from '../sending/run-stopper.ts'
import { signalMessages } from '../signal-messages.ts'
import { awaitsResponse, type StatusFollower } from '../status-follower.ts'
import { type EarlyReport, storeEarlyReports } from './early-reports.ts'
import { applyEcho } from './echoes.ts'
import { type InboundMessage, readInbound } from './inbound.ts'
import { applyCorrection, applyReadUpTo, applyStatuses, type ReportSource, type StatusUpdate } from './reports.ts'
import { type InboundContext, type StoredMessage, storeInbound } from './store-inbound.ts'

export type IntakeOptions = {
  db: Db
  channels: Record<ChannelName, Channel>
  log: FastifyBaseLogger
  signals: Signals
  /** Called with the ids of media whose message was deleted. */
  onMediaGone: (ids: readonly string[]) => void
  publicUrl: string
  times: Times['messages']
  follower?: StatusFollower
  runs?: RunStopper | undefined
  findStarts: InboundContext['findStarts']
  ratings?: InboundContext['ratings']
}

export type Intake = {
  /** Stores and applies all reports of a callback. */
  take(connection: CallbackConnection, reports: readonly Report[]): Promise<void>
  /** Stores one message. Returns undefined when it is already stored. */
  receive(message: InboundMessage): Promise<StoredMessage | undefined>
}

export function createIntake(options: IntakeOptions): Intake {
  const { db, channels, log, signals, onMediaGone, publicUrl, follower, runs, findStarts, ratings, times } = options
  const ofPerson = ({ workspace_id }: PersonRef) => workspace_id
  const findThread = createBatch({ run: (people: readonly PersonRef[]) => findThreads(db, people), flowOf: ofPerson })
  const learnPerson = createBatch({
    run: (people: readonly PersonRef[]) => learnIdentities(db, people),
    flowOf: ofPerson,
  })
  const storeMessage = createBatch({
    run: (messages: readonly InboundMessage[]) =>
      storeInbound(db, messages, { publicUrl, follower, findStarts, ratings }),
    flowOf: ({ from }) => from.workspace_id,
    max: 1_000,
  })
  // In groups, because a callback may have hundreds of them: one promise per group instead of several per report.
  const applyGroup = createBatch({
    run: (groups: readonly (readonly StatusUpdate[])[]) => applyStatuses(db, groups.flat(), { publicUrl, follower }),
    flowOf: ([first]) => first?.workspaceId ?? '',
    max: 100,
  })
  const applyPreference = createBatch({
    run: (updates: readonly PreferenceUpdate[]) => applyPreferences(db, updates, follower),
    flowOf: ({ who }) => who.workspace_id,
  })
  const storeEarly = createBatch({
    run: (reports: readonly EarlyReport[]) => storeEarlyReports(db, reports),
    flowOf: ({ workspace_id }) => workspace_id,
    max: 1_000,
  })

  async function receive(message: InboundMessage): Promise<StoredMessage | undefined> {
    const stored = await storeMessage(message)
    const { workspace_id, channel } = message.from
    if (stored) signalMessages(signals, workspace_id, channel, stored.conversation_id)
    if (stored?.has_media) signals.mediaPending()
    if (stored?.is_queued) signals.changesQueued()
    if (stored?.is_answer) {
      signals.ratingsReady()
      // Pages that show the contact.
      signals.changed(workspace_id)
    }
    return stored
  }

  /** A report that the database cannot store is logged; it does not fail the other reports. */
  async function tolerate(kind: Report['kind'], run: () => Promise<unknown>): Promise<void> {
    try {
      await run()
    } catch (error) {
      if (!isUnkeepable(error)) throw error
      log.error({ err: error, kind }, 'the database cannot store a report; it is skipped')
    }
  }

  async function applyStatusReports(connection: Connection, reports: readonly StatusReport[]): Promise<void> {
    const { workspace_id: workspaceId, channel, id: connectionId } = connection
    const updates = reports.map((report): StatusUpdate => ({ workspaceId, channel, connectionId, report }))
    try {
      await applyGroup(updates)
    } catch (error) {
      if (reports.length === 1 || !isUnkeepable(error)) throw error
      // The database cannot store one of them.
      for (const report of reports) await tolerate('status', () => applyStatusReports(connection, [report]))
      return
    }
    const changed = updates.flatMap(({ conversationId }) => conversationId ?? [])
    if (changed.length > 0) signals.inboxChanged(workspaceId, changed)
    const early = updates.filter(({ conversationId }) => !conversationId)
    await Promise.all(early.map(({ report }) => storeReport(connection, report)))
  }

  const storeReport = (
    { workspace_id, channel, id, scope }: Connection,
    report: Extract<Report, { external_id: string }>,
  ) => storeEarly({ workspace_id, report: { ...report, channel, connection_id: id, scope } })

  async function apply(connection: Connection, report: Report): Promise<unknown> {
    const { workspace_id: workspaceId, scope } = connection
    const source = sourceOf(connection)
    switch (report.kind) {
      case 'preference': {
        const { phone, user_id, name } = report.from
        return applyPreference({ who: { workspace_id: workspaceId, ...source, phone, user_id, name }, report })
      }
      case 'echo':
        return (
          (await applyEcho(db, workspaceId, source, report, times, { follower, runs })) ||
          storeReport(connection, report)
        )
      case 'edit':
      case 'revoke':
        return (await applyCorrection(db, workspaceId, source, report, onMediaGone)) || storeReport(connection, report)
      case 'read_up_to':
        return (await applyReadUpTo(db, workspaceId, source, report.external_id)) || storeReport(connection, report)
      case 'template':
        return changeTemplate(db, workspaceId, report, scope)
      case 'signal':
        return recordAccountSignal(db, connection, report)
      case 'foreign':
        return recordForeign(db, connection, report, publicUrl)
      default:
        return undefined
    }
  }

  return {
    receive,
    async take(connection, reports) {
      const { workspace_id: workspaceId, channel } = connection
      // A contact whose number changed may write from the new one in the same callback.
      for (const report of reports) {
        if (report.kind !== 'moved') continue
        await tolerate('moved', () => movePerson(db, workspaceId, channel, report.from, report.to, connection.scope))
      }
      const messageReports = reports.filter((report) => report.kind === 'message')
      const messages = await readInbound(channels[channel], connection, messageReports, findThread)
      const statuses = reports.filter((report) => report.kind === 'status')
      const preferences = reports.filter(({ kind }) => kind === 'preference')
      await Promise.all([
        ...messages.map((message) => tolerate('message', () => receive(message))),
        ...toGroups(statuses).map((group) => tolerate('status', () => applyStatusReports(connection, group))),
        ...preferences.map((report) => tolerate('preference', () => apply(connection, report))),
      ])
      for (const report of reports) {
        if (inBulk.has(report.kind)) continue
        await tolerate(report.kind, () => apply(connection, report))
      }
      logUnused(connection, reports)
      await learnRecipients(connection, reports)
      if (reports.length > 0) signals.deliveriesQueued()
      // The conversations of messages and of status reports are signaled with their ids.
      if (reports.some(({ kind }) => kind !== 'message' && kind !== 'status')) signals.changed(workspaceId)
    },
  }

  /** One line for the ignored reports of a callback and one for the malformed ones, with the first reasons. */
  function logUnused({ workspace_id: workspace, channel }: Connection, reports: readonly Report[]): void {
    const describe = (kind: 'ignored' | 'malformed') => {
      const reasons = reports.flatMap((report) => (report.kind === kind ? report.reason : []))
      const shown = [...new Set(reasons)].slice(0, maxReasons)
      return { count: reasons.length, fields: { channel, workspace, count: reasons.length, reasons: shown } }
    }
    const [ignored, malformed] = [describe('ignored'), describe('malformed')]
    if (ignored.count > 0) log.info(ignored.fields, 'reports were ignored')
    if (malformed.count > 0) log.warn(malformed.fields, 'reports could not be read')
  }

  /** A status report may carry a further id of the recipient. */
  async function learnRecipients(connection: Connection, reports: readonly Report[]): Promise<void> {
    const { workspace_id, channel, scope } = connection
    const recipients = new Map<string, PersonRef>()
    for (const report of reports) {
      // The first of the three reports of a message is enough.
      const isFirst = report.kind === 'status' && report.status === 'sent'
      const { phone, user_id } = (isFirst && report.recipient) || { phone: null, user_id: null }
      if (phone && user_id) recipients.set(user_id, { workspace_id, channel, scope, phone, user_id })
    }
    await Promise.all([...recipients.values()].map(learnPerson))
  }
}

const sourceOf = ({ channel, id, scope }: Connection): ReportSource => ({ channel, connection_id: id, scope })

type StatusReport = StatusUpdate['report']

/** Status reports of a callback that are applied together. */
const groupSize = 20

function toGroups<Item>(items: readonly Item[]): Item[][] {
  return Array.from({ length: Math.ceil(items.length / groupSize) }, (_, i) =>
    items.slice(i * groupSize, (i + 1) * groupSize),
  )
}

/** Kinds that `take` does not apply one by one. */
const inBulk = new Set<Report['kind']>(['moved', 'message', 'status', 'preference', 'ignored', 'malformed'])

/** Of a callback, in the log. */
const maxReasons = 5

type PreferenceUpdate = Lookup & { report: Extract<Report, { kind: 'preference' }> }

/**
 * Opt-outs that customers set in the channel itself. An unknown customer becomes a contact, so that the next broadcast
 * respects the choice.
 */
async function applyPreferences(
  db: Db,
  updates: readonly PreferenceUpdate[],
  follower: StatusFollower | undefined,
): Promise<void> {
  let left = [...updates]
  await retryMoved(async () => {
    await lookUp(db, left)
    await resolveContacts(db, left)
    const decisions = left.map(({ who: { workspace_id }, thread, report }): Decision => {
      const { contact_id } = requireRow(thread, 'the contact of a preference')
      return { workspace_id, contact_id, wish: report.wants, by: 'channel', at: report.at, message_id: null }
    })
    const existing = await applyDecisions(db, decisions, recordOptOuts(db, left, follower))
    // A contact that was merged or erased meanwhile: the decision applies to the contact with that identity now.
    left = left.filter(({ thread }) => !existing.has(thread?.contact_id ?? ''))
    return left.length === 0 || undefined
  })
}

/** Members of a `with` list, with a comma before them: opt-outs after a broadcast are responses to it. */
function recordOptOuts(sql: Sql, updates: readonly PreferenceUpdate[], follower: StatusFollower | undefined): Fragment {
  const rows = updates.flatMap(({ who: { workspace_id }, thread, report }) => {
    const message_id = thread?.last_broadcast_message_id
    return report.wants === 'stop' && awaitsResponse(message_id)
      ? [{ workspace_id, contact_id: thread?.contact_id, message_id }]
      : []
  })
  if (!follower || rows.length === 0) return sql``
  return sql`,
    responses as (
      select i.workspace_id, i.message_id, 'opted_out' as kind, now() as at
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as i (
        workspace_id uuid, contact_id uuid, message_id uuid
      )
      join updated_contacts u on u.workspace_id = i.workspace_id and u.id = i.contact_id and u.is_opted_out
    ),
    ${follower.respond(sql, sql`responses`)}`
}
