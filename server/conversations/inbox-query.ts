/** The query of the inbox, as `GET /conversations` of members takes it and as saved views store it. */
import type { Session } from '../accounts/callers.ts'
import { channels } from '../contacts/resource.ts'
import { badRequest } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import { OneOf, type Static, Type } from '../lib/schema.ts'
import { statuses } from './filter-fields.ts'
import { type InboxFilters, inboxSorts } from './inbox.ts'

/** About a year: every wait that matters. */
const maxWaitMinutes = 525_600

export const inboxFilters = {
  sort: Type.Optional(
    OneOf(inboxSorts, {
      description:
        '`newest` (default) and `oldest` by the last message of the customer or reply of a member; `waiting`: longest wait first.',
    }),
  ),
  status: Type.Optional(OneOf(statuses)),
  channel: Type.Optional(OneOf(channels)),
  assigned: Type.Optional(Type.String({ maxLength: 100, description: "`me`, `nobody`, or a member's id." })),
  label: Type.Optional(Type.String({ maxLength: 200, description: "A label's id or name." })),
  waiting_minutes: Type.Optional(
    Type.String({ maxLength: 10, description: 'Only conversations whose customer has waited for this long.' }),
  ),
  unread: Type.Optional(OneOf(['true'])),
  search: Type.Optional(
    Type.String({ maxLength: 200, description: "A part of the contact's name, number, e-mail address or company." }),
  ),
}

const SavedQuery = Type.Object(inboxFilters)

/** Throws 400 when a value is invalid. */
export function readInboxQuery({ member }: Session, query: Static<typeof SavedQuery>): InboxFilters {
  const { assigned, waiting_minutes, unread, search, sort, status, channel, label } = query
  const isKnown = assigned === undefined || assigned === 'me' || assigned === 'nobody' || isUuid(assigned)
  if (!isKnown) throw badRequest("assigned: must be `me`, `nobody` or a member's id")
  return {
    ...{ sort, status, channel, label },
    agent: assigned === 'me' ? member.id : assigned,
    waiting_minutes: waiting_minutes === undefined ? undefined : readMinutes(waiting_minutes),
    unread: unread === 'true',
    search: search?.trim(),
  }
}

function readMinutes(text: string): number {
  const minutes = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (minutes < 1 || minutes > maxWaitMinutes) {
    throw badRequest(`waiting_minutes: must be a whole number from 1 to ${maxWaitMinutes}`)
  }
  return minutes
}
