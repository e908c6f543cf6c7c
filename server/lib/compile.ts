/**
 * Fastify's own compilers of validators and serializers, with a cache: many routes share the schema of an id, a page or an
 * error, and compiling takes most of the start time of a server.
 */
import { AjvCompiler } from '@fastify/ajv-compiler'
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'

type Factory = (...settings: unknown[]) => (route: { schema: unknown }) => unknown

export const compilers = { buildValidator: cached(AjvCompiler()), buildSerializer: cached(SerializerSelector()) }

/** Equal schemas share one result. All servers of a process have the same settings, so these are not part of the key. */
function cached<Compiler>(compiler: Compiler): Compiler {
  // The types of the two compilers differ, but both are called like this.
  const build = compiler as Factory
  const results = new Map<string, unknown>()
  const factory: Factory = (...settings) => {
    const compile = build(...settings)
    return (route) => {
      const key = JSON.stringify(route.schema)
      const result = results.get(key) ?? compile(route)
      results.set(key, result)
      return result
    }
  }
  return factory as Compiler
}
