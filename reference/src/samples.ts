/**
 * Code samples of a request, first with the SDKs, and syntax highlighting. Samples read the API key from the environment.
 *
 * A path parameter without a value stays as `{id}`.
 */
import type { Operation } from './openapi.ts'
import { listMethods, type SdkMethod, toSnake } from './sdk-methods.ts'

/** The values of the parameters and the body that the reader typed. */
export type Draft = { values: Record<string, string>; body: string | undefined }

export type SampleRequest = {
  method: string
  url: string
  headers: [string, string][]
  body: string | undefined
  isStream: boolean
  /** The same request for the SDKs. */
  call: { route: string; baseUrl: string; params: string[]; query: Record<string, unknown>; options: Option[] }
}
type Option = { typeScript: string; python: string; value: string }

export const samples: Record<string, { language: string; write: (request: SampleRequest) => string }> = {
  TypeScript: { language: 'typescript', write: toTypeScript },
  Python: { language: 'python', write: toPython },
  curl: { language: 'curl', write: toCurl },
}

/** The headers that the SDKs take as options of a call. */
const headerOptions: Record<string, Omit<Option, 'value'>> = {
  'Idempotency-Key': { typeScript: 'idempotencyKey', python: 'idempotency_key' },
  'Last-Event-ID': { typeScript: 'lastEventId', python: 'last_event_id' },
}

/** The request with the reader's values. */
export function createRequest(operation: Operation, { values, body }: Draft, baseUrl: string): SampleRequest {
  const { method, path, parameters, isStream } = operation
  const params = [...path.matchAll(/\{(\w+)\}/g)].map(([placeholder, name = '']) => values[name] || placeholder)
  const filledPath = path.replace(/\{(\w+)\}/g, (placeholder, name) =>
    values[name] ? encodeURIComponent(values[name]) : placeholder,
  )
  const search = new URLSearchParams()
  const query: Record<string, unknown> = {}
  const headers: [string, string][] = []
  const options: Option[] = []
  for (const { name, in: location, schema } of parameters) {
    const value = values[name]?.trim()
    if (!value) continue
    if (location === 'query') {
      search.set(name, value)
      query[name] = typedValue(value, schema.type)
    }
    if (location === 'header') {
      headers.push([name, value])
      const option = headerOptions[name]
      if (option) options.push({ ...option, value })
    }
  }
  if (body !== undefined) headers.push(['Content-Type', 'application/json'])
  const suffix = search.size > 0 ? `?${search}` : ''
  const call = { route: `${method} ${path}`, baseUrl, params, query, options }
  return { method, url: `${baseUrl}${filledPath}${suffix}`, headers, body, isStream, call }
}

function typedValue(value: string, type: string | string[] | undefined): unknown {
  if (type === 'integer' || type === 'number') return Number.isFinite(Number(value)) ? Number(value) : value
  if (type === 'boolean') return value === 'true'
  return type === 'array' ? value.split(',') : value
}

