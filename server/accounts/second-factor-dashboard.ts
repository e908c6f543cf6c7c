/** `/profile/second-factor`: a member sets up, uses and turns off two-step sign-in. */
import type { Sealer } from '../lib/crypto.ts'
import type { Db } from '../lib/db.ts'
import { DataOf, NullableDateTime, Type } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { rememberDevice } from './devices.ts'
import { roles } from './members.ts'
import { requireCurrentPassword } from './profile.ts'
import {
  confirmSetup,
  type FactorOwner,
  getSecondFactor,
  renewRecoveryCodes,
  startSetup,
  turnOff,
} from './second-factor.ts'
import type { Session } from './sessions.ts'

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

export const secondFactorDashboard = (db: Db, sealer: Sealer, publicUrl: string) => async (app: App) => {
  app.get(
    '/profile/second-factor',
    { config: { isForSetup: true }, schema: { response: { 200: DataOf(FactorView) } } },
    async ({ session }) => ({ data: await getSecondFactor(db, ownerOf(session)) }),
  )
  app.post(
    '/profile/second-factor',
    {
      // The secret is stored sealed only. Nothing changes until it is confirmed.
      config: { members: roles, isForSetup: true, audit: false, storeAnswer: false },
      schema: { body: Start, response: { 200: DataOf(SetupView) } },
    },
    async ({ session, body }) => {
      const { workspaceId, workspaceName, member, secondFactorDue } = session
      // A member who has just signed in to set it up has proved the password.
      if (!secondFactorDue) {
        await requireCurrentPassword(db, workspaceId, { id: member.id, current: body.current_password })
      }
      const names = { issuer: `Parley ${workspaceName}`, account: member.email }
      return { data: await startSetup(db, sealer, ownerOf(session), names) }
    },
  )
  app.post(
    '/profile/second-factor/confirm',
    {
      // Only hashes of the recovery codes are stored.
      config: { members: roles, isForSetup: true, audit: 'member.second_factor_enabled', storeAnswer: false },
      schema: { body: Code, response: { 200: DataOf(RecoveryCodes) } },
    },
    async (request, reply) => {
      const { session, body } = request
      const recovery_codes = await confirmSetup(db, sealer, ownerOf(session), body.code)
      await rememberDevice(db, sealer, { request, reply, session, publicUrl })
      return { data: { recovery_codes } }
    },
  )
  app.post(
    '/profile/second-factor/recovery-codes',
    {
      config: { members: roles, audit: 'member.recovery_codes_created', storeAnswer: false },
      schema: { body: Code, response: { 200: DataOf(RecoveryCodes) } },
    },
    async ({ session, body }) => ({
      data: { recovery_codes: await renewRecoveryCodes(db, sealer, ownerOf(session), body.code) },
    }),
  )
  app.delete(
    '/profile/second-factor',
    {
      config: { members: roles, audit: 'member.second_factor_disabled' },
      schema: { body: Code, response: { 200: DataOf(Type.Object({ deleted: Type.Boolean() })) } },
    },
    async (request, reply) => {
      const { session, body } = request
      await turnOff(db, sealer, ownerOf(session), body.code)
      await rememberDevice(db, sealer, { request, reply, session, publicUrl })
      return { data: { deleted: true } }
    },
  )
}
