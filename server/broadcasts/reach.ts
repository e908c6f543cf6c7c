/**
 * How a broadcast reaches its contacts: by their phone number, or else by the user id by which the provider account of its number knows
 * them. A contact with neither is skipped, and so is one without a number if the template needs one.
 */
import type { Channel, Connection, Template } from '../channels/channel.ts'
import { userIdOf } from '../contacts/scope.ts'
import type { Fragment, Sql } from '../lib/postgres/db.ts'
import { optedOutReason } from './broadcasts.ts'

export type Reach = {
  /** The scope of the number that sends (`contacts/scope.ts`). */
  scope: string
  needsPhone: boolean
}

export const noPhoneReason = 'has no phone number'
export const needsPhoneReason = 'has no phone number, which the template needs'

export const reachOf = (channel: Channel, { scope }: Pick<Connection, 'scope'>, template: Template): Reach => ({
  scope,
  needsPhone: channel.needsPhone?.(template) ?? false,
})

/** The reasons why the broadcast cannot be sent to contact `c`, as parts of a `case`. Only a contact without a number costs a lookup. */
export const unusableCases = (sql: Sql, { scope, needsPhone }: Reach): Fragment => sql`
  when c.phone is null and ${userIdOf(sql, scope)} is null then ${noPhoneReason}
  when c.phone is null and ${needsPhone}::boolean then ${needsPhoneReason}
  when c.opted_out_at is not null then ${optedOutReason}`
