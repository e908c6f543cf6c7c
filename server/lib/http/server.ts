/**
 * The HTTP server without its routes: JSON parsing, one error shape, request ids, and limits on every size and every wait.
 */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifySchema,
  type FastifyTypeProvider,
  LogController,
  type preValidationHookHandler,
  type RawServerDefault,
  type RouteOptions,
} from 'fastify'
import { ApiError, type ErrorCode, errorBody } from '../errors.ts'
import { isUuid, newId } from '../id.ts'
import type { Metrics } from '../process/metrics.ts'
import { outageMessages, outageOf, outageRetrySeconds, outageStatus } from '../process/outage.ts'
import { documentKeyword, memberKeyword, type Static, type TSchema } from '../schema.ts'
import { createClientAddress } from './client-address.ts'
import { compilers } from './compile.ts'
import { compressResponse, decodeBody } from './encoding.ts'
import { compareEtag } from './etag.ts'
import { dropNulls, parseJson, requireStorable } from './json.ts'
import { createLazyLog } from './lazy-log.ts'
import { describeConnectionError, describeRequestError } from './request-errors.ts'
import {
  endRequest,
  endUpload,
  limitPipelining,
  limitResponseTime,
  refuseUnlessComplete,
  startUpload,
  withResponseTimeout,
} from './request-limits.ts'
import {
  allowHeader,
  createPathIndex,
  dropHeadBody,
  parseQuery,
  restoreHead,
  routeHeadAsGet,
  sendUnknownPath,
  toDecodableUrl,
} from './request-routing.ts'

interface SchemaTypes extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  serializer: this['schema'] extends TSchema ? Static<this['schema']> : unknown
}
export type App = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, SchemaTypes>

declare module 'fastify' {
  interface FastifyRequest {
    /** The received bytes of the body, for signatures and comparisons. */
    rawBody: Buffer | undefined
    responseTimer: NodeJS.Timeout | undefined
    /** The error that the response reports. */
    failure: { code: string; message: string; details?: object | undefined; hasEffect?: boolean } | undefined
    /** The client's address. Use it instead of `ip`, which is the address of the last proxy. */
    clientAddress: string
  }
  interface FastifyInstance {
    /** The methods of a path; none if it is unknown. */
    allowedMethods(path: string): string[]
  }
  interface FastifyContextConfig {
    /** The route receives a file, which takes long on a slow connection. `handlerTimeout` limits it, not `requestTimeoutMs`. */
    takesFile?: boolean
    /** The route stands for a provider: a 5xx is simulated and does not count as an error of the service. */
    isSimulated?: boolean
  }
}

export type ServerOptions = {
  log: FastifyBaseLogger
  metrics: Metrics
  tls?: { cert: Buffer; key: Buffer } | undefined
  /** Browsers reach the service by https, here or at a proxy. */
  isHttps?: boolean
  limits?: Partial<typeof defaultLimits>
  /** Networks whose `X-Forwarded-For` is trusted. */
  trustedProxies?: readonly string[] | undefined
  /** Called when the client closes the connection before the end of the response. */
  onClosed?: ((request: FastifyRequest, reply: FastifyReply) => void) | undefined
  /** Called with the error of a request that failed for another reason than the caller's mistake. */
  onFailure?: ((error: unknown) => void) | undefined
  /** Responds to a browser that opens an unknown path. Other clients get the JSON error. */
  sendMissingPage?: ((request: FastifyRequest, reply: FastifyReply) => FastifyReply) | undefined
}

export const defaultLimits = {
  bodyBytes: 1024 * 1024,
  headerBytes: 16 * 1024,
  /** Clients that send their request too slowly are disconnected. */
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveMs: 72_000,
  /** A database that hangs must not keep callers waiting for ever. */
  responseTimeoutMs: 60_000,
  /** How often an idle stream sends a comment and checks its authorization. */
  heartbeatMs: 15_000,
  /** A streaming client that reads nothing for this long is disconnected. */
  drainTimeoutMs: 30_000,
}

