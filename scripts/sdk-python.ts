/**
 * The generated files of the Python SDK: `types.py`, and the resources with one method per call, synchronous and asynchronous.
 *
 * The names of resources and methods are those of the TypeScript SDK in snake case, so both SDKs always have the same methods.
 * A method takes the names in the path and the request body by position, and the query and the options by keyword.
 */
import { join } from 'node:path'
import { listMethods, toSnake } from '../reference/src/sdk-methods.ts'
import { type ApiCall, listCalls, type SdkFile } from './api-calls.ts'
import type { ApiDocument } from './describe-service.ts'
import { createPythonWriter, docstring, type PythonWriter, wrap } from './python-types.ts'

const folder = join(import.meta.dirname, '../sdk-python/parley_sdk')
const generated = 'Generated from the OpenAPI document by `npm run sdk-types`.'

type Method = { name: string; call: ApiCall }
type Resource = { name: string; methods: Method[] }

export function describePythonSdk(document: ApiDocument): SdkFile[] {
  const writer = createPythonWriter({ Error: 'ErrorBody' })
  for (const [title, schema] of Object.entries(document.components.schemas)) writer.write({ ...schema, title }, title)
  const list = listResources(listCalls(document))
  const files = [
    { path: join(folder, 'resources.py'), text: writeResources(list, writer, false) },
    { path: join(folder, 'async_resources.py'), text: writeResources(list, writer, true) },
  ]
  return [{ path: join(folder, 'types.py'), text: writeTypes(writer) }, ...files]
}

/** The methods of the TypeScript SDK with their calls, by resource. The methods of the client itself come first. */
function listResources(calls: readonly ApiCall[]): Resource[] {
  const left = new Map(calls.map((call) => [`${call.method} ${call.path}`, call]))
  const listed = new Map<string, Method[]>()
  for (const [route, { resource, name, kind }] of listMethods()) {
    // A stream is not a call.
    if (kind === 'stream') continue
    const call = left.get(route)
    if (!call) throw new Error(`the OpenAPI document has no ${route}`)
    left.delete(route)
    listed.set(resource, [...(listed.get(resource) ?? []), { name: toSnake(name), call }])
  }
  if (left.size > 0) throw new Error(`no method of the TypeScript SDK calls ${[...left.keys()].join(', ')}`)
  return Array.from(listed, ([name, methods]) => ({ name, methods }))
}

function writeTypes(writer: PythonWriter): string {
  return [
    `"""Request and response types of the API. ${generated}"""`,
    'from __future__ import annotations',
    '',
    'from typing import Any, Dict, List, Literal, Optional, TypedDict, Union',
    '',
    '__all__ = [',
    ...writer.names().map((name) => `    ${JSON.stringify(name)},`),
    ']',
    '',
    '',
    `${writer.declarations().join('\n\n').trimEnd()}\n`,
  ].join('\n')
}

