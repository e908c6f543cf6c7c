/**
 * Rows of another module that mirror the status of a message: the recipients of a broadcast.
 *
 * That module provides the members of a `with` list that update its rows. They become part of the statement that changes
 * the message, so the two cannot disagree.
 */
import type { Fragment, Sql } from '../lib/postgres/db.ts'

export type StatusFollower = {
  /** Members of a `with` list, for a relation that has `workspace_id, id, sender_type, status, error` of messages. */
  follow(sql: Sql, messages: Fragment): Fragment
  /** Condition on message `m`: it is not with the channel now and waits for its next attempt. */
  awaitsRetry(sql: Sql): Fragment
}

/** What every statement that changes the status of messages needs. */
export type StatusContext = {
  /** The base URL of our media links, for the messages in events. */
  publicUrl: string
  follower?: StatusFollower | undefined
}

/** The members of the follower, with a comma before them; empty without a follower. */
export const followStatus = (sql: Sql, follower: StatusFollower | undefined, messages: Fragment): Fragment =>
  follower ? sql`, ${follower.follow(sql, messages)}` : sql``

export const awaitsRetry = (sql: Sql, follower: StatusFollower | undefined): Fragment =>
  follower ? follower.awaitsRetry(sql) : sql`false`
