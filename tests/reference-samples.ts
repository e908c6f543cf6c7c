/** The samples that the API reference shows for all operations, as one program. */
import { type ApiDocument, listOperations, type Parameter } from '../reference/src/openapi.ts'
import { createRequest, samples } from '../reference/src/samples.ts'
import { describeService } from '../scripts/describe-service.ts'

/** Returns the sample of every operation with a value for every parameter, without its imports. */
export async function listSamples(language: 'TypeScript' | 'Python'): Promise<string[]> {
  const { document } = await describeService()
  return listOperations(document as unknown as ApiDocument).map((operation) => {
    const values = Object.fromEntries(operation.parameters.map((parameter) => [parameter.name, exampleOf(parameter)]))
    const body = operation.body && JSON.stringify(operation.example)
    const code = samples[language]?.write(createRequest(operation, { values, body }, 'http://127.0.0.1:4000/v1')) ?? ''
    return code.replaceAll(/^(?:import|from) .*\n/gm, '').trim()
  })
}

function exampleOf({ schema }: Parameter): string {
  const { type, enum: choices, items, format } = schema
  if (format === 'date-time') return '2026-01-31T09:30:00Z'
  return String(choices?.[0] ?? items?.enum?.[0] ?? (type === 'integer' ? 10 : 'text'))
}
