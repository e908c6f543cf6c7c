/**
 * Rows of another module that follow messages: the recipients of a broadcast mirror the status of theirs, and responses to it
 * are counted.
 *
 * That module provides the members of a `with` list that update its rows. They become part of the statement that changes
 * or stores the message, so the two cannot disagree.
 */
import { nowMs } from '../lib/clock.ts'
import { msOfId } from '../lib/id.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import type { RunStopper } from './sending/run-stopper.ts'

export type StatusFollower = {
  /** Members of a `with` list, for a relation that has `workspace_id, id, sender_type, status, error` of messages. */
  follow(sql: Sql, messages: Fragment): Fragment
  /** Condition on message `m`: it is not with the channel now and waits for its next attempt. */
  awaitsRetry(sql: Sql): Fragment
  /**
   * Members of a `with` list, for a relation that has `workspace_id, message_id, kind, at`: the broadcast's message that a
   * customer responded to, how (`ResponseKind`), and when.
   */
  respond(sql: Sql, responses: Fragment): Fragment
}

export const responseKinds = ['replied', 'tapped', 'opted_out'] as const
export type ResponseKind = (typeof responseKinds)[number]

/** A channel delivers a message up to 30 days after it was sent. A response counts for 3 more days. */
const responseDays = 33

/**
 * Whether a response to this last message of a broadcast may count. Most conversations have none, and their statements have no
 * part for responses.
 */
export const awaitsResponse = (messageId: string | null | undefined): messageId is string =>
  typeof messageId === 'string' && msOfId(messageId) > nowMs() - responseDays * 86_400_000

/** What every statement that changes the status of messages needs. */
export type StatusContext = {
  /** The base URL of our media links, for the messages in events. */
  publicUrl: string
  follower?: StatusFollower | undefined
  runs?: RunStopper | undefined
}

/** The members of the follower, with a comma before them; empty without a follower. */
export const followStatus = (sql: Sql, follower: StatusFollower | undefined, messages: Fragment): Fragment =>
  follower ? sql`, ${follower.follow(sql, messages)}` : sql``

export const awaitsRetry = (sql: Sql, follower: StatusFollower | undefined): Fragment =>
  follower ? follower.awaitsRetry(sql) : sql`false`
