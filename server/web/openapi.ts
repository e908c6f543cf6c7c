/**
 * The OpenAPI 3.1 document, generated from the routes.
 *
 * The schemas of the routes are JSON Schema already. This module adds what all operations share: the key and its scope, the
 * headers, the error shape. A schema with a `title` becomes a component of that name.
 */
import type { RouteOptions } from 'fastify'
import { requestsPerMinute } from '../accounts/auth.ts'
import { maxKeyLength } from '../accounts/idempotency.ts'
import { type ErrorCode, statusOf } from '../lib/errors.ts'
import { defaultLimit, maxLimit } from '../lib/page.ts'
import { outageMessages } from '../lib/process/outage.ts'
import { documentKeyword, Type, type WebhookOperation } from '../lib/schema.ts'
import { PlatformErrorDetails } from '../messages/sending/platform-error.ts'

type Json = { [key: string]: unknown }
type Document = { [key: string]: unknown; paths: Record<string, Record<string, Json>>; webhooks: Record<string, Json> }
type ApiInfo = {
  title: string
  description: string
  url: string
  tags: readonly { name: string; description: string }[]
  webhooks: readonly WebhookOperation[]
}
export function describeApi(routes: readonly RouteOptions[], about: ApiInfo): Document {
  const components: Record<string, Json> = { Error: hoistable({ ...ErrorSchema }) }
  const document: Document = {
    openapi: '3.1.0',
    info: {
      title: about.title,
      description: about.description,
      version: '1',
      contact: { name: 'The operator of this service', url: about.url },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: about.url }],
    tags: about.tags,
    paths: {},
    webhooks: {},
    components: {
      schemas: components,
      securitySchemes: {
        bearerAuth: {
          type: 'http',
          scheme: 'bearer',
          description: 'A workspace API key. Create one in the dashboard under Developers, API keys.',
        },
      },
    },
  }
  for (const route of routes) {
    const path = route.url.replace(/^\/v1/, '').replace(/:(\w+)/g, '{$1}')
    const operations = document.paths[path] ?? {}
    document.paths[path] = operations
    operations[String(route.method).toLowerCase()] = describeRoute(route, components)
  }
  for (const { name, body, ...operation } of about.webhooks) {
    const requestBody = { required: true, content: jsonContent(body as Json, components) }
    document.webhooks[name] = { post: { ...operation, security: [], requestBody } }
  }
  return document
}

/** The content of a body: its schema, and its example or one composed of the examples of its parts. */
function jsonContent(schema: Json, components: Record<string, Json>, type = 'application/json'): Json {
  return { [type]: { schema: hoist(schema, components), example: exampleOf(schema) } }
}

function exampleOf(schema: Json): unknown {
  const { examples, properties, items, type } = schema as {
    examples?: unknown[]
    properties?: Record<string, Json>
    items?: Json
    type?: unknown
  }
  if (examples) return examples[0]
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum) && schema.enum.length === 1) return schema.enum[0]
  if (properties) return Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, exampleOf(part)]))
  if (items) return [exampleOf(items)]
  if (schema.format === 'uuid') return '0199c1d2-6b10-7c3a-9d52-3b6f0e8c4a17'
  return Array.isArray(type) && type.includes('null') ? null : undefined
}

const ErrorSchema = Type.Object(
  {
    error: Type.Object({
      code: Type.String({ enum: Object.keys(statusOf), description: 'Stable; branch on this.' }),
      message: Type.String({ description: 'For people; may change.' }),
      details: Type.Optional(PlatformErrorDetails),
    }),
  },
  { title: 'Error' },
)

const failureMeanings: Record<number, string> = {
  400: 'The request is malformed or a value is invalid. The message names the field and the rule.',
  401: 'The key is missing, malformed, unknown, revoked or expired.',
  402: 'The workspace has used up its plan for the month, or its subscription has lapsed.',
  403: 'The key lacks the required scope, which the message names.',
  404: 'The resource does not exist, or belongs to another workspace.',
  429: `More than ${requestsPerMinute} requests in a minute with this key.`,
  500: 'A fault of the service. Quote the request id.',
  502: 'The channel rejected the message or could not be reached, or the outcome is unknown: `details.outcome` says which. `message` quotes the error of the channel.',
  503: 'The database or the store of media files does not answer, or a disk is full. Repeat the request with the same `Idempotency-Key`.',
}

const failureExamples: Record<number, (scope: string) => { code: ErrorCode; message: string; details?: object }> = {
  400: () => ({ code: 'bad_request', message: 'name: must have at most 80 characters' }),
  401: () => ({ code: 'unauthorized', message: 'a valid API key is required' }),
  402: () => ({ code: 'plan_limit_reached', message: 'the plan allows 1000 messages a month, and they are used up' }),
  403: (scope) => ({ code: 'forbidden', message: `the key lacks the scope ${scope}` }),
  404: () => ({ code: 'not_found', message: 'resource not found' }),
  429: () => ({ code: 'rate_limited', message: `over ${requestsPerMinute} requests per minute; try again in 14 s` }),
  500: () => ({ code: 'internal', message: 'something went wrong on our side' }),
  502: () => ({
    code: 'platform_error',
    message: '131026: Message undeliverable',
    details: { outcome: 'rejected', message_id: '0199c1d2-9e40-7a63-88d4-7a0b1c2d3e4f', channel_code: '131026' },
  }),
  503: () => ({ code: 'internal', message: outageMessages.disk }),
}

