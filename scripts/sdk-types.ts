/**
 * `npm run sdk-types` generates the types and calls of both SDKs from the OpenAPI document: `sdk/src/types.ts` and
 * `sdk/src/calls.ts`, the JSON Schemas of automations, and the files of `scripts/sdk-python.ts`. A test checks that all files are current.
 *
 * Schemas keep their names. Queries and unnamed responses are named after their operation.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { publishedSchemas } from '../server/automation/file-schema.ts'
import { type ApiCall, listCalls, type SdkFile } from './api-calls.ts'
import { describeService } from './describe-service.ts'
import { describePythonSdk } from './sdk-python.ts'
import { createWriter, type Writer } from './types-of-schema.ts'

const folder = join(import.meta.dirname, '../sdk/src')

export async function describeSdkTypes(): Promise<SdkFile[]> {
  const { document } = await describeService()
  const writer = createWriter({ documented: true, rename: { Error: 'ErrorBody' } })
  for (const [title, schema] of Object.entries(document.components.schemas)) writer.write({ ...schema, title })
  const calls = listCalls(document).map((call) => ({
    name: `${call.method} ${call.path}`,
    type: writeCall(call, writer),
  }))
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
    ...publishedSchemas().map(({ name, text }) => ({ path: join(folder, '..', name), text })),
    ...describePythonSdk(document),
  ]
}

function writeCall({ params, query, body, result }: ApiCall, { write }: Writer): string {
  const parts = [
    ...(params.length > 0 ? [`params: { ${params.map((param) => `${param}: string`).join('; ')} }`] : []),
    ...(query ? [`query: ${write(query)}`] : []),
    ...(body ? [`body: ${write(body)}`] : []),
    `${result.isList ? 'item' : 'data'}: ${write(result.schema)}`,
  ]
  return `{ ${parts.join('; ')} }`
}

if (import.meta.main) for (const { path, text } of await describeSdkTypes()) writeFileSync(path, text)
