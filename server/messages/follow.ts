/**
 * Whose rows follow a message's status.
 *
 * A room to the right may keep rows that mirror what became of a message. It
 * hands over the members of a `with` list that move them, and they become part
 * of the very statement in which the message moves: the two never disagree.
 */
import type { Fragment, Sql } from '../lib/db.ts'

export type Follower = {
  /** Members of a `with` list, for a relation that has `workspace_id, id, sender_type, status, error` of messages. */
  follow(sql: Sql, moved: Fragment): Fragment
  /** Condition on message `m`: it is not with the channel now, and will be sent. */
  isHeld(sql: Sql): Fragment
}

/** What every statement that moves messages needs. */
export type Applying = {
  /** Where the service's own media are served, for the messages in events. */
  publicUrl: string
  follower?: Follower | undefined
}

/** Behind a member of a `with` list: those of the follower, if there is one. */
export const andFollow = (sql: Sql, follower: Follower | undefined, moved: Fragment): Fragment =>
  follower ? sql`, ${follower.follow(sql, moved)}` : sql``

export const isHeld = (sql: Sql, follower: Follower | undefined): Fragment =>
  follower ? follower.isHeld(sql) : sql`false`
