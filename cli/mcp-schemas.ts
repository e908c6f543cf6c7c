/** Output schemas of the MCP tools, taken from the service's OpenAPI document. */

type Schema = Record<string, unknown>
type Operation = { operationId: string; responses: Record<string, { content?: Record<string, { schema: Schema }> }> }
export type ApiDocument = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

const timeoutMs = 10_000

/** Returns undefined if the document is not available. The tools then have no output schemas. */
export async function fetchDocument(baseUrl: string, signal: AbortSignal): Promise<ApiDocument | undefined> {
  const url = `${baseUrl.replace(/\/v1$/, '')}/openapi.json`
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) })
    return response.ok ? ((await response.json()) as ApiDocument) : undefined
  } catch {
    return undefined
  }
}

const componentPrefix = '#/components/schemas/'

/** Returns the schema of an operation's 200 response. Referenced components are inlined as `$defs`. */
export function responseSchema({ paths, components }: ApiDocument, operationId: string): Schema | undefined {
  const operation = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .find((each) => each.operationId === operationId)
  const schema = operation?.responses['200']?.content?.['application/json']?.schema
  if (!schema) return undefined
  const definitions: Record<string, Schema> = {}
  const rewriteRefs = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(rewriteRefs)
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(
      Object.entries(part).map(([key, value]) => [key, key === '$ref' ? define(value) : rewriteRefs(value)]),
    )
  }
  const define = (reference: string): string => {
    const name = reference.replace(componentPrefix, '')
    if (!(name in definitions)) {
      definitions[name] = {}
      definitions[name] = rewriteRefs(components.schemas[name]) as Schema
    }
    return `#/$defs/${name}`
  }
  return { ...(rewriteRefs(schema) as Schema), $defs: definitions }
}
