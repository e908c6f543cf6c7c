/** Messages for requests that are refused before a handler runs: the field, then the rule that it breaks. */
import type { FastifyError } from 'fastify'

const connectionFaults: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'headers too large',
  ERR_HTTP_REQUEST_TIMEOUT: 'not complete in time',
}

/** For a request that Node's HTTP parser refuses. */
export const describeConnectionError = (code: string): string =>
  `request: ${connectionFaults[code] ?? 'not valid HTTP'}`

const mebibyte = 1024 * 1024

const bodyFaults: Record<string, string> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'content-type: must be application/json',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'content-length: does not match the body',
}

type SchemaFault = {
  keyword: string
  instancePath: string
  params: Record<string, unknown>
  message?: string | undefined
}

/** For a body or a query that its schema refuses: `filter.rules[2].op: must be one of …`. */
export function describeRequestError(error: FastifyError, bodyLimit = 0): string {
  const fault = faultOf(error.validation ?? [])
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return `body: over ${bodyLimit / mebibyte} MiB`
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

/** A value that matches none of several schemas has a fault for each. The deepest fault belongs to the schema that was meant. */
function faultOf(faults: readonly SchemaFault[]): SchemaFault | undefined {
  const depthOf = ({ instancePath }: SchemaFault) => instancePath.split('/').length
  const deepest = Math.max(...faults.map(depthOf))
  const [fault, ...others] = faults.filter((each) => depthOf(each) === deepest)
  if (fault?.keyword !== 'type') return fault
  const types = [fault, ...others].filter(({ keyword }) => keyword === 'type').flatMap(({ params }) => params.type)
  return { ...fault, params: { type: [...new Set(types)] } }
}

/** The rule of a schema that a value breaks, in words. */
export function describeRule({ keyword, params, message }: Omit<SchemaFault, 'instancePath'>): string {
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
