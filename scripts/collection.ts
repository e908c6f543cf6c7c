/**
 * `npm run collection` generates `docs/parley.postman_collection.json` from the OpenAPI document: all operations with examples, in
 * the format of Postman (v2.1), which Bruno, Insomnia and other programs import. A test checks that the file is current.
 *
 * Requests use the variables `base_url` and `api_key`. Optional query parameters and headers are present but disabled.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ApiDocument, type ApiOperation, describeService } from './describe-service.ts'

export const collectionFile = join(import.meta.dirname, '../docs/parley.postman_collection.json')

export async function describeCollection(): Promise<string> {
  const { document } = await describeService()
  const { info, tags } = document
  const collection = {
    info: {
      name: info.title,
      description: info.description,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    item: tags.map(({ name, description }) => ({ name, description, item: listRequests(document, name) })),
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{api_key}}', type: 'string' }] },
    variable: [
      { key: 'base_url', value: 'http://127.0.0.1:4000/v1', type: 'string' },
      { key: 'api_key', value: '', type: 'string' },
    ],
  }
  return `${JSON.stringify(collection, null, 2)}\n`
}

function listRequests({ paths }: ApiDocument, tag: string): object[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(
        ([
          ,
          {
            tags: [first],
          },
        ]) => first === tag,
      )
      .map(([method, operation]) => {
        const request = describeRequest(method.toUpperCase(), path, operation)
        return { name: operation.summary, request, response: describeResponse(request, operation) }
      }),
  )
}

function describeRequest(method: string, path: string, operation: ApiOperation): object {
  const { parameters = [], requestBody, description = '', responses } = operation
  const body = requestBody?.content['application/json'].example
  const isStream = 'text/event-stream' in (responses['200']?.content ?? {})
  const listed = (place: string) => parameters.filter((parameter) => parameter.in === place)
  const query = listed('query').map(({ name, description = '' }) => ({
    key: name,
    value: '',
    description,
    disabled: true,
  }))
  const variable = listed('path').map(({ name, description = '' }) => ({ key: name, value: '', description }))
  const segments = path.slice(1).replace(/\{(\w+)\}/g, ':$1')
  return {
    method,
    header: [
      ...(body === undefined ? [] : [{ key: 'Content-Type', value: 'application/json' }]),
      ...(isStream ? [{ key: 'Accept', value: 'text/event-stream' }] : []),
      ...listed('header').map(({ name, description = '' }) => ({
        key: name,
        // Postman and Bruno replace it by a new UUID.
        value: name === 'Idempotency-Key' ? '{{$guid}}' : '',
        description,
        disabled: true,
      })),
    ],
    url: {
      raw: `{{base_url}}/${segments}`,
      host: ['{{base_url}}'],
      path: segments.split('/'),
      ...(query.length > 0 ? { query } : {}),
      ...(variable.length > 0 ? { variable } : {}),
    },
    ...(body === undefined
      ? {}
      : { body: { mode: 'raw', raw: JSON.stringify(body, null, 2), options: { raw: { language: 'json' } } } }),
    description,
  }
}

/** The example of the first successful response. */
function describeResponse(originalRequest: object, { responses }: ApiOperation): object[] {
  const [success] = Object.entries(responses).filter(([status]) => status.startsWith('2'))
  const [status = '', response] = success ?? []
  const example = response?.content['application/json']?.example
  if (example === undefined) return []
  return [
    {
      name: response?.description ?? status,
      originalRequest,
      status: statusTexts[status] ?? '',
      code: Number(status),
      _postman_previewlanguage: 'json',
      header: [{ key: 'Content-Type', value: 'application/json; charset=utf-8' }],
      body: JSON.stringify(example, null, 2),
    },
  ]
}

const statusTexts: Record<string, string> = { 200: 'OK', 201: 'Created', 202: 'Accepted' }

if (import.meta.main) writeFileSync(collectionFile, await describeCollection())
