/**
 * `npm run sdk-types` generates `sdk/src/types.ts` and `sdk/src/calls.ts` from the OpenAPI document. A test checks that both
 * files are current.
 *
 * Schemas keep their names. Queries and unnamed responses are named after their operation. The event stream is not a call.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ApiOperation, describeService } from './describe-service.ts'
import { createWriter, type Schema, type Writer } from './types-of-schema.ts'

const folder = join(import.meta.dirname, '../sdk/src')

export type SdkFile = { path: string; text: string }

export async function describeSdkTypes(): Promise<SdkFile[]> {
  const { document } = await describeService()
  const writer = createWriter({ documented: true, rename: { Error: 'ErrorBody' } })
  for (const [title, schema] of Object.entries(document.components.schemas)) writer.write({ ...schema, title })
  const calls = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, operation]) => !isStream(operation))
      .map(([method, operation]) => ({
        name: `${method.toUpperCase()} ${path}`,
        type: describeCall(path, operation, writer),
      })),
  )
  const types = writer.declarations()
  const names = types.map((type) => /^export type (\w+)/.exec(type)?.[1] ?? '')
  const used = names.filter((name) => calls.some(({ type }) => new RegExp(`: ${name}\\b`).test(type)))
  return [
    {
      path: join(folder, 'types.ts'),
      text: [
        '/** Request and response types of the API. Generated from the OpenAPI document by `npm run sdk-types`. */',
        ...types,
      ].join('\n'),
    },
    {
      path: join(folder, 'calls.ts'),
      text: [
        '/** All calls of the API. Generated from the OpenAPI document by `npm run sdk-types`. */',
        'import type {',
        ...used.map((name) => `  ${name},`),
        "} from './types.ts'",
        '',
        '/** `data` is the response of a call, `item` the element type of a list. */',
        'export type Calls = {',
        ...calls.map(({ name, type }) => `  '${name}': ${type}`).sort(),
        '}',
        '',
      ].join('\n'),
    },
  ]
}

function describeCall(path: string, operation: ApiOperation, { write }: Writer): string {
  const { operationId, parameters = [], requestBody, responses } = operation
  const name = operationId.charAt(0).toUpperCase() + operationId.slice(1)
  const params = [...path.matchAll(/\{(\w+)\}/g)].map(([, param]) => `${param}: string`)
  const query = parameters.filter((parameter) => parameter.in === 'query')
  const body = requestBody?.content['application/json'].schema
  const parts = [
    ...(params.length > 0 ? [`params: { ${params.join('; ')} }`] : []),
    ...(query.length > 0 ? [`query: ${write({ title: `${name}Query`, ...toSchema(query) })}`] : []),
    ...(body ? [`body: ${write(body)}`] : []),
    describeResponse(name, responses, write),
  ]
  return `{ ${parts.join('; ')} }`
}

const isStream = ({ responses }: { responses: Record<string, { content: object }> }): boolean =>
  'text/event-stream' in (responses['200']?.content ?? {})

/** The type of the first 2xx response. */
function describeResponse(name: string, responses: ApiOperation['responses'], write: Writer['write']): string {
  const [status = ''] = Object.keys(responses).filter((each) => each.startsWith('2'))
  const { data, meta } = responses[status]?.content['application/json'].schema.properties ?? {}
  if (!data) throw new Error(`${name} has no data in its response`)
  if (meta) return `item: ${write(data.items)}`
  return `data: ${write(data.$ref ? data : { ...data, title: `${name}Result` })}`
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

if (import.meta.main) for (const { path, text } of await describeSdkTypes()) writeFileSync(path, text)
