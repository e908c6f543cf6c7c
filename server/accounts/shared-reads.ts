/**
 * Shared reads: concurrent requests of a workspace for the same list share one run.
 *
 * A dashboard of the customer's own, a bot and a CRM ask for the same first page again and again. A request never gets a result
 * that was read before it arrived: requests that arrive during a run share the next one (`createCoalescer`).
 */
import { createCoalescer } from '../lib/coalescer.ts'
import type { Step } from '../lib/http/apply-steps.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The response depends on the workspace and the URL only. */
    isShared?: boolean
  }
}

/**
 * The response of a route with `isShared` is serialized once and sent as the same bytes. A handler may return the bytes itself
 * (`lib/page-text.ts`).
 */
export function shareReads(): Step {
  const coalesce = createCoalescer()
  return {
    ofRoute: ({ config, handler }) =>
      config?.isShared
        ? {
            async handler(request, reply) {
              const body = await coalesce(`${request.caller?.workspaceId} ${request.url}`, async () => {
                const result = await handler.call(this, request, reply)
                return Buffer.isBuffer(result) ? result : Buffer.from(String(reply.serialize(result)))
              })
              reply.type('application/json; charset=utf-8')
              return body
            },
          }
        : undefined,
  }
}
