/**
 * The HTTP application: every route plugin on one screen.
 */
import type { FastifyBaseLogger, RouteOptions } from 'fastify'
import { authenticateKeys } from './accounts/auth.ts'
import { accountDashboard } from './accounts/dashboard.ts'
import { keepAnswers } from './accounts/idempotency.ts'
import { accountRoutes } from './accounts/routes.ts'
import { authenticateMembers } from './accounts/sessions.ts'
import { contactRoutes } from './contacts/routes.ts'
import { conversationFields } from './conversations/filter-fields.ts'
import type { Db } from './lib/db.ts'
import type { Metrics } from './lib/metrics.ts'
import { describeApi } from './lib/openapi.ts'
import { type App, createServer, refuseUnknownPaths, type Serving } from './lib/server.ts'
import { contactFields } from './segments/filter.ts'
import { segmentRoutes } from './segments/routes.ts'
import { systemRoutes } from './system.ts'

export type Application = {
  db: Db
  /** A small pool of its own for hot statements, so that no slow one is ahead of them. */
  hotDb: Db
  log: FastifyBaseLogger
  metrics: Metrics
  publicUrl: string
  /** Without it only the paths an operator needs are served. */
  api: boolean
  tls?: Serving['tls']
  limits?: Serving['limits']
}

/** Everything a segment's filter may ask. */
const filterFields = { ...contactFields, ...conversationFields }

export async function createApp({
  db,
  hotDb,
  log,
  metrics,
  publicUrl,
  api,
  tls,
  limits = {},
}: Application): Promise<App> {
  const app = createServer({ log, metrics, tls, limits })
  const routes: RouteOptions[] = []

  if (api) {
    await app.register(
      async (v1: App) => {
        v1.addHook('onRoute', (route) => void routes.push(route))
        authenticateKeys(v1, hotDb)
        refuseUnknownPaths(v1)
        keepAnswers(v1, db)
        v1.register(accountRoutes())
        v1.register(contactRoutes(db))
        v1.register(segmentRoutes(db, filterFields))
      },
      { prefix: '/v1' },
    )
    await app.register(
      async (members: App) => {
        authenticateMembers(members, db, publicUrl)
        refuseUnknownPaths(members)
        members.register(accountDashboard(db, publicUrl))
      },
      { prefix: '/app/api' },
    )
  }

  const document = describeApi(routes, {
    title: 'Parley API',
    description: apiDescription,
    url: `${publicUrl}/v1`,
    tags: [
      { name: 'Account', description: 'The workspace and the key a request acts with.' },
      { name: 'Contacts', description: 'The people you talk to, found by phone number or by their channel identity.' },
      { name: 'Segments', description: 'Named audiences: a list you keep, or a filter computed on every read.' },
    ],
  })
  await app.register(systemRoutes({ db, metrics, document: api ? document : undefined }))
  return app
}

const apiDescription = `Customer messaging you host yourself.

Every request carries \`Authorization: Bearer <API key>\`. Success is \`{ data }\`, a list is \`{ data, meta: { next_cursor } }\`,
a failure is \`{ error: { code, message } }\`: branch on \`code\`. Each key may make 120 requests a minute; every answer says how
many are left. A POST with an \`Idempotency-Key\` header can be repeated safely. Quote the \`X-Request-Id\` of an answer when you ask for help.`
