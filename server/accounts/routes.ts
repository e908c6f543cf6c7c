/** `GET /me`: who a key is and what it may do. */
import { DataOf, Type, Uuid } from '../lib/schema.ts'
import type { App } from '../lib/server.ts'

const Me = Type.Object(
  {
    account: Type.Object({ id: Uuid, name: Type.String() }),
    key: Type.Object({ id: Uuid, scopes: Type.Array(Type.String()) }),
  },
  { title: 'Me' },
)

export const accountRoutes = () => async (app: App) => {
  app.get(
    '/me',
    {
      config: { scope: null },
      schema: {
        operationId: 'getMe',
        summary: 'Who am I?',
        description:
          'The workspace a key acts on and the scopes it has. Any valid key may ask, even one without scopes.',
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
