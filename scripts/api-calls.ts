/** The calls of the public API, read from the OpenAPI document for the generators of the SDKs. The event stream is not a call. */
import type { ApiDocument, ApiOperation } from './describe-service.ts'
import type { Schema } from './types-of-schema.ts'

/** A file to generate. */
export type SdkFile = { path: string; text: string }

export type ApiCall = {
  method: string
  path: string
  operation: ApiOperation
  /** The names in the path. */
  params: string[]
  /** Titled after the operation. Undefined without query parameters. */
  query: Schema | undefined
  body: Schema | undefined
  /** The `data` of the first 2xx response, or the element type of a list. */
  result: { isList: boolean; schema: Schema }
}

export function listCalls({ paths }: ApiDocument): ApiCall[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, operation]) => !isStream(operation))
      .map(([method, operation]) => describeCall(method.toUpperCase(), path, operation)),
  )
}

function describeCall(method: string, path: string, operation: ApiOperation): ApiCall {
  const { operationId, parameters = [], requestBody, responses } = operation
  const name = operationId.charAt(0).toUpperCase() + operationId.slice(1)
  const query = parameters.filter((parameter) => parameter.in === 'query')
  return {
    method,
    path,
    operation,
    params: [...path.matchAll(/\{(\w+)\}/g)].map(([, param = '']) => param),
    query: query.length > 0 ? { title: `${name}Query`, ...toSchema(query) } : undefined,
    body: requestBody?.content['application/json'].schema,
    result: describeResult(name, responses),
  }
}

const isStream = ({ responses }: { responses: Record<string, { content: object }> }): boolean =>
  'text/event-stream' in (responses['200']?.content ?? {})

function describeResult(name: string, responses: ApiOperation['responses']): ApiCall['result'] {
  const [status = ''] = Object.keys(responses).filter((each) => each.startsWith('2'))
  const { data, meta } = responses[status]?.content['application/json'].schema.properties ?? {}
  if (!data) throw new Error(`${name} has no data in its response`)
  if (meta) return { isList: true, schema: data.items ?? {} }
  return { isList: false, schema: data.$ref ? data : { ...data, title: `${name}Result` } }
}

function toSchema(parameters: NonNullable<ApiOperation['parameters']>): Schema {
  return {
    type: 'object',
    properties: Object.fromEntries(
      parameters.map(({ name, schema, description }) => [name, { ...schema, ...(description ? { description } : {}) }]),
    ),
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
  }
}
