/** `/assignment` and `/conversations/{id}/queue`: policies of teams, capacities of members, queues and loads, and the position of a conversation. */
import { managers, roles } from '../../accounts/members.ts'
import { type Row, row } from '../../accounts/table.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { IdParams, NullableDateTime, NullableInteger, NullableObject, OneOf, Type, Uuid } from '../../lib/schema.ts'
import type { Signals } from '../../signals/signals.ts'
import { availabilities } from '../../teams/availability.ts'
import {
  type MemberCapacity,
  maxCapacity,
  maxReturnMinutes,
  policies,
  type TeamPolicy,
  updateCapacity,
  updatePolicy,
} from '../../teams/capacity.ts'
import { requireConversation } from '../conversations.ts'
import { listAssignmentMembers, listAssignmentTeams } from './overview.ts'
import { listQueued, maxQueued } from './queue.ts'

const TeamView = Type.Object({
  id: Uuid,
  name: Type.String(),
  color: Type.String(),
  policy: OneOf(policies),
  return_minutes: NullableInteger,
  queued: Type.Integer({ description: `Conversations in the queue; ${maxQueued} means so many or more.` }),
  waiting_since: NullableDateTime,
  member_count: Type.Integer(),
  available_count: Type.Integer(),
})

const MemberView = Type.Object({
  id: Uuid,
  name: Type.String(),
  role: OneOf(roles),
  state: OneOf(availabilities),
  is_chosen: Type.Boolean(),
  since: NullableDateTime,
  capacity: Type.Integer(),
  open: Type.Integer({ description: 'Conversations that count against the capacity.' }),
  team_ids: Type.Array(Uuid),
})

const QueuedView = NullableObject(
  { position: Type.Integer(), waiting_since: NullableDateTime },
  { description: `Null: it is in no queue, or not among the first ${maxQueued}.` },
)

const PolicyChanges = Type.Object({
  policy: Type.Optional(OneOf(policies)),
  return_minutes: Type.Optional(
    Type.Unsafe<number | null>({
      ...{ type: ['integer', 'null'], minimum: 1, maximum: maxReturnMinutes },
      description: 'Null: conversations of members who are offline stay with them.',
    }),
  ),
})

const describePolicy = ({ name, policy, return_minutes: minutes }: TeamPolicy) =>
  `${name}: ${policy}${minutes === null ? '' : `, return after ${minutes} minutes`}`

export const assignmentTable = ({ db, signals }: { db: Db; signals: Signals }): readonly Row[] => [
  row({
    call: 'GET /assignment/teams',
    members: roles,
    data: Type.Array(TeamView),
    run: ({ caller }) => listAssignmentTeams(db, caller),
  }),
  row({
    call: 'GET /assignment/members',
    members: roles,
    data: Type.Array(MemberView),
    run: ({ caller }) => listAssignmentMembers(db, caller),
  }),
  row({
    call: 'GET /conversations/:id/queue',
    members: roles,
    params: IdParams,
    data: QueuedView,
    run: async ({ caller: { workspaceId }, params }) => {
      const { id } = await requireConversation(db, workspaceId, params.id)
      const [queued] = await listQueued(db, workspaceId, [id])
      return queued ?? null
    },
  }),
  row({
    call: 'PATCH /assignment/teams/:id',
    members: managers,
    audit: { action: 'assignment.policy_changed', summary: describePolicy },
    params: IdParams,
    body: PolicyChanges,
    data: Type.Object({ id: Uuid, name: Type.String(), policy: OneOf(policies), return_minutes: NullableInteger }),
    run: async ({ caller, params, body }) => {
      const team = await updatePolicy(db, caller.workspaceId, params.id, body)
      signals.assignmentReady()
      return team
    },
  }),
  row({
    call: 'PATCH /assignment/members/:id',
    members: managers,
    audit: {
      action: 'assignment.capacity_changed',
      summary: ({ email, capacity }: MemberCapacity) => `${email}: ${capacity}`,
    },
    params: IdParams,
    body: Type.Object({ capacity: Type.Integer({ minimum: 0, maximum: maxCapacity }) }),
    data: Type.Object({ id: Uuid, capacity: Type.Integer() }),
    run: async ({ caller, params, body }) => {
      const member = await updateCapacity(db, caller.workspaceId, params.id, body.capacity)
      signals.assignmentReady()
      return member
    },
  }),
]