function toCurl({ method, url, headers, body, isStream }: SampleRequest): string {
  return [
    `curl ${isStream ? '-N ' : ''}${method === 'GET' ? '' : `-X ${method} `}${shellQuoted(url)}`,
    '-H "Authorization: Bearer $PARLEY_API_KEY"',
    ...headers.map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${shellQuoted(body)}`]),
  ].join(' \\\n  ')
}

let methods: Map<string, SdkMethod> | undefined

function methodOf(route: string): SdkMethod {
  methods ??= listMethods()
  return methods.get(route) ?? { resource: '', name: route, kind: 'call' }
}

function toTypeScript({ body, call }: SampleRequest): string {
  const { resource, name, kind } = methodOf(call.route)
  const options = call.options.map(({ typeScript, value }) => `${typeScript}: ${quoted(value)}`)
  const hasQuery = Object.keys(call.query).length > 0 || (kind === 'stream' && options.length > 0)
  const args = [
    ...call.params.map(quoted),
    ...(body === undefined ? [] : [jsonOrText(body, (value) => toLiteral(value, typeScriptSyntax))]),
    ...(hasQuery ? [inline(call.query, typeScriptSyntax)] : []),
    ...(options.length > 0 ? [`{ ${options.join(', ')} }`] : []),
  ]
  const expression = `parley.${resource && `${resource}.`}${name}(${args.join(', ')})`
  return [
    "import { Parley } from 'parley-sdk'",
    '',
    'const parley = new Parley({',
    '  apiKey: process.env.PARLEY_API_KEY,',
    `  baseUrl: ${quoted(call.baseUrl)},`,
    '})',
    kind === 'call' ? `const data = await ${expression}` : `for await (const item of ${expression}) console.log(item)`,
  ].join('\n')
}

function toPython({ body, call }: SampleRequest): string {
  const { resource, name, kind } = methodOf(call.route)
  const query = Object.entries(call.query).map(([key, value]) => `${key}=${inline(value, pythonSyntax)}`)
  const args = [
    ...call.params.map(quoted),
    ...(body === undefined ? [] : [jsonOrText(body, (value) => toLiteral(value, pythonSyntax, '', '    '))]),
    ...query,
    ...call.options.map(({ python, value }) => `${python}=${quoted(value)}`),
  ]
  const expression = `parley.${resource && `${resource}.`}${toSnake(name)}(${args.join(', ')})`
  const loop = ['    for event in events:', '        print(event)']
  return [
    'import os',
    'from parley_sdk import Parley',
    '',
    `parley = Parley(os.environ['PARLEY_API_KEY'], ${quoted(call.baseUrl)})`,
    ...(kind === 'call' ? [`data = ${expression}`] : []),
    ...(kind === 'list' ? [`for item in ${expression}:`, '    print(item)'] : []),
    ...(kind === 'stream' ? [`with ${expression} as events:`, ...loop] : []),
  ].join('\n')
}

/** A body that is not valid JSON, because the reader is still typing, appears as text. */
function jsonOrText(body: string, write: (value: unknown) => string): string {
  try {
    return write(JSON.parse(body))
  } catch {
    return quoted(body)
  }
}

type Syntax = { true: string; false: string; null: string; key: (name: string) => string }
const typeScriptSyntax: Syntax = {
  true: 'true',
  false: 'false',
  null: 'null',
  key: (name) => (/^[a-z_$][\w$]*$/i.test(name) ? name : quoted(name)),
}
const pythonSyntax: Syntax = { true: 'True', false: 'False', null: 'None', key: quoted }

/** A JSON value as a literal of a language. */
function toLiteral(value: unknown, syntax: Syntax, indent = '', step = '  '): string {
  if (typeof value === 'string') return quoted(value)
  if (value === null) return syntax.null
  if (typeof value === 'boolean') return value ? syntax.true : syntax.false
  if (typeof value !== 'object') return String(value)
  const inner = indent + step
  const parts = Array.isArray(value)
    ? value.map((item) => toLiteral(item, syntax, inner, step))
    : Object.entries(value).map(([name, part]) => `${syntax.key(name)}: ${toLiteral(part, syntax, inner, step)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  if (parts.length === 0) return `${open}${close}`
  if (Array.isArray(value) && parts.every((part) => part.length < 24) && parts.length < 4)
    return `[${parts.join(', ')}]`
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`
}

/** A literal on one line. */
const inline = (value: unknown, syntax: Syntax): string =>
  toLiteral(value, syntax)
    .replaceAll(/,\n\s*([\]}])/g, ' $1')
    .replaceAll(/([{[])\n\s*/g, '$1 ')
    .replaceAll(/\n\s*/g, ' ')

/** Indented JSON in which a list with one short value stays on one line. */
export const prettyJson = (value: unknown): string =>
  (JSON.stringify(value, null, 2) ?? '').replace(/\[\n\s+("(?:[^"\\]|\\.)*"|[\w.-]+)\n\s+\]/g, '[$1]')

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\r', '\\r')}'`
}

const shellQuoted = (text: string): string =>
  /^[\w:/.,=&?%@+-]+$/.test(text) && !/[&?]/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

const keywords: Record<string, RegExp> = {
  curl: /\b(?:curl)\b/,
  javascript: /\b(?:const|let|await|fetch|for|of|do|while|import|from|if|return|new|throw|function|async|export)\b/,
  typescript:
    /\b(?:const|let|await|for|of|import|from|if|return|new|throw|function|async|export|try|catch|type|typeof)\b/,
  python:
    /\b(?:import|from|print|True|False|None|for|in|is|while|if|else|return|def|class|not|or|raise|try|except|continue)\b/,
  php: /\b(?:declare|function|return|if|else|throw|new|exit|true|false|null)\b|\$\w+/,
  go: /\b(?:package|import|func|return|if|var|type|struct|map|go|nil|true|false)\b/,
  json: /\b(?:true|false|null)\b/,
  headers: /^[\w-]+(?=:)/m,
}

/** Longer texts are not highlighted: rendering them would take too long. */
const maxHighlightedLength = 200_000

type Token = { kind?: string; text: string; start: number }

/** Splits code into tokens. `kind` selects the color. */
export function highlight(code: string, language: string): Token[] {
  const keyword = keywords[language]
  if (!keyword || code.length > maxHighlightedLength) return [{ text: code, start: 0 }]
  const string = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/
  const pattern = new RegExp(
    [
      '(?<address>https?://[^\\s\'"`]+)',
      `(?<key>(?:"(?:[^"\\\\]|\\\\.)*"|\\b\\w+)(?=\\s*:[^\\S\\n]))`,
      `(?<string>${string.source})`,
      `(?<comment>${language === 'python' || language === 'curl' ? '(?<=^|\\s)#.*' : '//.*|/\\*[^]*?\\*/'})`,
      `(?<word>${keyword.source})`,
      '(?<flag>(?<=\\s)--?[a-zA-Z][\\w-]*)',
      '(?<number>\\b\\d+(?:\\.\\d+)?\\b)',
    ].join('|'),
    'gm',
  )
  const tokens: Token[] = []
  let end = 0
  for (const match of code.matchAll(pattern)) {
    if (match.index > end) tokens.push({ text: code.slice(end, match.index), start: end })
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined)?.[0]
    tokens.push({ ...(kind ? { kind } : {}), text: match[0], start: match.index })
    end = match.index + match[0].length
  }
  if (end < code.length) tokens.push({ text: code.slice(end), start: end })
  return tokens
}
