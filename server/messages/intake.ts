/**
 * Intake: a provider's reports, each to the verb that keeps it.
 *
 * Messages and statuses of callbacks that arrive together share statements;
 * the rest is rare and goes one by one. Whoever calls is answered once all of
 * theirs is committed. One that the database cannot keep is logged and
 * counted, and its neighbours are kept; anything else that fails fails the
 * callback, and the provider repeats it.
 */
import type { FastifyBaseLogger } from 'fastify'
import { toKeys } from '../accounts/opt-out-words.ts'
import type { Signals } from '../accounts/signals.ts'
import type { Channel, Connection, Report } from '../channels/channel.ts'
import type { CallbackConnection } from '../channels/connections.ts'
import { noteSignal } from '../channels/signals.ts'
import { changeTemplate } from '../channels/templates.ts'
import type { ChannelName } from '../contacts/contacts.ts'
import { applyDecisions, type Decision } from '../contacts/opt-out.ts'
import { identitiesOf, learnPeople, movePerson, type Who } from '../contacts/people.ts'
import { findThreads, resolvePeople } from '../conversations/threads.ts'
import { createBatch } from '../lib/batch.ts'
import { type Db, isUnkeepable } from '../lib/db.ts'
import { within } from '../lib/time.ts'
import { type EarlyReport, takeEarly, waitForMessage } from './early-reports.ts'
import { keepEcho } from './echoes.ts'
import { type Kept, keepReceived, type Received, toReceived, wishOf } from './inbound.ts'
import { applyCorrection, applyReadUpTo, applyStatuses, type Reported } from './reports.ts'
import { signalMessages } from './signal-messages.ts'
import type { StatusContext, StatusFollower } from './status-follower.ts'

export type Intaking = {
  db: Db
  channels: Record<ChannelName, Channel>
  log: FastifyBaseLogger
  signals: Signals
  /** These are no message's any more. */
  onMediaGone: (ids: readonly string[]) => void
  publicUrl: string
  follower?: StatusFollower
}

export type Intake = {
  /** Keep everything a callback reported. */
  take(connection: CallbackConnection, reports: readonly Report[]): Promise<void>
  /** Keep one message; answers where it went, or undefined when it is there already. */
  keep(received: Received): Promise<Kept | undefined>
}

/** Not one by one. */
const inBulk = new Set<Report['kind']>(['moved', 'message', 'status', 'preference'])

/** How long a callback waits for the names of people who write for the first time. */
const profilePatienceMs = 2_000