function writeResources(list: readonly Resource[], writer: PythonWriter, isAsync: boolean): string {
  const classes = list.filter(({ name }) => name).map((resource) => writeResource(resource, writer, isAsync))
  const [client] = list
  if (!client) throw new Error('there are no methods')
  const body = [...classes, writeClient(list, client.methods, writer, isAsync)].join('\n\n')
  const used = writer.names().filter((name) => new RegExp(`\\b${name}\\b`).test(body))
  const prefix = isAsync ? 'Async' : ''
  const typing = (isAsync ? ['AsyncIterator'] : ['Iterator']).concat('List', 'Literal', 'Optional', 'Union')
  return [
    `"""One method per API operation, ${isAsync ? 'asynchronous' : 'synchronous'}. ${generated}"""`,
    'from __future__ import annotations',
    '',
    `from typing import ${typing.filter((name) => new RegExp(`\\b${name}\\[`).test(body)).join(', ')}`,
    '',
    `from ._listing import ${prefix}Caller, ${prefix}Listing, ChangePage, ChangePosition, ${isAsync ? 'async_' : ''}change_pages`,
    'from .types import (',
    ...used.map((name) => `    ${name},`),
    ')',
    '',
    '',
    body,
  ].join('\n')
}

function writeResource({ name, methods }: Resource, writer: PythonWriter, isAsync: boolean): string {
  const bodies = methods.flatMap((method) => [
    writeMethod(method, writer, isAsync),
    ...(hasChanges(method) ? [writeChanges(method, writer, isAsync)] : []),
  ])
  return [
    `class ${isAsync ? 'Async' : ''}${toPascal(name)}:`,
    ...docstring(`The methods of \`parley.${name}\`.`, 4),
    `    def __init__(self, caller: ${isAsync ? 'Async' : ''}Caller) -> None:`,
    '        self._caller = caller',
    '',
    bodies.join('\n'),
  ].join('\n')
}

/** The base class of the client: the resources, and the calls without one. */
function writeClient(list: readonly Resource[], methods: Method[], writer: PythonWriter, isAsync: boolean): string {
  const prefix = isAsync ? 'Async' : ''
  return [
    `class ${prefix}Api:`,
    ...docstring('The resources of the API, and the calls that belong to none.', 4),
    `    def __init__(self, caller: ${prefix}Caller) -> None:`,
    '        self._caller = caller',
    ...list.filter(({ name }) => name).map(({ name }) => `        self.${name} = ${prefix}${toPascal(name)}(caller)`),
    '',
    methods.map((method) => writeMethod(method, writer, isAsync)).join('\n'),
  ].join('\n')
}

const callOptions = ['timeout: Optional[float] = None', 'max_retries: Optional[int] = None']

/** Keyword arguments for the query. */
function writeQuery({ query, operation }: ApiCall, writer: PythonWriter, except: readonly string[] = []): string[] {
  return Object.entries(query?.properties ?? {}).flatMap(([name, schema]) => {
    if (except.includes(name)) return []
    if (query?.required?.includes(name)) throw new Error(`${operation.operationId} requires ${name} in its query`)
    const type = writer.write(schema, toPascal(name))
    return [`${name}: ${type.startsWith('Optional[') ? type : `Optional[${type}]`} = None`]
  })
}

const describeQuery = ({ query }: ApiCall, except: readonly string[] = []): string[] =>
  Object.entries(query?.properties ?? {}).flatMap(([name, { description }]) =>
    description && !except.includes(name)
      ? wrap(`:param ${name}: ${description}`).map((line, index) => (index ? `    ${line}` : line))
      : [],
  )

function writeMethod({ name, call }: Method, writer: PythonWriter, isAsync: boolean): string {
  const { method, path, params, query, body, result, operation } = call
  const type = writer.write(result.schema, operation.operationId)
  const isOptional = method === 'POST' && body && !requiresKeys(body, writer)
  const written = body && writer.write(body, operation.operationId)
  const input = [
    ...params.map((param) => `${param}: str`),
    ...(written ? [isOptional ? `body: Optional[${written}] = None` : `body: ${written}`] : []),
  ]
  const keywords = [
    ...writeQuery(call, writer),
    ...(method === 'POST' ? ['idempotency_key: Optional[str] = None'] : []),
    ...callOptions,
  ]
  const names = Object.keys(query?.properties ?? {})
  const args = [
    `"${method}"`,
    `"${path}"`,
    ...(params.length > 0 ? [`params={${params.map((param) => `"${param}": ${param}`).join(', ')}}`] : []),
    ...(names.length > 0 ? [`query={${names.map((each) => `"${each}": ${each}`).join(', ')}}`] : []),
    ...(body ? [isOptional ? 'body={} if body is None else body' : 'body=body'] : []),
    ...(method === 'POST' ? ['idempotency_key=idempotency_key'] : []),
    'timeout=timeout',
    'max_retries=max_retries',
  ]
  const prefix = isAsync ? 'Async' : ''
  const [keyword, returned, verb] = result.isList
    ? ['def', `${prefix}Listing[${type}]`, 'return self._caller.list']
    : [isAsync ? 'async def' : 'def', type, `return ${isAsync ? 'await ' : ''}self._caller.call`]
  return [
    ...signature(keyword, name, input, keywords, returned),
    ...document(call),
    `        ${verb}(`,
    ...args.map((arg) => `            ${arg},`),
    '        )',
    '',
  ].join('\n')
}

function document(call: ApiCall): string[] {
  const { summary, description } = call.operation
  const paragraphs = [description ? wrap(description) : [], describeQuery(call)].filter(({ length }) => length > 0)
  const details = paragraphs.flatMap((lines) => ['', ...lines])
  return docstring(`${summary.replace(/[.?]$/, '')}.`, 8, details).slice(0, -1)
}

function signature(keyword: string, name: string, input: string[], keywords: string[], returned: string): string[] {
  const args = ['self', ...input, '*', ...keywords]
  return [`    ${keyword} ${name}(`, ...args.map((arg) => `        ${arg},`), `    ) -> ${returned}:`]
}

/** The keys that a change position sets. `sort` cannot be combined with `updated_after`. */
const positionKeys = ['updated_after', 'cursor', 'sort']
const hasChanges = ({ call: { query } }: Method): boolean => 'updated_after' in (query?.properties ?? {})

function writeChanges({ call }: Method, writer: PythonWriter, isAsync: boolean): string {
  const names = Object.keys(call.query?.properties ?? {}).filter((name) => !positionKeys.includes(name))
  const type = writer.write(call.result.schema, '')
  const options = [...names, 'timeout', 'max_retries'].map((name) => `                ${name}=${name},`)
  return [
    ...signature(
      'def',
      'changes',
      ['position: ChangePosition'],
      [...writeQuery(call, writer, positionKeys), ...callOptions],
      `${isAsync ? 'AsyncIterator' : 'Iterator'}[ChangePage[${type}]]`,
    ),
    ...docstring('Iterate over pages of changes after a position, oldest change first.', 8, [
      '',
      'Store the `position` of each page after you have processed it. No change is skipped.',
      '',
      ...describeQuery(call, positionKeys),
    ]).slice(0, -1),
    `        return ${isAsync ? 'async_' : ''}change_pages(`,
    '            position,',
    '            lambda start: self.list(',
    '                updated_after=start["updated_after"],',
    '                cursor=start.get("cursor"),',
    ...options,
    '            ),',
    '        )',
    '',
  ].join('\n')
}

/** Whether a body needs any key. */
function requiresKeys(body: { $ref?: string }, writer: PythonWriter): boolean {
  const name = body.$ref?.replace(/^.*\//, '') ?? ''
  return !writer.declarations().some((text) => text.startsWith(`class ${name}(TypedDict, total=False):`))
}

const toPascal = (name: string): string => name.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
