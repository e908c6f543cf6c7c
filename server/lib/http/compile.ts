/**
 * Fastify's own compilers of validators and serializers, with a cache: many routes share the schema of an id, a page or an
 * error.
 *
 * A schema is compiled when it is first used. Compiling all of them took most of the start time of a server, and 8 MB that an
 * idle process does not need. The first request of a route takes a few milliseconds longer.
 */
import { AjvCompiler } from '@fastify/ajv-compiler'
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import { sha256 } from '../crypto.ts'

/** A validator returns false and has `errors`; a serializer returns text. */
type Compiled = { (value: unknown): unknown; errors?: unknown }

type Factory = (...settings: unknown[]) => (route: { schema: unknown }) => Compiled

export const compilers = { buildValidator: cached(AjvCompiler()), buildSerializer: cached(SerializerSelector()) }

/** Equal schemas share one result. All servers of a process have the same settings, so these are not part of the key. */
function cached<Compiler>(compiler: Compiler): Compiler {
  // The types of the two compilers differ, but both are called like this.
  const build = compiler as Factory
  const results = new Map<string, Compiled>()
  const factory: Factory = (...settings) => {
    const compile = build(...settings)
    return (route) => {
      const key = sha256(JSON.stringify(route.schema))
      const result = results.get(key) ?? lazily(() => compile(route))
      results.set(key, result)
      return result
    }
  }
  return factory as Compiler
}

function lazily(compile: () => Compiled): Compiled {
  let compiled: Compiled | undefined
  const run: Compiled = (value) => {
    compiled ??= compile()
    const result = compiled(value)
    if (result === false) run.errors = compiled.errors
    return result
  }
  return run
}
