/** `/profile/second-factor`: a member sets up, uses and turns off two-step sign-in. */

import type { Sealer } from '../../lib/crypto.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { NullableDateTime, Type } from '../../lib/schema.ts'
import type { Session } from '../callers.ts'
import { roles } from '../members.ts'
import { type Row, row } from '../table.ts'
import { rememberDevice } from './devices.ts'
import { requireCurrentPassword } from './profile.ts'
import {
  confirmSetup,
  type FactorOwner,
  getSecondFactor,
  renewRecoveryCodes,
  startSetup,
  turnOff,
} from './second-factor.ts'

const FactorView = Type.Object({
  confirmed_at: NullableDateTime,
  recovery_codes_left: Type.Integer(),
  is_required: Type.Boolean(),
})
const Start = Type.Object({ current_password: Type.Optional(Type.String({ maxLength: 1_000 })) })
const SetupView = Type.Object({ secret: Type.String(), url: Type.String() })
const Code = Type.Object({ code: Type.String({ maxLength: 100 }) })
const RecoveryCodes = Type.Object({ recovery_codes: Type.Array(Type.String()) })

const ownerOf = ({ workspaceId, member }: Session): FactorOwner => ({ workspaceId, memberId: member.id })

export const secondFactorTable = (db: Db, sealer: Sealer, publicUrl: string): readonly Row[] => [
  row({
    call: 'GET /profile/second-factor',
    members: roles,
    isForSetup: true,
    data: FactorView,
    run: ({ caller }) => getSecondFactor(db, ownerOf(caller)),
  }),
  row({
    call: 'POST /profile/second-factor',
    members: roles,
    isForSetup: true,
    audit: false,
    storeAnswer: false,
    body: Start,
    data: SetupView,
    run: async ({ caller, body }) => {
      const { workspaceId, workspaceName, member, secondFactorDue } = caller
      // A member who has just signed in to set it up has proved the password.
      if (!secondFactorDue) {
        await requireCurrentPassword(db, workspaceId, { id: member.id, current: body.current_password })
      }
      const names = { issuer: `Parley ${workspaceName}`, account: member.email }
      return startSetup(db, sealer, ownerOf(caller), names)
    },
  }),
  row({
    call: 'POST /profile/second-factor/confirm',
    members: roles,
    isForSetup: true,
    audit: 'member.second_factor_enabled',
    storeAnswer: false,
    body: Code,
    data: RecoveryCodes,
    run: async (request, reply) => {
      const { caller, body } = request
      const recovery_codes = await confirmSetup(db, sealer, ownerOf(caller), body.code)
      await rememberDevice(db, sealer, { request, reply, session: caller, publicUrl })
      return { recovery_codes }
    },
  }),
  row({
    call: 'POST /profile/second-factor/recovery-codes',
    members: roles,
    audit: 'member.recovery_codes_created',
    storeAnswer: false,
    body: Code,
    data: RecoveryCodes,
    run: async ({ caller, body }) => ({
      recovery_codes: await renewRecoveryCodes(db, sealer, ownerOf(caller), body.code),
    }),
  }),
  row({
    call: 'DELETE /profile/second-factor',
    members: roles,
    audit: 'member.second_factor_disabled',
    body: Code,
    data: Type.Object({ deleted: Type.Boolean() }),
    run: async (request, reply) => {
      const { caller, body } = request
      await turnOff(db, sealer, ownerOf(caller), body.code)
      await rememberDevice(db, sealer, { request, reply, session: caller, publicUrl })
      return { deleted: true }
    },
  }),
]
