/**
 * The steps of a request. `server/steps.ts` lists them in order; modules export them.
 *
 * A step that all requests of a part of the service take is a hook of that part. Any other step names the hooks that a route gets:
 * a route without the step pays nothing for it.
 */
import type { onRequestHookHandler, onResponseHookHandler, RouteOptions } from 'fastify'
import { ApiError } from '../errors.ts'
import { allowHeader, sendUnknownPath } from './request-routing.ts'
import { type App, listOf } from './server.ts'

const phases = ['onRequest', 'preValidation', 'preHandler', 'preSerialization', 'onSend', 'onResponse'] as const

type RouteHooks = Pick<RouteOptions, (typeof phases)[number]> & { handler?: RouteOptions['handler'] }

export type Step = {
  /** Fields that the step sets on a request. */
  fields?: readonly string[]
  /** For every request, also to an unknown path. */
  onRequest?: onRequestHookHandler
  onResponse?: onResponseHookHandler
  /** The hooks of this route, or a handler that replaces its own. Undefined: the route does not take the step. */
  ofRoute?(route: RouteOptions): RouteHooks | undefined
}

/** Applies the steps to all routes of `app` that are registered later, and to its unknown paths. */
export function applySteps(app: App, steps: readonly Step[]): void {
  app.setNotFoundHandler(sendUnknownPath)
  for (const { fields = [], onRequest, onResponse } of steps) {
    for (const field of fields) app.decorateRequest(field, undefined)
    if (onRequest) app.addHook('onRequest', onRequest)
    if (onResponse) app.addHook('onResponse', onResponse)
  }
  app.addHook('onRoute', (route) => {
    const ownChecks = listOf(route.onRequest)
    route.onRequest = []
    for (const { ofRoute } of steps) {
      const { handler, ...hooks } = ofRoute?.(route) ?? {}
      if (handler) route.handler = handler
      for (const phase of phases) addHooks(route, phase, hooks)
    }
    route.onRequest = [...listOf(route.onRequest), ...ownChecks]
  })
}

function addHooks<Phase extends (typeof phases)[number]>(route: RouteOptions, phase: Phase, hooks: RouteHooks): void {
  const added: unknown[] = listOf(hooks[phase] as unknown)
  if (added.length > 0) route[phase] = [...listOf(route[phase] as unknown), ...added] as RouteOptions[Phase]
}

/** Refuses unknown paths and methods before the body is read. */
export const refuseUnknownPath: Step = {
  onRequest: (request, _reply, done) =>
    done(request.is404 ? new ApiError('not_found', 'no such path', allowHeader(request)) : undefined),
}