/** The headers of a response with this status. Without a valid key, or without the database, there is no rate window. */
function headersOf(status: number, method: unknown): Json {
  return {
    'X-Request-Id': header('Quote it when you contact support.', { type: 'string' }),
    ...(status === 401 ? { 'WWW-Authenticate': header('Bearer.', { type: 'string' }) } : {}),
    ...(status === 401 || status === 503
      ? {}
      : {
          'X-RateLimit-Limit': header('Requests per window of 60 seconds.'),
          'X-RateLimit-Remaining': header('Requests left in the window.'),
          'X-RateLimit-Reset': header('The time of the reset, in Unix seconds.'),
        }),
    ...(status === 429 ? { 'Retry-After': header('Seconds until the window resets.') } : {}),
    ...(status === 503 ? { 'Retry-After': header('Seconds to wait before the request is repeated.') } : {}),
    ...(status < 400 && method === 'POST'
      ? {
          'Idempotent-Replayed': header(
            'Present if this is the stored response of an earlier request with the same key.',
            { const: 'true' },
          ),
        }
      : {}),
  }
}

function describeRoute({ schema = {}, config, method, url }: RouteOptions, components: Record<string, Json>): Json {
  const scope = config?.scope
  const failures = new Set<number>([400, 401, 429, 500, 503, ...(config?.failures ?? [])])
  if (scope) failures.add(403)
  if (url.includes('/:id')) failures.add(404)

  const parameters = [
    ...parametersOf(schema.params, 'path'),
    ...parametersOf(schema.querystring, 'query'),
    ...parametersOf(schema.headers, 'header'),
    ...(method === 'POST' ? [idempotencyKey] : []),
    ...(config?.hasEtag ? [ifNoneMatch] : []),
  ]
  const responses: Json = {}
  for (const [status, body] of Object.entries((schema.response ?? {}) as Record<string, Json>)) {
    responses[status] = {
      description: body.description ?? successMeanings[status] ?? 'Done.',
      headers: { ...headersOf(Number(status), method), ...(config?.hasEtag ? { ETag: etag } : {}) },
      content: jsonContent(body, components),
    }
  }
  if (config?.answers) {
    responses[200] = {
      description: 'A stream that stays open. The `data` of each event is this, as JSON.',
      headers: headersOf(200, method),
      content: jsonContent(config.answers as Json, components, 'text/event-stream'),
    }
  }
  if (config?.hasEtag) {
    responses[304] = {
      description: 'You have the newest version. There is no body.',
      headers: { ...headersOf(304, method), ETag: etag },
    }
  }
  for (const status of [...failures].sort()) {
    responses[status] = {
      description: failureMeanings[status],
      headers: headersOf(status, method),
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/Error' },
          example: { error: failureExamples[status]?.(scope ?? '') },
        },
      },
    }
  }
  return {
    operationId: schema.operationId,
    summary: schema.summary,
    ...(schema.description ? { description: schema.description } : {}),
    tags: schema.tags,
    security: [{ bearerAuth: scope ? [scope] : [] }],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(schema.body
      ? {
          requestBody: {
            required: true,
            content: jsonContent(schema.body as Json, components),
          },
        }
      : {}),
    responses,
  }
}

const successMeanings: Record<string, string> = {
  200: 'Done.',
  201: 'Created.',
  202: 'Accepted. The work continues in the background.',
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Makes a retry safe: for 24 hours the same key with the same query and body replays the first response, also a 502. A 500 is not stored, so a repeat runs again; it does not send a second time.',
  schema: { type: 'string', minLength: 1, maxLength: maxKeyLength },
}

const ifNoneMatch = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: 'The `ETag` of the version that you have. The response is 304 while it is the newest.',
  schema: { type: 'string' },
}

function parametersOf(schema: unknown, location: 'path' | 'query' | 'header'): Json[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([name, part]) => {
    const { description, ...rest } = toDocument(part)
    const isList = rest.type === 'array'
    return {
      name,
      in: location,
      required: location === 'path' || required.includes(name),
      ...(description ? { description } : {}),
      ...(isList ? { style: 'form', explode: false } : {}),
      schema: isId(name, location) ? { type: 'string', format: 'uuid' } : (pageParameters[name] ?? rest),
    }
  })
}

/** An id in a path that is no uuid is a 404, so the route's schema has no format. */
const isId = (name: string, location: string): boolean => location === 'path' && /(^|_)id$/.test(name)

/** Invalid values are not refused, so the route's schema has no type. The document states the intended one. */
const pageParameters: Record<string, Json> = {
  limit: { type: 'integer', minimum: 1, maximum: maxLimit, default: defaultLimit },
  cursor: { type: 'string' },
}

function header(description: string, schema: Json = { type: 'integer' }): Json {
  return { description, schema }
}

const etag = header('Identifies this version, for `If-None-Match`.', { type: 'string' })

/** Applies the keywords that are for the document only. */
function toDocument(schema: object): Json {
  const { [documentKeyword]: keywords, ...rest } = schema as Json
  return { ...rest, ...(keywords as Json | undefined) }
}

/** Copies a schema and moves every part with a title into the components. Examples are values, not schemas. */
function hoist(schema: unknown, components: Record<string, Json>): unknown {
  if (Array.isArray(schema)) return schema.map((part) => hoist(part, components))
  if (typeof schema !== 'object' || schema === null) return schema
  const parts = toDocument(schema)
  const { title } = parts
  const isValue = (key: string, part: unknown) => key === 'examples' && Array.isArray(part)
  const copy = Object.fromEntries(
    Object.entries(parts).map(([key, part]) => [key, isValue(key, part) ? part : hoist(part, components)]),
  )
  if (typeof title !== 'string') return copy
  components[title] = hoistable(copy)
  return { $ref: `#/components/schemas/${title}` }
}

function hoistable({ title: _, ...rest }: Json): Json {
  return JSON.parse(JSON.stringify(rest))
}
