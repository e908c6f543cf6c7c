/**
 * The HTTP server before it knows any route: one JSON border, one error
 * shape, one request id, limits on every size and every wait.
 */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import { type ParsedUrlQuery, parse as parseQuerystring } from 'node:querystring'
import { type Duplex, Readable } from 'node:stream'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifySchema,
  type FastifyTypeProvider,
  LogController,
  type onRequestHookHandler,
  type onSendHookHandler,
  type preValidationHookHandler,
  type RawServerDefault,
} from 'fastify'
import { createClientAddress } from './client-address.ts'
import { compilers } from './compile.ts'
import { compressAnswer, decodeBody } from './encoding.ts'
import { ApiError, errorBody } from './errors.ts'
import { isUuid, newId } from './id.ts'
import { dropNulls, parseJson, requireStorable } from './json.ts'
import type { Metrics } from './metrics.ts'
import { documentKeyword, type Static, type TSchema } from './schema.ts'

interface SchemaTypes extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  serializer: this['schema'] extends TSchema ? Static<this['schema']> : unknown
}
export type App = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, SchemaTypes>

declare module 'fastify' {
  interface FastifyRequest {
    /** The body as it came, for whoever signs or compares bytes. */
    rawBody: Buffer | undefined
    answerTimer: NodeJS.Timeout | undefined
    /** Where the request comes from. Use this instead of `ip`, which is the last proxy's. */
    clientAddress: string
  }
  interface FastifyInstance {
    /** The methods a path has; none when it is unknown. */
    allowedAt(path: string): string[]
  }
  interface FastifyContextConfig {
    /** A file is sent here, which takes its time on a slow line: `handlerTimeout` bounds it instead of `requestTimeoutMs`. */
    takesFile?: boolean
  }
}

export type Serving = {
  log: FastifyBaseLogger
  metrics: Metrics
  tls?: { cert: Buffer; key: Buffer } | undefined
  limits?: Partial<typeof defaultLimits>
  /** Networks whose `X-Forwarded-For` is believed. */
  trustedProxies?: readonly string[] | undefined
  /** Answers somebody who looks for a page where none is, instead of the refusal that programs get. */
  sendMissingPage?: ((request: FastifyRequest, reply: FastifyReply) => FastifyReply) | undefined
}

export const defaultLimits = {
  bodyBytes: 1024 * 1024,
  headerBytes: 16 * 1024,
  /** A client that trickles its request is cut off. */
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveMs: 72_000,
  /** A database that does not answer must not keep callers for ever. */
  answerTimeoutMs: 60_000,
  /** How often a stream without news shows that it is there, and asks whether it may be. */
  heartbeatMs: 15_000,
  /** A client that reads nothing of what was sent to it for this long is disconnected: streams, and answers to visitors. */
  drainTimeoutMs: 30_000,
}

