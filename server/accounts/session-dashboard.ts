/** `/setup`, `/session`, `/sessions`, `/invitations`, `/password-resets`, `/profile`: the first run, signing in and out, a member's own data. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Sealer } from '../lib/crypto.ts'
import type { Db } from '../lib/db.ts'
import { badRequest } from '../lib/errors.ts'
import type { Mailer } from '../lib/mail.ts'
import { DataOf, DateTime, IdParams, NullableText, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { nameFields } from './audit.ts'
import { clearSessionCookie, readDevice } from './cookies.ts'
import { rememberDevice } from './devices.ts'
import { acceptInvitation, requireInvitation, roles } from './members.ts'
import { isOperator, type OperatorWorkspace } from './operator.ts'
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
  type Session,
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
}

export const sessionDashboard =
  ({ db, sealer, publicUrl, setup, mailer, oidcName, operatorWorkspace }: Dashboard) =>
  async (app: App) => {
    const viewOf = async (session: Session): Promise<Static<typeof SessionView>> => ({
      ...toView(session),
      is_operator: await isOperator(db, session, operatorWorkspace),
    })
    const enter = (request: FastifyRequest, reply: FastifyReply, token: string): Promise<Session> =>
      enterSession(db, sealer, { request, reply, token, publicUrl })
    app.get(
      '/setup',
      { config: { members: 'public' }, schema: { response: { 200: DataOf(SetupView) } } },
      async (request) => ({
        data: {
          needed: await needsSetup(db),
          sends_email: mailer !== undefined,
          single_sign_on: oidcName ?? null,
          demo: await getDemoHint(db, setup, visitOf(request, publicUrl)),
        },
      }),
    )
    app.post(
      '/setup',
      {
        config: {
          members: 'public',
          audit: {
            action: 'workspace.created',
            summary: (_: unknown, { workspace_name }: Static<typeof FirstWorkspace>) => workspace_name.trim(),
          },
        },
        schema: { body: FirstWorkspace, response: { 201: DataOf(SessionView) } },
      },
      async (request, reply) => {
        const token = await setUp(db, setup, request.body, originOf(request, publicUrl))
        request.session = await enter(request, reply, token)
        reply.code(201)
        return { data: await viewOf(request.session) }
      },
    )

    app.post(
      '/session',
      {
        config: { members: 'public', audit: { action: 'session.created', summary: fromAddress } },
        schema: { body: SignIn, response: { 200: DataOf(SessionView) } },
      },
      async (request, reply) => {
        const { email, password, workspace_id: workspaceId, second_factor_code: code, choose_workspace } = request.body
        const device = readDevice(request, { sealer, emailKey: toEmailKey(email), publicUrl })
        const token = await signIn(
          db,
          sealer,
          { email, password, workspaceId, code, mayChoose: choose_workspace === true },
          originOf(request, publicUrl),
          device,
        )
        request.session = await enter(request, reply, token)
        return { data: await viewOf(request.session) }
      },
    )
    app.get(
      '/session',
      { config: { isForSetup: true }, schema: { response: { 200: DataOf(SessionView) } } },
      async ({ session }) => ({ data: await viewOf(session) }),
    )
    app.delete(
      '/session',
      {
        config: { members: roles, isForSetup: true, audit: 'session.ended' },
        schema: { response: { 200: DataOf(Type.Object({ signed_out: Type.Boolean() })) } },
      },
      async ({ session }, reply) => {
        await endSession(db, session)
        clearSessionCookie(reply, publicUrl)
        return { data: { signed_out: true } }
      },
    )

    app.get('/sessions', { schema: { response: { 200: DataOf(Type.Array(ListedSession)) } } }, async ({ session }) => ({
      data: await listSessions(db, session),
    }))
    app.delete(
      '/sessions/:id',
      {
        config: { members: roles, audit: 'session.ended' },
        schema: { params: IdParams, response: { 200: DataOf(Ended) } },
      },
      async ({ session, params }) => {
        await endSessionById(db, session, params.id)
        return { data: { ended: 1 } }
      },
    )
    app.delete(
      '/sessions',
      {
        config: {
          members: roles,
          audit: {
            action: 'session.ended',
            summary: ({ ended }: Static<typeof Ended>, _: unknown, { query }) =>
              `${isEverywhere(query) ? 'everywhere' : 'all others'}: ${ended}`,
          },
        },
        schema: { querystring: EndQuery, response: { 200: DataOf(Ended) } },
      },
      async (request, reply) => {
        const { session, query } = request
        const isAll = isEverywhere(query)
        const ended = await (isAll ? endAllSessions(db, session) : endOtherSessions(db, session))
        if (isAll) clearSessionCookie(reply, publicUrl)
        else await rememberDevice(db, sealer, { request, reply, session, publicUrl })
        return { data: { ended } }
      },
    )
    app.patch(
      '/profile',
      {
        config: {
          members: roles,
          audit: {
            action: 'profile.changed',
            summary: (_: unknown, body: Static<typeof ProfileChanges>) => nameFields(body, 'name', 'new_password'),
          },
        },
        schema: { body: ProfileChanges, response: { 200: DataOf(SessionView) } },
      },
      async (request, reply) => {
        const { session, body } = request
        await updateProfile(db, session, body)
        if (body.new_password !== undefined) await rememberDevice(db, sealer, { request, reply, session, publicUrl })
        const name = body.name === undefined ? session.member.name : body.name.trim()
        return { data: await viewOf({ ...session, member: { ...session.member, name } }) }
      },
    )

    app.post(
      '/password-resets',
      {
        config: { members: 'public', audit: false },
        schema: { body: ResetRequest, response: { 202: DataOf(Type.Object({ requested: Type.Boolean() })) } },
      },
      async (request, reply) => {
        if (!mailer) throw badRequest('this server sends no e-mail: ask its operator to reset your password')
        const emailKey = toEmailKey(request.body.email)
        await countResetRequest(db, request.clientAddress, emailKey)
        // The response does not wait: its time would show whether the member exists.
        sendResets(db, { emailKey, mailer, publicUrl, log: request.log }).catch((error) =>
          request.log.error({ err: error }, 'a password reset failed'),
        )
        reply.code(202)
        return { data: { requested: true } }
      },
    )
    app.get(
      '/password-resets/:token',
      {
        config: { members: 'public' },
        schema: { params: TokenParams, response: { 200: DataOf(Type.Object({ email: Type.String() })) } },
      },
      async ({ params }) => ({ data: await requireReset(db, params.token) }),
    )
    app.post(
      '/password-resets/:token',
      {
        config: { members: 'public', audit: false },
        schema: {
          params: TokenParams,
          body: NewPassword,
          response: { 200: DataOf(Type.Object({ changed: Type.Boolean() })) },
        },
      },
      async ({ params, body }) => {
        await completeReset(db, params.token, body.password)
        return { data: { changed: true } }
      },
    )
    app.get(
      '/invitations/:token',
      { config: { members: 'public' }, schema: { params: TokenParams, response: { 200: DataOf(InvitationView) } } },
      async ({ params }) => ({ data: await requireInvitation(db, params.token) }),
    )
    app.post(
      '/invitations/:token',
      {
        config: {
          members: 'public',
          audit: { action: 'member.joined', summary: ({ role }: Static<typeof SessionView>) => `as ${role}` },
        },
        schema: { params: TokenParams, body: Acceptance, response: { 201: DataOf(SessionView) } },
      },
      async (request, reply) => {
        const { workspaceId, member } = await acceptInvitation(db, request.params.token, request.body)
        const token = await createSession(db, workspaceId, member.id, originOf(request, publicUrl))
        request.session = await enter(request, reply, token)
        reply.code(201)
        return { data: await viewOf(request.session) }
      },
    )
  }

function toView({
  member,
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
    workspace: { id: workspaceId, name: workspaceName, default_country: defaultCountry },
    has_password: hasPassword,
    second_factor_due: secondFactorDue,
  }
}
