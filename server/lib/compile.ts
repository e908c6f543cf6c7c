/**
 * Validators and serializers, by the framework's own compilers, each made once
 * in a process: many routes say the same of an id, a page or an error, and
 * compiling is most of what starting a server takes.
 */
import { AjvCompiler } from '@fastify/ajv-compiler'
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'

type Factory = (...settings: unknown[]) => (route: { schema: unknown }) => unknown

export const compilers = { buildValidator: once(AjvCompiler()), buildSerializer: once(SerializerSelector()) }

/** What was made of a schema serves for all of the same words. Every server of ours gives the same settings. */
function once<Given>(given: Given): Given {
  // The two describe what they are called with differently, and both are called like this.
  const build = given as Factory
  const made = new Map<string, unknown>()
  const factory: Factory = (...settings) => {
    const compile = build(...settings)
    return (route) => {
      const words = JSON.stringify(route.schema)
      const known = made.get(words) ?? compile(route)
      made.set(words, known)
      return known
    }
  }
  return factory as Given
}
