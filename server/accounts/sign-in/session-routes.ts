/** `/setup`, `/session`, `/sessions`, `/invitations`, `/password-resets`, `/profile`: the first run, signing in and out, a member's own data. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Sealer } from '../../lib/crypto.ts'
import { badRequest } from '../../lib/errors.ts'
import type { Mailer } from '../../lib/mail.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { DateTime, IdParams, NullableText, OneOf, type Static, Type, Uuid } from '../../lib/schema.ts'
import { nameFields } from '../audit.ts'
import type { Session } from '../callers.ts'
import { acceptInvitation, requireInvitation, roles, visibilities } from '../members.ts'
import { isOperator, type OperatorWorkspace } from '../operator.ts'
import { type Row, row } from '../table.ts'
import { clearSessionCookie, readDevice } from './cookies.ts'
import { rememberDevice } from './devices.ts'
import { completeReset, requireReset, sendResets } from './password-resets.ts'
import { updateProfile } from './profile.ts'
import { isRecoveryCode } from './second-factor.ts'
import {
  createSession,
  endAllSessions,
  endOtherSessions,
  endSession,
  endSessionById,
  enterSession,
  listSessions,
  originOf,
  signIn,
  toEmailKey,
} from './sessions.ts'
import { getDemoHint, needsSetup, type Setup, setUp, visitOf } from './setup.ts'
import { countResetRequest } from './throttle.ts'

const SetupView = Type.Object({
  needed: Type.Boolean(),
  sends_email: Type.Boolean(),
  single_sign_on: NullableText(),
  demo: Type.Unsafe<{ email: string; password: string | null } | null>({
    type: ['object', 'null'],
    properties: { email: { type: 'string' }, password: { type: ['string', 'null'] } },
    required: ['email', 'password'],
  }),
})
const FirstWorkspace = Type.Object({
  token: Type.String({ maxLength: 200 }),
  workspace_name: Type.String({ maxLength: 200 }),
  default_country: Type.String({ maxLength: 20 }),
  time_zone: Type.Optional(Type.String({ maxLength: 80, description: 'Of the browser.' })),
  name: Type.String({ maxLength: 200 }),
  email: Type.String({ maxLength: 320 }),
  password: Type.String({ maxLength: 1_000 }),
})

const SignIn = Type.Object({
  email: Type.String({ maxLength: 320 }),
  password: Type.String({ maxLength: 1_000 }),
  workspace_id: Type.Optional(Uuid),
  choose_workspace: Type.Optional(
    Type.Boolean({
      description: 'If the password opens several workspaces, the error has them in `details.workspaces`.',
    }),
  ),
  second_factor_code: Type.Optional(Type.String({ maxLength: 100 })),
})

const SessionView = Type.Object({
  member: Type.Object({ id: Uuid, email: Type.String(), name: NullableText(), role: OneOf(roles) }),
  role: OneOf(roles),
  sees: OneOf(visibilities, { description: 'Which conversations the member sees.' }),
  workspace: Type.Object({ id: Uuid, name: Type.String(), default_country: Type.String() }),
  has_password: Type.Boolean(),
  second_factor_due: Type.Boolean(),
  is_operator: Type.Boolean({ description: 'May see the status of the installation.' }),
})

const ListedSession = Type.Object({
  id: Uuid,
  created_at: DateTime,
  last_seen_at: DateTime,
  address: NullableText(),
  user_agent: NullableText(),
  is_current: Type.Boolean(),
})
const Ended = Type.Object({ ended: Type.Integer() })
const EndQuery = Type.Object({ including_current: Type.Optional(OneOf(['true'])) })
const isEverywhere = (query: unknown): boolean => (query as Static<typeof EndQuery>).including_current === 'true'

const ProfileChanges = Type.Object({
  name: Type.Optional(Type.String({ maxLength: 200 })),
  current_password: Type.Optional(Type.String({ maxLength: 1_000 })),
  new_password: Type.Optional(Type.String({ maxLength: 1_000 })),
})

const TokenParams = Type.Object({ token: Type.String() })
const InvitationView = Type.Object({ workspace_name: Type.String(), email: Type.String(), role: OneOf(roles) })
const ResetRequest = Type.Object({ email: Type.String({ maxLength: 320 }) })
const NewPassword = Type.Object({ password: Type.String({ maxLength: 1_000 }) })
const Acceptance = Type.Object({ name: Type.String({ maxLength: 200 }), password: Type.String({ maxLength: 1_000 }) })

const fromAddress = (_data: unknown, body: Static<typeof SignIn>, { clientAddress }: FastifyRequest) =>
  `from ${clientAddress}${isRecoveryCode(body.second_factor_code ?? '') ? ', with a recovery code' : ''}`

type Dashboard = {
  db: Db
  sealer: Sealer
  publicUrl: string
  setup: Setup
  mailer: Mailer | undefined
  oidcName: string | undefined
  operatorWorkspace: OperatorWorkspace
  /** A member has signed out. The module of teams makes the member offline. */
  onSignedOut: (member: { workspaceId: string; memberId: string }) => Promise<void>
}

