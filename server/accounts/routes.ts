/** `GET /me`: who a key is and what it may do. `GET /usage`: the messages of this month. */
import { version } from '../../common/version.ts'
import type { Db } from '../lib/db.ts'
import { DataOf, DateTime, inDocument, Type, Uuid } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { scopes } from './keys.ts'
import { requireUsage } from './quota.ts'

const Me = Type.Object(
  {
    account: Type.Object({ id: Uuid, name: Type.String() }),
    key: Type.Object({ id: Uuid, scopes: Type.Array(Type.String(inDocument({ enum: scopes }))) }),
    version: Type.String({ description: 'The version of the service, such as 1.4.2.' }),
  },
  {
    title: 'Me',
    examples: [
      {
        account: { id: '0199c1d2-5a00-7e10-8b6f-2d4c6e8fa001', name: 'Acme Support' },
        key: { id: '0199c1d2-5a00-7e10-8b6f-2d4c6e8fa002', scopes: ['contacts:read', 'messages:send'] },
        version: '1.4.2',
      },
    ],
  },
)

const Usage = Type.Object(
  {
    month: Type.String({ pattern: '^[0-9]{4}-[0-9]{2}$', description: 'The calendar month, in UTC.' }),
    messages_sent: Type.Integer({
      description: 'The messages that count against the plan, including those that running broadcasts have reserved.',
    }),
    messages_limit: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      description: 'The messages that the plan allows per month; null without a limit.',
    }),
    resets_at: DateTime,
  },
  {
    title: 'Usage',
    examples: [
      { month: '2026-01', messages_sent: 1_204, messages_limit: 10_000, resets_at: '2026-02-01T00:00:00.000Z' },
    ],
  },
)

export const accountRoutes = (db: Db) => async (app: App) => {
  app.get(
    '/me',
    {
      config: { scope: null },
      schema: {
        operationId: 'getMe',
        summary: 'Who am I?',
        description: 'The workspace a key acts on and the scopes it has. Every valid key may call it.',
        tags: ['Account'],
        response: { 200: DataOf(Me) },
      },
    },
    async ({ caller }) => ({
      data: {
        account: { id: caller.workspaceId, name: caller.workspaceName },
        key: { id: caller.keyId, scopes: caller.scopes },
        version,
      },
    }),
  )
  app.get(
    '/usage',
    {
      config: { scope: null },
      schema: {
        operationId: 'getUsage',
        summary: 'Usage of this month',
        description:
          'How many messages the workspace has sent this month and how many its plan allows. Any valid key may call it.',
        tags: ['Account'],
        response: { 200: DataOf(Usage) },
      },
    },
    async ({ caller }) => ({ data: await requireUsage(db, caller.workspaceId) }),
  )
}
