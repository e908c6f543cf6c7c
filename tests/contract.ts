/**
 * Checks answers against the API's own document: every answer of the public API that a
 * test sees must be one the document promises.
 */
import assert from 'node:assert/strict'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

type Content = { [type: string]: { schema: Record<string, unknown>; example?: unknown } }

export type Operation = {
  operationId: string
  description?: string
  security: [{ bearerAuth: string[] }]
  parameters?: {
    name: string
    in: 'path' | 'query' | 'header'
    required: boolean
    description?: string
    schema: Record<string, unknown>
  }[]
  requestBody?: { content: Content }
  responses: Record<string, { content: Content }>
}

type Document = {
  openapi: string
  servers: { url: string }[]
  info: { version: string }
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, { post: Operation }>
  components: { schemas: Record<string, Record<string, unknown>> }
}

export type Contract = {
  document: Document
  /** Every operation, with its method in capitals and its path as the document writes it. */
  operations: { method: string; path: string; operation: Operation }[]
  /** A schema of the document with every reference followed. */
  resolve(schema: Record<string, unknown>): Record<string, unknown>
  /** Fails when a value does not match a schema of the document, named by its path from the root. */
  assertMatches(value: unknown, ...path: readonly (string | number)[]): void
  /** Fails when an event is not one that the document describes. */
  holdEvent(event: { event: string }): void
  hold(method: string, path: string, answer: { status: number; body: unknown; text: string; headers: Headers }): void
}

/** Judges of documents seen before: reading one takes longer than most tests. */
const known = new Map<string, Contract>()

export async function readContract(url: string): Promise<Contract> {
  const text = await (await fetch(`${url}/openapi.json`)).text()
  const contract = known.get(text) ?? createContract(JSON.parse(text))
  known.set(text, contract)
  return contract
}

function createContract(document: Document): Contract {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  // The default export of this CommonJS module is a function beside its own namespace.
  ;(addFormats as unknown as (ajv: Ajv2020) => void)(ajv)
  ajv.addSchema({ ...document, $id: 'api' })
  const validators = new Map<string, ValidateFunction>()
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
  const patterns = operations.map(({ path }) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`))

  const step = (part: string | number) => encodeURIComponent(String(part).replaceAll('~', '~0').replaceAll('/', '~1'))
  const assertMatches: Contract['assertMatches'] = (value, ...path) => {
    const validate = validatorOf(`#/${path.map(step).join('/')}`)
    const fault = () => `${path.join(' ')}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value)}`
    assert.ok(validate(value), validate.errors ? fault() : '')
  }

  const validatorOf = (pointer: string): ValidateFunction => {
    const found = validators.get(pointer) ?? ajv.compile({ $ref: `api${pointer}` })
    validators.set(pointer, found)
    return found
  }

  return {
    document,
    operations,
    resolve: (schema) => {
      const name = /^#\/components\/schemas\/(.+)$/.exec(String(schema.$ref))?.[1]
      return (name && document.components.schemas[name]) || schema
    },
    assertMatches,
    holdEvent: (event) =>
      assertMatches(event, 'webhooks', event.event, 'post', 'requestBody', 'content', 'application/json', 'schema'),
    hold(method, url, { status, body, text, headers }) {
      const [asked = ''] = url.split('?')
      assert.match(headers.get('content-type') ?? '', /^application\/json; charset=utf-8$/, `${method} ${asked}`)
      assert.ok(headers.get('x-request-id'), `${method} ${asked} has no request id`)
      assert.equal(headers.get('access-control-allow-origin'), null)
      if (status !== 401)
        for (const name of ['limit', 'remaining', 'reset']) assert.ok(headers.get(`x-ratelimit-${name}`), name)
      const matching = operations.filter((known, i) => known.method === method && patterns[i]?.test(asked))
      // A path without parameters comes before a pattern that it also matches.
      const found = matching.find(({ path }) => !path.includes('{')) ?? matching[0]
      if (!found) {
        assert.ok([401, 404, 429].includes(status), `${method} ${asked} is not in the document but answered ${status}`)
        return
      }
      assert.ok(found.operation.responses[status], `${method} ${found.path} may not answer ${status}: ${text}`)
      const answer = ['responses', status, 'content', 'application/json', 'schema']
      assertMatches(body, 'paths', found.path, method.toLowerCase(), ...answer)
    },
  }
}
