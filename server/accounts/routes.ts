/** `GET /me`: who a key is and what it may do. */
import { DataOf, inDocument, Type, Uuid } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'
import { scopes } from './keys.ts'

const Me = Type.Object(
  {
    account: Type.Object({ id: Uuid, name: Type.String() }),
    key: Type.Object({ id: Uuid, scopes: Type.Array(Type.String(inDocument({ enum: scopes }))) }),
  },
  {
    title: 'Me',
    examples: [
      {
        account: { id: '0199c1d2-5a00-7e10-8b6f-2d4c6e8fa001', name: 'Acme Support' },
        key: { id: '0199c1d2-5a00-7e10-8b6f-2d4c6e8fa002', scopes: ['contacts:read', 'messages:send'] },
      },
    ],
  },
)

export const accountRoutes = () => async (app: App) => {
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
      },
    }),
  )
}
