/**
 * `npm run calls`: write `dashboard/src/lib/calls.ts`, what the dashboard may
 * ask of the service, read off the service's own routes.
 *
 * The schema a route checks requests and writes answers with is the one source;
 * a test keeps the file true.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RouteOptions } from 'fastify'
import { lookAtService } from './look.ts'
import { createWriter, type Schema, type Writer } from './types-of-schema.ts'

export const callsFile = join(import.meta.dirname, '../dashboard/src/lib/calls.ts')

export async function describeCalls(): Promise<string> {
  const writer = createWriter()
  const calls = (await lookAtService()).memberRoutes
    .filter(({ method }) => method !== 'HEAD')
    .map((route) => describeCall(route, writer))
    .sort()
  return [
    '/** What the dashboard may ask of the service. Written by `npm run calls`, read off its routes; a test keeps it true. */',
    ...writer.declarations(),
    'export type Calls = {',
    ...calls,
    '}',
    '',
  ].join('\n')
}

/** One line of `Calls`: parameters, query and body as they go in, and the first success as it comes out. */
function describeCall({ method, url, schema = {}, config }: RouteOptions, { write }: Writer): string {
  const path = url.replace('/app/api', '').replace(/:(\w+)/g, '{$1}')
  const [answer] = config?.answers ? [config.answers] : Object.values((schema.response ?? {}) as Record<string, Schema>)
  const parts = [
    ...(schema.params ? [`params: ${write(schema.params)}`] : []),
    ...(schema.querystring ? [`query?: ${write(schema.querystring)}`] : []),
    ...(schema.body ? [`body: ${write(schema.body)}`] : []),
    `answer: ${answer ? write(answer) : 'unknown'}`,
  ]
  return `  '${method} ${path}': { ${parts.join('; ')} }`
}

if (import.meta.main) writeFileSync(callsFile, await describeCalls())