export function createIntake(intaking: Intaking): Intake {
  const { db, channels, log, signals, onMediaGone, publicUrl, follower } = intaking
  const keepOne = createBatch({ run: (received: readonly Received[]) => keepReceived(db, received), max: 1_000 })
  const findOne = createBatch({ run: (people: readonly Who[]) => findThreads(db, people) })
  const applyOne = createBatch({
    run: (reported: readonly Reported[]) => applyStatuses(db, reported, { publicUrl, follower }),
    max: 1_000,
  })

  const preferOne = createBatch({ run: (preferred: readonly Preferred[]) => applyPreferences(db, preferred) })

  async function keep(received: Received): Promise<Kept | undefined> {
    const kept = await keepOne(received)
    if (kept) signalMessages(signals, received.workspaceId, received.channel, kept.conversation_id)
    if (kept?.has_media) signals.mediaPending()
    return kept
  }

  /** Whatever the database cannot keep costs nobody else anything. */
  async function tolerate(report: Report, run: () => Promise<unknown>): Promise<void> {
    try {
      await run()
    } catch (error) {
      if (!isUnkeepable(error)) throw error
      log.error({ err: error, kind: report.kind }, 'a report could not be kept')
    }
  }

  async function takeRest(connection: Connection, report: Report): Promise<void> {
    const { workspace_id: workspaceId, channel } = connection
    switch (report.kind) {
      case 'echo':
        return keepEcho(db, workspaceId, channel, report, follower)
      case 'edit':
      case 'revoke': {
        const { isKnown, media } = await applyCorrection(db, workspaceId, channel, report)
        onMediaGone(media)
        if (!isKnown) await waitForMessage(db, workspaceId, channel, report)
        return
      }
      case 'read_up_to':
        if (!(await applyReadUpTo(db, workspaceId, report.external_id))) {
          await waitForMessage(db, workspaceId, channel, report)
        }
        return
      case 'template':
        return changeTemplate(db, workspaceId, report)
      case 'signal':
        return noteSignal(db, connection, report)
      case 'ignored':
        log.info({ channel, workspace: workspaceId, reason: report.reason }, 'a report was ignored')
        return
      case 'malformed':
        log.warn({ channel, workspace: workspaceId, reason: report.reason }, 'a report could not be read')
        return
      default:
        return
    }
  }

  return {
    keep,
    async take(connection, reports) {
      const { workspace_id: workspaceId, channel } = connection
      // Somebody who moved writes by the new name, perhaps in the same callback.
      for (const report of reports) {
        if (report.kind === 'moved') {
          await tolerate(report, () => movePerson(db, workspaceId, channel, report.from, report.to))
        }
      }
      const own = toKeys(connection.opt_out_words)
      const received = reports.flatMap((report) => {
        if (report.kind !== 'message') return []
        const wish = wishOf(channel, report, own)
        return [{ report, received: { ...toReceived(workspaceId, channel, report), wish } }]
      })
      const adapter = channels[channel]
      if (adapter.fetchProfile && received.length > 0) {
        await lookUp(
          adapter,
          connection,
          received.map((one) => one.received),
        )
      }
      await Promise.all([
        ...received.map((one) => tolerate(one.report, () => keep(one.received))),
        ...reports.flatMap((report) =>
          report.kind === 'status' ? [tolerate(report, () => applyOne({ workspaceId, channel, report }))] : [],
        ),
        ...reports.flatMap((report) =>
          report.kind === 'preference' ? [tolerate(report, () => preferOne({ workspaceId, channel, report }))] : [],
        ),
      ])
      const rest = reports.filter(({ kind }) => !inBulk.has(kind))
      for (const report of rest) await tolerate(report, () => takeRest(connection, report))
      await learnRecipients(connection, reports)
      if (reports.length > 0) signalMessages(signals, workspaceId, channel)
    },
  }

  /** Fill in names the callback does not carry, of people we have no name of. */
  async function lookUp(adapter: Channel, connection: Connection, received: Received[]): Promise<void> {
    const known = await Promise.all(received.map(({ from }) => findOne(from)))
    const asked = new Map<string, Promise<void>>()
    received.forEach(({ from }, place) => {
      const userId = from.user_id
      if (!userId || known[place]?.social_username) return
      const look = asked.get(userId) ?? Promise.resolve()
      asked.set(
        userId,
        look.then(async () => {
          const profile = await within(profilePatienceMs, Promise.resolve(adapter.fetchProfile?.(connection, userId)))
          if (!profile) return
          for (const one of received) {
            if (one.from.user_id === userId)
              Object.assign(one.from, { ...profile, name: one.from.name ?? profile.name })
          }
        }),
      )
    })
    await Promise.all(asked.values())
  }

  /** A status may tell us another name of whom we wrote to. */
  async function learnRecipients({ workspace_id, channel }: Connection, reports: readonly Report[]): Promise<void> {
    const named = new Map<string, Who>()
    for (const report of reports) {
      // The first of the three reports of a message is enough.
      const isFirst = report.kind === 'status' && report.status === 'sent'
      const { phone, user_id } = (isFirst && report.recipient) || { phone: null, user_id: null }
      if (phone && user_id) named.set(user_id, { workspace_id, channel, phone, user_id })
    }
    const people = [...named.values()]
    const threads = await Promise.all(people.map(findOne))
    const news = people.flatMap((person, place) => {
      const thread = threads[place]
      const isNews = thread && thread.name_count < identitiesOf(person).length
      return isNews ? [{ ...person, contact_id: thread.contact_id }] : []
    })
    if (news.length > 0) await learnPeople(db, news)
  }
}

type Preferred = { workspaceId: string; channel: ChannelName; report: Extract<Report, { kind: 'preference' }> }

/**
 * What people told the channel itself. Somebody we do not know yet is made: whoever writes to them next, perhaps with a
 * broadcast, must know.
 */
async function applyPreferences(db: Db, preferred: readonly Preferred[]): Promise<undefined[]> {
  const people = preferred.map(({ workspaceId, channel, report }) => {
    const { phone, user_id, name } = report.from
    return { workspace_id: workspaceId, channel, phone, user_id, name }
  })
  const { found } = await resolvePeople(db, people)
  const decisions = preferred.map(({ workspaceId, report }, place): Decision => {
    const contact_id = found[place]?.contact_id
    if (!contact_id) throw new Error('somebody just found or made is not there')
    return { workspace_id: workspaceId, contact_id, wish: report.wants, by: 'channel', at: report.at, message_id: null }
  })
  await applyDecisions(db, decisions)
  return preferred.map(() => undefined)
}

/** Apply the reports whose message came after them, and tell their workspaces. */
export async function applyEarly(
  db: Db,
  onMediaGone: Intaking['onMediaGone'],
  signals: Signals,
  applying: StatusContext,
): Promise<void> {
  const { follower } = applying
  const echoes: EarlyReport[] = []
  const touched = new Set<string>()
  await db.begin(async (sql) => {
    const statuses: Reported[] = []
    for (const early of await takeEarly(sql)) {
      const { workspace_id: workspaceId, report } = early
      const { channel } = report
      touched.add(workspaceId)
      if (report.kind === 'status') statuses.push({ workspaceId, channel, report, isRetry: true })
      else if (report.kind === 'edit' || report.kind === 'revoke') {
        onMediaGone((await applyCorrection(sql, workspaceId, channel, report)).media)
      } else if (report.kind === 'read_up_to') await applyReadUpTo(sql, workspaceId, report.external_id)
      else if (report.kind === 'echo') echoes.push(early)
    }
    if (statuses.length > 0) await applyStatuses(sql, statuses, applying)
  })
  // An echo has transactions of its own; one that is lost here is only an echo.
  for (const { workspace_id: workspaceId, report } of echoes) {
    if (report.kind === 'echo') await keepEcho(db, workspaceId, report.channel, report, follower)
  }
  for (const workspaceId of touched) signals.changed(workspaceId)
}
