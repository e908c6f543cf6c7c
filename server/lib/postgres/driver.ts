/**
 * The database driver, postgres.js 3.4.9, with the end of a connection repaired while the driver is loaded.
 * `README.md` lists all that we change about the driver.
 *
 * The driver uses a connection again after it closed, and parts of its state survive the close:
 *
 * - The timer that writes buffered bytes is cancelled but not reset, so it never starts again. Every later use of the connection
 *   ends after ten seconds with CONNECT_TIMEOUT (porsager/postgres#1209).
 * - Statements that were given to the connection after its error and before its close wait for ever, and the answer of a later
 *   statement is given to them.
 * - The last error of the server fails the first statement after the next connect.
 *
 * And a connection that closes while it reads the types of arrays, its first statement, rejects a promise that has no handler, which
 * ends the process. All four happen when a database under load restarts or fails over.
 */
import { registerHooks } from 'node:module'

/**
 * A statement whose text has this comment is not prepared, but planned with its values at each call. The comment can be in a part of
 * the statement, so that the code that composes a condition decides for every statement that contains it.
 */
export const perCallComment = '/* planned per call */'

/** In `src/connection.js`. The last one is that comment. */
const repairs: [defect: string, repaired: string][] = [
  ['    clearImmediate(nextWriteTimer)\n', '    clearImmediate(nextWriteTimer)\n    chunk = nextWriteTimer = null\n'],
  ['!hadError && (query || sent.length) && error(', ';(query || sent.length) && error('],
  [
    '    closedTime = performance.now()\n',
    '    query = results = errorResponse = null\n    closedTime = performance.now()\n',
  ],
  ['return fetchArrayTypes()', 'return fetchArrayTypes().catch((error) => socket.destroy(error))'],
  ['q.prepare = options.prepare &&', `q.prepare = options.prepare && !string.includes('${perCallComment}') &&`],
]

function repair(source: string): string {
  for (const [defect] of repairs) {
    if (!source.includes(defect))
      throw new Error(`this version of postgres.js has no "${defect.trim()}"; see driver.ts`)
  }
  return repairs.reduce((text, [defect, repaired]) => text.replaceAll(defect, repaired), source)
}

const hooks = registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (!url.endsWith('/postgres/src/connection.js')) return loaded
    return { ...loaded, source: repair(String(loaded.source)) }
  },
})
const { default: postgres } = await import('postgres')
hooks.deregister()

export default postgres
