/** `/availability`: a member chooses a state, and a page reports input. A viewer is always offline. */

import type { Times } from '../../common/times.ts'
import { roles, writers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import type { Db } from '../lib/postgres/db.ts'
import { NullableDateTime, OneOf, Type } from '../lib/schema.ts'
import type { Signals } from '../signals/signals.ts'
import { availabilities, readAvailability, reportMembers } from './availability.ts'
import { signalAvailability } from './member-streams.ts'

const AvailabilityView = Type.Object({
  state: OneOf(availabilities),
  is_chosen: Type.Boolean({ description: 'The member chose to be away. Otherwise there was no input.' }),
  since: NullableDateTime,
})

type AvailabilityOptions = {
  db: Db
  signals: Pick<Signals, 'changed' | 'assignmentReady'>
  times: Times['availability']
}

export function availabilityTable({ db, signals, times }: AvailabilityOptions): readonly Row[] {
  const report = async (
    { workspaceId, member }: { workspaceId: string; member: { id: string } },
    input: { isInput: true } | { choice: 'available' | 'away' },
  ) => {
    const key = { workspaceId, memberId: member.id }
    signalAvailability(signals, await reportMembers(db, [key], input, times))
    return readAvailability(db, key)
  }
  return [
    row({
      call: 'GET /availability',
      members: roles,
      data: AvailabilityView,
      run: ({ caller: { workspaceId, member } }) => readAvailability(db, { workspaceId, memberId: member.id }),
    }),
    row({
      call: 'PUT /availability',
      members: writers,
      audit: false,
      isQuiet: true,
      body: Type.Object({ state: OneOf(['available', 'away']) }),
      data: AvailabilityView,
      run: ({ caller, body }) => report(caller, { choice: body.state }),
    }),
    row({
      call: 'POST /availability/input',
      members: writers,
      audit: false,
      isQuiet: true,
      data: AvailabilityView,
      run: ({ caller }) => report(caller, { isInput: true }),
    }),
  ]
}
