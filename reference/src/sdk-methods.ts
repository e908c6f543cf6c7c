/** The method of the SDKs that makes each call of the API: `POST /contacts` is `contacts.create`. */
import * as resources from '../../sdk/src/resources.ts'

/** `resource` is empty for a method of the client itself. */
export type SdkMethod = { resource: string; name: string; kind: 'call' | 'list' | 'stream' }

/** Calls every method of the TypeScript SDK with a recorder, which gets its route. `changes` reads pages of `list`, so it records nothing. */
export function listMethods(): Map<string, SdkMethod> {
  const methods = new Map<string, SdkMethod>([
    ['GET /me', { resource: '', name: 'me', kind: 'call' }],
    ['GET /usage', { resource: '', name: 'usage', kind: 'call' }],
  ])
  for (const [key, create] of Object.entries(resources)) {
    if (!key.endsWith('Of')) continue
    const resource = key.slice(0, -'Of'.length)
    let recorded: { route: string; kind: SdkMethod['kind'] } | undefined
    const record = (kind: SdkMethod['kind']) => (route: string) => {
      recorded = { route: kind === 'stream' ? 'GET /events/stream' : route, kind }
    }
    const recorder = { call: record('call'), list: record('list'), stream: record('stream') }
    const object = (create as (caller: resources.Caller) => Record<string, (...args: unknown[]) => unknown>)(
      recorder as unknown as resources.Caller,
    )
    for (const [name, method] of Object.entries(object)) {
      recorded = undefined
      method('id', 'id', {})
      // The type checker does not see that the recorder has run.
      const { route, kind } = (recorded as { route: string; kind: SdkMethod['kind'] } | undefined) ?? {}
      if (!route || !kind) continue
      if (methods.has(route)) throw new Error(`two methods of the SDK call ${route}`)
      methods.set(route, { resource, name, kind })
    }
  }
  return methods
}

export const toSnake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
