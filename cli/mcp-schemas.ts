/** Output schemas of tools, read from the OpenAPI document of the service. */

type Schema = Record<string, unknown>
type Operation = { operationId: string; responses: Record<string, { content?: Record<string, { schema: Schema }> }> }
export type ApiDocument = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

const answerMs = 10_000

/** Undefined if the service does not show its document; the tools then have no output schemas. */
export async function readDocument(baseUrl: string, signal: AbortSignal): Promise<ApiDocument | undefined> {
  const url = `${baseUrl.replace(/\/v1$/, '')}/openapi.json`
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(answerMs)]) })
    return response.ok ? ((await response.json()) as ApiDocument) : undefined
  } catch {
    return undefined
  }
}

const component = '#/components/schemas/'

/** The schema of an operation's successful answer, with the components it refers to as its own definitions. */
export function answerSchema({ paths, components }: ApiDocument, operationId: string): Schema | undefined {
  const operation = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .find((each) => each.operationId === operationId)
  const schema = operation?.responses['200']?.content?.['application/json']?.schema
  if (!schema) return undefined
  const definitions: Record<string, Schema> = {}
  const own = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(own)
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(
      Object.entries(part).map(([key, value]) => [key, key === '$ref' ? refer(value) : own(value)]),
    )
  }
  const refer = (reference: string): string => {
    const name = reference.replace(component, '')
    if (!(name in definitions)) {
      definitions[name] = {}
      definitions[name] = own(components.schemas[name]) as Schema
    }
    return `#/$defs/${name}`
  }
  const answer = own(schema) as Schema
  return { ...answer, $defs: definitions }
}