export function sessionTable({
  db,
  sealer,
  publicUrl,
  setup,
  mailer,
  oidcName,
  operatorWorkspace,
  onSignedOut,
}: Dashboard): readonly Row[] {
  const viewOf = async (session: Session): Promise<Static<typeof SessionView>> => ({
    ...toView(session),
    is_operator: await isOperator(db, session, operatorWorkspace),
  })
  const enter = (request: FastifyRequest, reply: FastifyReply, token: string): Promise<Session> =>
    enterSession(db, sealer, { request, reply, token, publicUrl })
  return [
    row({
      call: 'GET /setup',
      members: 'public',
      data: SetupView,
      run: async (request) => ({
        needed: await needsSetup(db),
        sends_email: mailer !== undefined,
        single_sign_on: oidcName ?? null,
        demo: await getDemoHint(db, setup, visitOf(request, publicUrl)),
      }),
    }),
    row({
      call: 'POST /setup',
      members: 'public',
      audit: {
        action: 'workspace.created',
        summary: (_: unknown, { workspace_name }: Static<typeof FirstWorkspace>) => workspace_name.trim(),
      },
      body: FirstWorkspace,
      data: SessionView,
      status: 201,
      run: async (request, reply) => {
        const token = await setUp(db, setup, request.body, originOf(request, publicUrl))
        request.caller = await enter(request, reply, token)
        return viewOf(request.caller)
      },
    }),

    row({
      call: 'POST /session',
      members: 'public',
      audit: { action: 'session.created', summary: fromAddress },
      body: SignIn,
      data: SessionView,
      run: async (request, reply) => {
        const { email, password, workspace_id: workspaceId, second_factor_code: code, choose_workspace } = request.body
        const device = readDevice(request, { sealer, emailKey: toEmailKey(email), publicUrl })
        const token = await signIn(
          db,
          sealer,
          { email, password, workspaceId, code, mayChoose: choose_workspace === true },
          originOf(request, publicUrl),
          device,
        )
        request.caller = await enter(request, reply, token)
        return viewOf(request.caller)
      },
    }),
    row({
      call: 'GET /session',
      members: roles,
      isForSetup: true,
      data: SessionView,
      run: ({ caller }) => viewOf(caller),
    }),
    row({
      call: 'DELETE /session',
      members: roles,
      isForSetup: true,
      audit: 'session.ended',
      data: Type.Object({ signed_out: Type.Boolean() }),
      run: async ({ caller }, reply) => {
        await endSession(db, caller)
        clearSessionCookie(reply, publicUrl)
        await onSignedOut({ workspaceId: caller.workspaceId, memberId: caller.member.id })
        return { signed_out: true }
      },
    }),

    row({
      call: 'GET /sessions',
      members: roles,
      data: Type.Array(ListedSession),
      run: ({ caller }) => listSessions(db, caller),
    }),
    row({
      call: 'DELETE /sessions/:id',
      members: roles,
      audit: 'session.ended',
      params: IdParams,
      data: Ended,
      run: async ({ caller, params }) => {
        await endSessionById(db, caller, params.id)
        return { ended: 1 }
      },
    }),
    row({
      call: 'DELETE /sessions',
      members: roles,
      audit: {
        action: 'session.ended',
        summary: ({ ended }: Static<typeof Ended>, _: unknown, { query }) =>
          `${isEverywhere(query) ? 'everywhere' : 'all others'}: ${ended}`,
      },
      query: EndQuery,
      data: Ended,
      run: async (request, reply) => {
        const { caller, query } = request
        const isAll = isEverywhere(query)
        const ended = await (isAll ? endAllSessions(db, caller) : endOtherSessions(db, caller))
        if (isAll) clearSessionCookie(reply, publicUrl)
        else await rememberDevice(db, sealer, { request, reply, session: caller, publicUrl })
        return { ended }
      },
    }),
    row({
      call: 'PATCH /profile',
      members: roles,
      audit: {
        action: 'profile.changed',
        summary: (_: unknown, body: Static<typeof ProfileChanges>) => nameFields(body, 'name', 'new_password'),
      },
      body: ProfileChanges,
      data: SessionView,
      run: async (request, reply) => {
        const { caller, body } = request
        await updateProfile(db, caller, body)
        if (body.new_password !== undefined)
          await rememberDevice(db, sealer, { request, reply, session: caller, publicUrl })
        const name = body.name === undefined ? caller.member.name : body.name.trim()
        return viewOf({ ...caller, member: { ...caller.member, name } })
      },
    }),

    row({
      call: 'POST /password-resets',
      members: 'public',
      audit: false,
      body: ResetRequest,
      data: Type.Object({ requested: Type.Boolean() }),
      status: 202,
      run: async (request) => {
        if (!mailer) throw badRequest('this server sends no email: ask its operator to reset your password')
        const emailKey = toEmailKey(request.body.email)
        await countResetRequest(db, request.clientAddress, emailKey)
        // The response does not wait: its time would show whether the member exists.
        sendResets(db, { emailKey, mailer, publicUrl, log: request.log }).catch((error) =>
          request.log.error({ err: error }, 'a password reset failed'),
        )
        return { requested: true }
      },
    }),
    row({
      call: 'GET /password-resets/:token',
      members: 'public',
      params: TokenParams,
      data: Type.Object({ email: Type.String() }),
      run: ({ params }) => requireReset(db, params.token),
    }),
    row({
      call: 'POST /password-resets/:token',
      members: 'public',
      audit: false,
      params: TokenParams,
      body: NewPassword,
      data: Type.Object({ changed: Type.Boolean() }),
      run: async ({ params, body }) => {
        await completeReset(db, params.token, body.password)
        return { changed: true }
      },
    }),
    row({
      call: 'GET /invitations/:token',
      members: 'public',
      params: TokenParams,
      data: InvitationView,
      run: ({ params }) => requireInvitation(db, params.token),
    }),
    row({
      call: 'POST /invitations/:token',
      members: 'public',
      audit: { action: 'member.joined', summary: ({ role }: Static<typeof SessionView>) => `as ${role}` },
      params: TokenParams,
      body: Acceptance,
      data: SessionView,
      status: 201,
      run: async (request, reply) => {
        const { workspaceId, member } = await acceptInvitation(db, request.params.token, request.body)
        const token = await createSession(db, workspaceId, member.id, originOf(request, publicUrl))
        request.caller = await enter(request, reply, token)
        return viewOf(request.caller)
      },
    }),
  ]
}

function toView({
  member,
  sees,
  workspaceId,
  workspaceName,
  defaultCountry,
  hasPassword,
  secondFactorDue,
}: Session): Omit<Static<typeof SessionView>, 'is_operator'> {
  const { id, email, name, role } = member
  return {
    member: { id, email, name, role },
    role,
    sees,
    workspace: { id: workspaceId, name: workspaceName, default_country: defaultCountry },
    has_password: hasPassword,
    second_factor_due: secondFactorDue,
  }
}
