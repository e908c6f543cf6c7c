/** The query of the inbox, as `GET /conversations` of members takes it and as saved views store it. */
import { type ChannelName, channels } from '../contacts/resource.ts'
import { nowMs } from '../lib/clock.ts'
import { badRequest } from '../lib/errors.ts'
import { isUuid } from '../lib/id.ts'
import { OneOf, type Static, Type } from '../lib/schema.ts'
import { parseTime } from '../lib/time.ts'
import { handlers, statuses } from './filter-fields.ts'
import { type InboxFilters, inboxSorts } from './inbox-plan.ts'

/** About a year: every wait that matters. */
const maxWaitMinutes = 525_600
const maxActiveDays = 3_650
const dayMs = 86_400_000

/** Values of one filter. */
const maxValues = 25
const maxIdsLength = maxValues * 37
const several = (values: string) => `One of ${values}, or several separated by commas.`

export const inboxFilters = {
  sort: Type.Optional(
    OneOf(inboxSorts, {
      description:
        '`newest` (default) and `oldest` by the last message of the customer or reply of a member; `waiting`: longest wait first; `due`: the earliest due time of a target first.',
    }),
  ),
  status: Type.Optional(OneOf(statuses)),
  channel: Type.Optional(Type.String({ maxLength: 100, description: several(channels.join(', ')) })),
  connection: Type.Optional(Type.String({ maxLength: maxIdsLength, description: several('the ids of connections') })),
  assigned: Type.Optional(
    Type.String({ maxLength: maxIdsLength, description: several("`me`, `nobody`, or a member's id") }),
  ),
  team: Type.Optional(Type.String({ maxLength: maxIdsLength, description: several("`nobody`, or a team's id") })),
  label: Type.Optional(
    Type.String({ maxLength: maxIdsLength, description: "A label's id or name, or several ids separated by commas." }),
  ),
  tag: Type.Optional(
    Type.String({
      maxLength: maxIdsLength,
      description: 'The id or the name of a tag of the contact, or several ids separated by commas.',
    }),
  ),
  waiting_minutes: Type.Optional(
    Type.String({ maxLength: 10, description: 'Only conversations whose customer has waited for this long.' }),
  ),
  no_reply: Type.Optional(OneOf(['true'], { description: 'Only conversations whose customer waits for a reply.' })),
  overdue: Type.Optional(OneOf(['true'], { description: 'Only conversations that have missed the time of a target.' })),
  active_days: Type.Optional(
    Type.String({
      maxLength: 10,
      description: 'Only conversations whose customer or member wrote within this many days.',
    }),
  ),
  active_after: Type.Optional(Type.String({ maxLength: 100, description: 'A date-time: not before it.' })),
  active_before: Type.Optional(Type.String({ maxLength: 100, description: 'A date-time: before it.' })),
  unread: Type.Optional(OneOf(['true'])),
  handled_by: Type.Optional(OneOf(handlers, { description: '`bot`: only conversations that an automation handles.' })),
  search: Type.Optional(
    Type.String({ maxLength: 200, description: "A part of the contact's name, number, e-mail address or company." }),
  ),
}

const SavedQuery = Type.Object(inboxFilters)

/** Throws 400 when a value is invalid. `member` is the one whom `me` means. */
export function readInboxQuery({ member }: { member: { id: string } }, query: Static<typeof SavedQuery>): InboxFilters {
  const { sort, status, search } = query
  const agents = readList('assigned', query.assigned)
  if (agents && !agents.every((one) => one === 'me' || one === 'nobody' || isUuid(one))) {
    throw badRequest("assigned: must be `me`, `nobody` or a member's id")
  }
  const teams = readList('team', query.team)
  if (teams && !teams.every((one) => one === 'nobody' || isUuid(one))) {
    throw badRequest("team: must be `nobody` or a team's id")
  }
  const connections = readList('connection', query.connection)
  if (connections && !connections.every(isUuid)) throw badRequest("connection: must be a connection's id")
  const days = readWhole('active_days', query.active_days, maxActiveDays)
  const after = readTime('active_after', query.active_after)
  return {
    ...{ sort, status },
    channels: readChannels(query.channel),
    connections,
    agents: agents && [...new Set(agents.map((one) => (one === 'me' ? member.id : one.toLowerCase())))],
    teams: teams && [...new Set(teams.map((one) => one.toLowerCase()))],
    labels: readNames('label', query.label),
    tags: readNames('tag', query.tag),
    waiting_minutes: readWhole('waiting_minutes', query.waiting_minutes, maxWaitMinutes),
    has_no_reply: query.no_reply === 'true',
    is_overdue: query.overdue === 'true',
    active_after: after ?? (days === undefined ? undefined : new Date(nowMs() - days * dayMs).toISOString()),
    active_before: readTime('active_before', query.active_before),
    unread: query.unread === 'true',
    handled_by: query.handled_by,
    search: search?.trim(),
  }
}

/** The values of a list that is separated by commas. */
function readList(field: string, text: string | undefined): string[] | undefined {
  const values = text?.split(',').map((one) => one.trim())
  if (values && values.length > maxValues) throw badRequest(`${field}: at most ${maxValues} values`)
  return values
}

/** Ids, or one name: a name may contain commas. */
function readNames(field: string, text: string | undefined): string[] | undefined {
  const values = readList(field, text)
  return values?.every(isUuid) ? values.map((id) => id.toLowerCase()) : text === undefined ? undefined : [text]
}

function readChannels(text: string | undefined): ChannelName[] | undefined {
  const names = readList('channel', text)
  const known = channels.filter((name) => names?.includes(name))
  if (names && known.length < new Set(names).size) {
    throw badRequest(`channel: must be one of ${channels.join(', ')}, or several separated by commas`)
  }
  return names && known
}

function readWhole(field: string, text: string | undefined, max: number): number | undefined {
  if (text === undefined) return undefined
  const number = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (number < 1 || number > max) throw badRequest(`${field}: must be a whole number from 1 to ${max}`)
  return number
}

function readTime(field: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const time = parseTime(text)
  if (time === undefined) throw badRequest(`${field}: must be a date-time such as 2026-01-31T09:30:00Z`)
  return new Date(time).toISOString()
}
