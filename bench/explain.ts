/** The plans of the statements that a function of the service runs: which rows each reads. */
import type postgres from 'postgres'
import type { Db, Sql } from '../server/lib/postgres/db.ts'

/** `read`: rows of the scans, with those that a filter removed. `buffers`: pages of 8 KB. */
export type Explained = { read: number; returned: number; buffers: number }

type Plan = {
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  'Relation Name'?: string
  'Shared Hit Blocks'?: number
  'Shared Read Blocks'?: number
  Plans?: Plan[]
}

/** Runs `work` with a database that explains every statement first and then runs it, in a transaction that is undone. */
export async function explainAll(db: Db, work: (sql: Db) => Promise<unknown>): Promise<Explained[]> {
  const explained: Explained[] = []
  const undo = new Error('undone')
  const transaction = db.begin(async (sql) => {
    const wrapped = wrap(sql, explained)
    // What begins a transaction of its own is a part of this one.
    const begin = (run: (sql: Sql) => unknown) => run(wrapped)
    await work(new Proxy(wrapped, { get: (one, name) => (name === 'begin' ? begin : Reflect.get(one, name)) }) as Db)
    throw undo
  })
  await transaction.catch((error) => {
    if (error !== undo) throw error
  })
  return explained
}

/** A statement runs when it is awaited; one that is a part of another is not. */
function wrap(sql: Sql, explained: Explained[]): Sql {
  const run = async (query: Statement): Promise<unknown> => {
    await sql`savepoint before_plan`
    const [row] = await sql<{ 'QUERY PLAN': { Plan: Plan }[] }[]>`explain (analyze, buffers, format json) ${query}`
    await sql`rollback to savepoint before_plan`
    const plan = row?.['QUERY PLAN'][0]?.Plan
    if (plan) explained.push(summarize(plan))
    return query
  }
  return new Proxy(sql, {
    apply(target, self, args) {
      const query: Statement = Reflect.apply(target as never, self, args)
      const isStatement = Array.isArray(args[0]) && 'raw' in args[0]
      return isStatement ? new Proxy(query, { get: (each, name) => getOf(each, name, () => run(each)) }) : query
    },
  })
}

type Statement = postgres.PendingQuery<postgres.Row[]>

function getOf(query: Statement, name: string | symbol, run: () => Promise<unknown>): unknown {
  if (name === 'then') return (...handlers: Parameters<Promise<unknown>['then']>) => run().then(...handlers)
  const value = Reflect.get(query, name)
  return typeof value === 'function' ? value.bind(query) : value
}

function summarize(plan: Plan): Explained {
  return {
    read: countRead(plan),
    returned: plan['Actual Rows'],
    buffers: (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0),
  }
}

function countRead(plan: Plan): number {
  const { 'Actual Rows': rows, 'Actual Loops': loops, 'Relation Name': table, Plans: below = [] } = plan
  const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)
  const own = table === undefined ? 0 : (rows + removed) * loops
  return below.reduce((sum, each) => sum + countRead(each), own)
}