export function createServer({ log, metrics, tls, limits: given, trustedProxies, sendMissingPage }: Serving): App {
  const limits = { ...defaultLimits, ...given }
  const http = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: Math.min(5_000, limits.headersTimeoutMs),
    keepAliveTimeout: limits.keepAliveMs,
    noDelay: true,
    // Nothing here asks for it, and Node's own refusal has no body.
    requireHostHeader: false,
  }
  const app = Fastify({
    loggerInstance: log,
    // One line a request of our own, below, instead of two of the framework's.
    logController: new LogController({ disableRequestLogging: true }),
    exposeHeadRoutes: false,
    return503OnClosing: false,
    bodyLimit: limits.bodyBytes,
    genReqId: (request) => saneId(request.headers['x-request-id']) ?? newId(),
    requestIdHeader: false,
    // No shorter than what the headers let in: an id that is too long is an id that is not there.
    routerOptions: { maxParamLength: limits.headerBytes, ignoreTrailingSlash: false, querystringParser: parseQuery },
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: false,
        keywords: [documentKeyword],
      },
      onCreate: ourFormats,
    },
    schemaController: { compilersFactory: compilers },
    rewriteUrl: (request) => decodableUrl(request.url ?? '/'),
    clientErrorHandler(error, socket) {
      if (error.code === 'ECONNRESET' || !socket.writable) return
      if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && patientLines.has(socket)) return
      const body = JSON.stringify(errorBody('bad_request', `request: ${clientFaults[error.code] ?? 'not valid HTTP'}`))
      socket.end(
        `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\n` +
          `X-Request-Id: ${newId()}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
      )
    },
    serverFactory: (handler) => {
      const server = tls ? createHttpsServer({ ...http, ...tls }) : createHttpServer(http)
      return server.on('request', boundPipelining(routeHeadAsGet(handler)))
    },
  }) as unknown as App

  // An expectation we do not know is ignored; Node's own refusal has no body.
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
  app.decorateRequest('answerTimer', undefined)
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
    if (headRequests.has(request.raw)) request.raw.method = 'HEAD'
    reply.header('x-request-id', request.id)
    // A year. A browser that was here once does not try plain http again.
    if (tls) reply.header('strict-transport-security', 'max-age=31536000')
    limitAnswerTime(request, reply, limits.answerTimeoutMs)
    // Unlike `onResponse` also when the client closes the connection.
    reply.raw.once('close', () => clearTimeout(request.answerTimer))
    done()
  })
  const known = createPathIndex()
  app.decorate('allowedAt', known.methodsAt)
  // Hooks a route does not need cost every request of it, so each route gets its own.
  app.addHook('onRoute', (route) => {
    const { schema, url } = route
    known.add(url, listOf(route.method))
    if (route.method === 'GET') route.onSend = [...listOf(route.onSend), dropHeadBody, compressAnswer]
    if (schema?.body) route.preValidation = [dropNullsOf(schema.body), ...listOf(route.preValidation)]
    if (schema?.body || schema?.querystring) {
      route.preHandler = [checkRequest(schema), ...listOf(route.preHandler)]
    }
    if (!bodyless.has(String(route.method))) {
      route.preParsing = [decodeBody, ...listOf(route.preParsing)]
    }
    const { handlerTimeout } = route
    if (handlerTimeout) {
      delete route.handlerTimeout
      route.onRequest = [...listOf(route.onRequest), allowAnswerTime(handlerTimeout)]
    }
    if (route.config?.takesFile) {
      route.onRequest = [...listOf(route.onRequest), bePatient]
      route.onResponse = [...listOf(route.onResponse), endPatience]
    }
    route.onResponse = [...listOf(route.onResponse), reportTo(metrics.watchRoute(String(route.method), url), url)]
  })
  const reportUnknown = reportTo(metrics.watchRoute('any', unknown), unknown)
  app.addHook('onResponse', (request, reply, done) => {
    openRequests.set(request.socket, (openRequests.get(request.socket) ?? 1) - 1)
    if (request.is404) reportUnknown(request, reply, done)
    else done()
  })
  app.setNotFoundHandler((request, reply) => {
    reply.headers(allowHeader(request))
    if (sendMissingPage && wantsPage(request)) sendMissingPage(request, reply.code(404))
    else answerUnknownPath(request, reply)
  })
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    if (error instanceof ApiError) {
      return reply.code(error.status).headers(error.headers).send(errorBody(error.code, error.message))
    }
    if (error.validation || (error.statusCode ?? 500) < 500) {
      return reply.code(400).send(errorBody('bad_request', describeFault(error)))
    }
    request.log.error(
      { err: error, ...describeRequest(request, request.routeOptions.url ?? unknown) },
      'request failed',
    )
    return reply.code(500).send(errorBody('internal', 'something went wrong on our side'))
  })
  return app
}

/**
 * Unknown paths and wrong methods in a part of the API: refused after the hooks that were added so far, such as the key
 * check, and before the body is read.
 */
export function refuseUnknownPaths(app: App): void {
  app.setNotFoundHandler(answerUnknownPath)
  app.addHook('onRequest', (request, _reply, done) => {
    done(request.is404 ? new ApiError('not_found', 'no such path', allowHeader(request)) : undefined)
  })
}

function answerUnknownPath(_request: FastifyRequest, reply: FastifyReply): void {
  reply.code(404).send(errorBody('not_found', 'no such path'))
}

/** `Allow`, when the path exists for other methods. */
function allowHeader({ server, url }: FastifyRequest): Record<string, string> {
  const methods = server.allowedAt(url.split('?')[0] ?? '')
  return methods.length > 0 ? { allow: methods.join(', ') } : {}
}

/** Which methods a path has. It is asked only for paths that were not found, so a scan over all routes will do. */
function createPathIndex() {
  const routes: { pattern: RegExp; methods: readonly string[] }[] = []
  return {
    add(url: string, methods: readonly string[]): void {
      const source = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+')
      routes.push({ pattern: new RegExp(`^${source.replaceAll('*', '.*')}$`), methods })
    },
    methodsAt(path: string): string[] {
      const methods = routes.filter(({ pattern }) => pattern.test(path)).flatMap((route) => route.methods)
      return [...new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)].sort()
    },
  }
}

/** A browser that opens an address says that it takes HTML; scripts and pictures do not, and programs also name JSON. */
function wantsPage({ method, headers: { accept = '' } }: FastifyRequest): boolean {
  const names = (type: string) => accept.toLowerCase().includes(type)
  return (method === 'GET' || method === 'HEAD') && names('text/html') && !names('application/json')
}

type Done = (error?: Error) => void

function dropNullsOf(body: Parameters<typeof dropNulls>[1]): preValidationHookHandler {
  return (request, _reply, done) => {
    dropNulls(request.body, body)
    done()
  }
}

/** What the body is comes before whether the path's resource exists. */
function checkRequest({ body, querystring }: FastifySchema) {
  return (request: FastifyRequest, _reply: FastifyReply, done: Done) => {
    if (body) requireStorable(request.body, body)
    if (querystring) requireStorable(request.query, querystring)
    done()
  }
}

const bodyless = new Set(['GET', 'HEAD'])

/**
 * Fails a request that is not answered in time, and cuts off an answer that is not sent in time. The handler goes on; its
 * answer is dropped. Not Fastify's own handler timeout: that stops when the request stream closes, which Node does as soon
 * as the body has been read.
 */
function limitAnswerTime(request: FastifyRequest, reply: FastifyReply, timeoutMs: number): void {
  clearTimeout(request.answerTimer)
  request.answerTimer = setTimeout(() => {
    if (reply.sent) return
    const error = new Error(`no answer within ${timeoutMs} ms`)
    if (reply.raw.headersSent) reply.raw.destroy(error)
    else reply.send(error)
  }, timeoutMs)
}

/** The `handlerTimeout` of a route instead of `answerTimeoutMs`. */
function allowAnswerTime(timeoutMs: number): onRequestHookHandler {
  return (request, reply, done) => {
    limitAnswerTime(request, reply, timeoutMs)
    done()
  }
}

/** Count the answer; one line in the log, loud when it was slow. */
function reportTo(observe: (status: number, seconds: number) => void, route: string) {
  return (request: FastifyRequest, reply: FastifyReply, done: Done) => {
    const ms = reply.elapsedTime
    observe(reply.statusCode, ms / 1000)
    const line = { ...describeRequest(request, route), status: reply.statusCode, ms: Math.round(ms) }
    if (ms > slowMs && !isStream(reply) && reply.statusCode !== 429) request.log.warn(line, 'slow request')
    else request.log.debug(line, 'request')
    done()
  }
}

const slowMs = 1_000

/** Open for as long as somebody listens. */
const isStream = ({ raw }: FastifyReply): boolean =>
  String(raw.getHeader('content-type') ?? '').startsWith('text/event-stream')
const unknown = 'unknown'

/** What a log may hold of a request: its route and id. Paths and queries carry tokens, names and numbers. */
function describeRequest({ method, params }: FastifyRequest, route: string) {
  return { method, route, id: (params as { id?: string } | undefined)?.id }
}

/** Lines on which a file comes from somebody who may send one. */
const patientLines = new WeakSet<Duplex>()

function bePatient({ socket }: FastifyRequest, _reply: FastifyReply, done: Done): void {
  patientLines.add(socket)
  done()
}

function endPatience({ socket }: FastifyRequest, _reply: FastifyReply, done: Done): void {
  patientLines.delete(socket)
  done()
}

/** Requests of a connection that are not answered yet. */
const openRequests = new WeakMap<Socket, number>()

/** A client may send requests ahead of their answers, but not so many that they crowd out everybody else's. */
function boundPipelining(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  return (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const open = (openRequests.get(socket) ?? 0) + 1
    openRequests.set(socket, open)
    if (open > maxPipelined) socket.destroy()
    if (!socket.destroyed) handle(request, response)
  }
}

const maxPipelined = 100

/** HEAD requests on their way to the route of GET. */
const headRequests = new WeakSet<IncomingMessage>()

/**
 * HEAD is answered by the route of GET. The router sees a GET; from the first hook on the method is HEAD again. Node
 * sends no body, because the response was created for a HEAD.
 */
function routeHeadAsGet(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  return (request: IncomingMessage, response: ServerResponse) => {
    if (request.method === 'HEAD') {
      headRequests.add(request)
      request.method = 'GET'
    }
    handle(request, response)
  }
}

/** A file or an export is not read to the end for the sake of its headers. */
const dropHeadBody: onSendHookHandler<unknown> = (request, _reply, payload, done) => {
  if (request.method !== 'HEAD' || !(payload instanceof Readable)) return done(null, payload)
  payload.destroy()
  done(null, null)
}

export const listOf = <Hook>(hooks: Hook | Hook[] | undefined): Hook[] =>
  hooks === undefined ? [] : ([hooks].flat() as Hook[])

/** The usual `uuid` format also takes `urn:uuid:…`, which names nothing here. */
function ourFormats(ajv: { addFormat(name: string, check: (text: string) => boolean): unknown }): void {
  ajv.addFormat('uuid', isUuid)
}

/** A caller's request id is kept when it is a token that can do no harm in a log. */
function saneId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[\w.:+/=@-]{1,128}$/.test(header) ? header : undefined
}

/** A path whose percent signs make no sense is an unknown path like any other, so they are taken literally. */
function decodableUrl(url: string): string {
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
 * A parameter that is given several times is a list, which no parameter of ours takes: the schema refuses it. `channel[]=a`
 * and `channel[0]=a`, as several HTTP libraries write lists, name the parameter `channel`.
 */
function parseQuery(text: string): ParsedUrlQuery {
  const query = parseQuerystring(text)
  const lists = Object.keys(query).filter((name) => /^[^[]+\[\w*\]$/.test(name))
  for (const list of lists) {
    const name = list.slice(0, list.indexOf('['))
    const values = [query[name] ?? [], query[list] ?? []].flat()
    query[name] = values.length === 1 ? values[0] : values
  }
  return query
}

const clientFaults: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'headers too large',
  ERR_HTTP_REQUEST_TIMEOUT: 'not complete in time',
}

const bodyFaults: Record<string, string> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body: over 1 MiB',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'content-type: must be application/json',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'content-length: does not match the body',
}

type Fault = {
  keyword: string
  instancePath: string
  params: Record<string, unknown>
  message?: string | undefined
}

/** `filter.rules[2].op: must be one of …`: the field, then the rule it breaks. */
function describeFault(error: FastifyError): string {
  const fault = faultOf(error.validation ?? [])
  if (!fault) return bodyFaults[error.code] ?? `request: ${error.message}`
  const steps = fault.instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (fault.keyword === 'required') steps.push(String(fault.params.missingProperty))
  const path = steps.reduce(
    (path, step) => (/^\d+$/.test(step) ? `${path}[${step}]` : path ? `${path}.${step}` : step),
    '',
  )
  return `${path || 'body'}: ${describeRule(fault)}`
}

/** Where a value may be one of several things and is none, the one that was meant is the one that went wrong deepest. */
function faultOf(faults: readonly Fault[]): Fault | undefined {
  const depthOf = ({ instancePath }: Fault) => instancePath.split('/').length
  const deepest = Math.max(...faults.map(depthOf))
  const [fault, ...others] = faults.filter((each) => depthOf(each) === deepest)
  if (fault?.keyword !== 'type') return fault
  const types = [fault, ...others].filter(({ keyword }) => keyword === 'type').flatMap(({ params }) => params.type)
  return { ...fault, params: { type: types } }
}

function describeRule({ keyword, params, message }: Fault): string {
  const { limit } = params
  switch (keyword) {
    case 'required':
      return 'required'
    case 'type':
      return `must be ${[params.type]
        .flat()
        .map((type) => typeNames[String(type)] ?? type)
        .join(' or ')}`
    case 'enum':
      return `must be one of ${[params.allowedValues].flat().join(', ')}`
    case 'minLength':
      return limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`
    case 'maxLength':
      return `must have at most ${limit} characters`
    case 'minItems':
      return `must have at least ${limit} ${limit === 1 ? 'item' : 'items'}`
    case 'maxItems':
      return `must have at most ${limit} items`
    case 'format':
      return `not a ${params.format}`
    default:
      return message ?? 'not usable'
  }
}

const typeNames: Record<string, string> = {
  string: 'a string',
  null: 'null',
  object: 'an object',
  array: 'an array',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
}