export function createServer({
  log,
  metrics,
  tls,
  isHttps = tls !== undefined,
  limits: overrides,
  trustedProxies,
  onClosed,
  onFailure,
  sendMissingPage,
}: ServerOptions): App {
  const limits = { ...defaultLimits, ...overrides }
  const http = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: Math.min(5_000, limits.headersTimeoutMs),
    keepAliveTimeout: limits.keepAliveMs,
    noDelay: true,
    // Nothing here reads it, and Node's own refusal has no body.
    requireHostHeader: false,
  }
  const app = Fastify({
    loggerInstance: log,
    // `reportTo` logs one line per request; the framework would log two.
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: createLazyLog,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    bodyLimit: limits.bodyBytes,
    genReqId: (request) => readRequestId(request.headers['x-request-id']) ?? newId(),
    requestIdHeader: false,
    // As long as the headers allow: an id that is too long must be a 404 like any unknown id.
    routerOptions: { maxParamLength: limits.headerBytes, ignoreTrailingSlash: false, querystringParser: parseQuery },
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: false,
        discriminator: true,
        keywords: [documentKeyword, memberKeyword],
      },
      onCreate: addFormats,
    },
    schemaController: { compilersFactory: compilers },
    rewriteUrl: (request) => toDecodableUrl(request.url ?? '/'),
    clientErrorHandler(error, socket) {
      if (error.code === 'ECONNRESET' || !socket.writable) return
      const refuse = () => {
        const body = JSON.stringify(errorBody('bad_request', describeConnectionError(error.code)))
        socket.end(
          `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\n` +
            `X-Request-Id: ${newId()}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
        )
      }
      if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') refuseUnlessComplete(socket, refuse)
      else refuse()
    },
    serverFactory: (handler) => {
      const server = tls ? createHttpsServer({ ...http, ...tls }) : createHttpServer(http)
      return server.on('request', limitPipelining(routeHeadAsGet(handler)))
    },
  }) as unknown as App

  // Unknown expectations are ignored: Node's own refusal has no body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      request.rawBody = Buffer.isBuffer(body) ? body : Buffer.from(body)
      done(null, parseJson(request.rawBody))
    } catch (error) {
      done(error as Error)
    }
  })
  app.decorateRequest('rawBody', undefined)
  app.decorateRequest('responseTimer', undefined)
  app.decorateRequest('failure', undefined)
  const addressOf = createClientAddress(trustedProxies ?? [], (peer) =>
    log.warn(
      { peer },
      'X-Forwarded-For is ignored: this address is not in TRUSTED_PROXIES, so all its clients share the limits of one',
    ),
  )
  app.decorateRequest('clientAddress', {
    getter() {
      return addressOf(this.socket.remoteAddress, this.headers['x-forwarded-for'])
    },
  })

  app.addHook('onRequest', (request, reply, done) => {
    restoreHead(request.raw)
    reply.header('x-request-id', request.id)
    // One year: browsers then use https for every request to this host.
    if (isHttps) reply.header('strict-transport-security', 'max-age=31536000')
    limitResponseTime(request, reply, limits.responseTimeoutMs)
    // Unlike `onResponse`, this also runs when the client closes the connection. It happens once, and `once` would cost more.
    reply.raw.on('close', () => {
      clearTimeout(request.responseTimer)
      if (!reply.raw.writableFinished) onClosed?.(request, reply)
    })
    done()
  })
  const paths = createPathIndex()
  app.decorate('allowedMethods', paths.methodsAt)
  // Each route gets only the hooks it needs: every hook costs time in each of its requests.
  app.addHook('onRoute', (route) => {
    const { schema, url } = route
    paths.add(url, listOf(route.method))
    if (route.config?.hasEtag) route.onSend = [...listOf(route.onSend), compareEtag]
    if (route.method === 'GET') route.onSend = [...listOf(route.onSend), dropHeadBody, compressResponse]
    if (schema?.body) route.preValidation = [dropNullsOf(schema.body), ...listOf(route.preValidation)]
    if (schema?.body || schema?.querystring) {
      route.preHandler = [checkRequest(schema), ...listOf(route.preHandler)]
    }
    if (!methodsWithoutBody.has(String(route.method))) {
      route.preParsing = [decodeBody, ...listOf(route.preParsing)]
    }
    const { handlerTimeout } = route
    if (handlerTimeout) {
      delete route.handlerTimeout
      route.onRequest = [...listOf(route.onRequest), withResponseTimeout(handlerTimeout)]
    }
    if (route.config?.takesFile) {
      route.onRequest = [...listOf(route.onRequest), startUpload]
      route.onResponse = [...listOf(route.onResponse), endUpload]
    }
    const observe = watchMethods(metrics, route)
    route.onResponse = [...listOf(route.onResponse), reportTo(log, observe, url)]
  })
  const observeUnknown = metrics.watchRoute('any', unknown)
  const reportUnknown = reportTo(log, (_, status, seconds) => observeUnknown(status, seconds), unknown)
  app.addHook('onResponse', (request, reply, done) => {
    endRequest(request.socket)
    if (request.is404) reportUnknown(request, reply, done)
    else done()
  })
  app.setNotFoundHandler((request, reply) => {
    reply.headers(allowHeader(request))
    if (sendMissingPage && wantsPage(request)) sendMissingPage(request, reply.code(404))
    else sendUnknownPath(request, reply)
  })
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const fail = (status: number, code: ErrorCode, message: string, details?: object, hasEffect = false) => {
      request.failure = { code, message, details, hasEffect }
      return reply.code(status).send(errorBody(code, message, details))
    }
    if (error instanceof ApiError) {
      reply.headers(error.headers)
      return fail(error.status, error.code, error.message, error.details, error.hasEffect)
    }
    if (error.validation || (error.statusCode ?? 500) < 500)
      return fail(400, 'bad_request', describeRequestError(error, request.routeOptions.bodyLimit))
    onFailure?.(error)
    request.log.error(
      { err: error, ...describeRequest(request, request.routeOptions.url ?? unknown) },
      'request failed',
    )
    const outage = outageOf(error)
    if (!outage) return fail(500, 'internal', 'something went wrong on our side')
    reply.header('retry-after', String(outageRetrySeconds))
    return fail(outageStatus, 'internal', outageMessages[outage])
  })
  return app
}

/** A browser that opens a page accepts HTML. Scripts and images do not, and programs also accept JSON. */
function wantsPage({ method, headers: { accept = '' } }: FastifyRequest): boolean {
  const accepts = (type: string) => accept.toLowerCase().includes(type)
  return (method === 'GET' || method === 'HEAD') && accepts('text/html') && !accepts('application/json')
}

type Done = (error?: Error) => void

function dropNullsOf(body: Parameters<typeof dropNulls>[1]): preValidationHookHandler {
  return (request, _reply, done) => {
    dropNulls(request.body, body)
    done()
  }
}

/** Runs before the handler, so a malformed request is refused before its resource is looked up. */
function checkRequest({ body, querystring }: FastifySchema) {
  return (request: FastifyRequest, _reply: FastifyReply, done: Done) => {
    if (body) requireStorable(request.body, body)
    if (querystring) requireStorable(request.query, querystring)
    done()
  }
}

const methodsWithoutBody = new Set(['GET', 'HEAD'])

type Observe = (method: string, status: number, seconds: number) => void

/** Counts the responses of a route, in one series per method. HEAD counts as GET where the route has no other. */
function watchMethods(metrics: Metrics, { method, url, config }: RouteOptions): Observe {
  const methods = listOf(method)
  const observers = new Map(methods.map((each) => [each, metrics.watchRoute(each, url)]))
  const first = observers.get(methods[0] ?? '')
  return (method, status, seconds) => {
    if (config?.isSimulated && status >= 500) return
    const observe = observers.get(method) ?? first
    observe?.(status, seconds)
  }
}

/** Counts the response and logs one line, as a warning if it was slow. */
function reportTo(log: FastifyBaseLogger, observe: Observe, route: string) {
  return (request: FastifyRequest, reply: FastifyReply, done: Done) => {
    const ms = reply.elapsedTime
    observe(request.method, reply.statusCode, ms / 1000)
    const isSlow = ms > slowMs && !isStream(reply) && reply.statusCode !== 429
    if (isSlow || log.level === 'debug' || log.level === 'trace') {
      const line = { ...describeRequest(request, route), status: reply.statusCode, ms: Math.round(ms) }
      if (isSlow) request.log.warn(line, 'slow request')
      else request.log.debug(line, 'request')
    }
    done()
  }
}

const slowMs = 1_000

/** Streams stay open, so they are never slow. */
const isStream = ({ raw }: FastifyReply): boolean =>
  String(raw.getHeader('content-type') ?? '').startsWith('text/event-stream')
const unknown = 'unknown'

/** The loggable part of a request. Paths and queries may hold tokens, names and phone numbers. */
function describeRequest({ method, params }: FastifyRequest, route: string) {
  return { method, route, id: (params as { id?: string } | undefined)?.id }
}

export const listOf = <Hook>(hooks: Hook | Hook[] | undefined): Hook[] =>
  hooks === undefined ? [] : ([hooks].flat() as Hook[])

/** The standard `uuid` format also accepts `urn:uuid:…`, which is no id here. */
function addFormats(ajv: { addFormat(name: string, check: (text: string) => boolean): unknown }): void {
  ajv.addFormat('uuid', isUuid)
}

/** Accepts a caller's request id if it is safe to log. */
function readRequestId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[\w.:+/=@-]{1,128}$/.test(header) ? header : undefined
}
