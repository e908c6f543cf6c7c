/** Routing beyond what the framework does: HEAD requests, unknown paths, malformed paths and queries. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ParsedUrlQuery, parse as parseQuerystring } from 'node:querystring'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify'
import { errorBody } from '../errors.ts'

export function sendUnknownPath(_request: FastifyRequest, reply: FastifyReply): void {
  reply.code(404).send(errorBody('not_found', 'no such path'))
}

/** The `Allow` header, if the path exists for other methods. */
export function allowHeader({ server, url }: FastifyRequest): Record<string, string> {
  const methods = server.allowedMethods(url.split('?')[0] ?? '')
  return methods.length > 0 ? { allow: methods.join(', ') } : {}
}

/**
 * Finds the methods of a path: `/contacts/batch` has its own and not those of `/contacts/:id`. It is used only for unknown routes,
 * so it scans all of them.
 */
export function createPathIndex() {
  const routes: { url: string; pattern: RegExp; methods: readonly string[] }[] = []
  return {
    add(url: string, methods: readonly string[]): void {
      const source = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+')
      routes.push({ url, pattern: new RegExp(`^${source.replaceAll('*', '.*')}$`), methods })
    },
    methodsAt(path: string): string[] {
      const own = routes.filter(({ url }) => url === path)
      const found = own.length > 0 ? own : routes.filter(({ pattern }) => pattern.test(path))
      const methods = found.flatMap((route) => route.methods)
      return [...new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)].sort()
    },
  }
}

const headRequests = new WeakSet<IncomingMessage>()

/**
 * Routes HEAD requests to the handlers of GET. The router sees a GET, and the first hook calls `restoreHead`. Node sends no
 * body, because it created the response for a HEAD.
 */
export function routeHeadAsGet(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  return (request: IncomingMessage, response: ServerResponse) => {
    if (request.method === 'HEAD') {
      headRequests.add(request)
      request.method = 'GET'
    }
    handle(request, response)
  }
}

export function restoreHead(request: IncomingMessage): void {
  if (headRequests.has(request)) request.method = 'HEAD'
}

/** Does not read a file or an export to its end for the sake of its headers. */
export const dropHeadBody: onSendHookHandler<unknown> = (request, _reply, payload, done) => {
  if (request.method !== 'HEAD' || !(payload instanceof Readable)) return done(null, payload)
  payload.destroy()
  done(null, null)
}

/** Escapes percent signs of a path that cannot be decoded, so that it becomes an unknown path instead of an error. */
export function toDecodableUrl(url: string): string {
  if (!url.includes('%')) return url
  const [path = '', ...query] = url.split('?')
  try {
    decodeURIComponent(path)
    return url
  } catch {
    return [path.replaceAll('%', '%25'), ...query].join('?')
  }
}

/**
 * Parses a query. A repeated parameter becomes a list, which every schema here refuses. `name[]=a` and `name[0]=a`, the way
 * several HTTP libraries write lists, set the parameter `name`.
 */
export function parseQuery(text: string): ParsedUrlQuery {
  const query = parseQuerystring(text)
  if (!/\[|%5b/i.test(text)) return query
  const lists = Object.keys(query).filter((name) => /^[^[]+\[\w*\]$/.test(name))
  for (const list of lists) {
    const name = list.slice(0, list.indexOf('['))
    const values = [query[name] ?? [], query[list] ?? []].flat()
    query[name] = values.length === 1 ? values[0] : values
  }
  return query
}
