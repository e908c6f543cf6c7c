/** The OpenAPI document, reduced to what the page shows. */
import type { Schema, Schemas } from './schema.ts'

export type Parameter = {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description?: string
  schema: Schema
}
type Content = Record<string, { schema?: Schema; example?: unknown }>
type Response = {
  description?: string
  headers?: Record<string, { schema: Schema; description?: string }>
  content?: Content
}
type DocumentOperation = {
  operationId: string
  tags?: string[]
  summary?: string
  description?: string
  parameters?: Parameter[]
  security?: Record<string, string[]>[]
  requestBody?: { content: Content }
  responses?: Record<string, Response>
}
export type ApiDocument = {
  info: { title: string; description?: string; version: string }
  servers?: { url: string }[]
  tags?: { name: string; description?: string }[]
  paths: Record<string, Record<string, DocumentOperation>>
  webhooks?: Record<string, Record<string, DocumentOperation>>
  components?: { schemas?: Schemas }
}

export type Operation = {
  id: string
  method: string
  path: string
  tag: string
  scope: string | undefined
  summary: string
  description: string | undefined
  parameters: Parameter[]
  body: Schema | undefined
  example: unknown
  responses: Record<string, Response>
  /** The 200 response is a stream of server-sent events. */
  isStream: boolean
}

const streamType = 'text/event-stream'

/** Returns the JSON or event-stream content of a request or response. */
export const contentOf = (content: Content | undefined) => content?.['application/json'] ?? content?.[streamType]

/** Lists the operations in the order of the document. */
export const listOperations = ({ paths }: ApiDocument): Operation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      id: `operation-${operation.operationId}`,
      method: method.toUpperCase(),
      path,
      tag: operation.tags?.[0] ?? 'Other',
      scope: Object.values(operation.security?.[0] ?? {}).flat()[0],
      summary: operation.summary ?? `${method.toUpperCase()} ${path}`,
      description: operation.description,
      parameters: operation.parameters ?? [],
      body: contentOf(operation.requestBody?.content)?.schema,
      example: contentOf(operation.requestBody?.content)?.example,
      responses: operation.responses ?? {},
      isStream: operation.responses?.[200]?.content?.[streamType] !== undefined,
    })),
  )

export type WebhookEvent = {
  id: string
  name: string
  description: string | undefined
  body: Schema | undefined
  example: unknown
}

/** Lists the events that the service posts to webhooks. */
export const listEvents = ({ webhooks = {} }: ApiDocument): WebhookEvent[] =>
  Object.entries(webhooks).flatMap(([name, methods]) =>
    Object.values(methods).map(({ operationId, description, requestBody }) => ({
      id: `event-${operationId}`,
      name,
      description,
      body: contentOf(requestBody?.content)?.schema,
      example: contentOf(requestBody?.content)?.example,
    })),
  )
