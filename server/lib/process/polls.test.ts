/** Polls of several loops with one statement. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pino from 'pino'
import { times } from '../../../common/times.ts'
import { createDatabase, until } from '../../../tests/support.ts'
import { createHealth } from './health.ts'
import { startPolls } from './polls.ts'

const log = pino({ level: 'silent' })

test('a loop runs when its rows say so, one round at a time, and a loop that fails stops no other', async (t) => {
  const db = (await createDatabase(t)).connect(3)
  await db`create table jobs (name text)`
  const health = createHealth({ ...times.health, graceMs: 1 })
  const polls = startPolls({ db, log, health })
  t.after(() => polls.stop())
  const rounds = { waiting: 0, broken: 0, quiet: 0, rests: 0 }
  let end = () => {}
  let isOver = false
  polls.add({
    ...{ name: 'waiting', everyMs: 5, isDue: (sql) => sql`exists (select from jobs where name = 'waiting')` },
    run: () => {
      rounds.waiting++
      return isOver ? Promise.resolve() : new Promise<void>((resolve) => (end = resolve))
    },
  })
  polls.add({
    ...{ name: 'broken', everyMs: 5, isDue: (sql) => sql`exists (select from jobs where name = 'broken')` },
    run: async () => {
      rounds.broken++
      throw new Error('it is broken')
    },
  })
  const quiet = polls.add({
    ...{ name: 'quiet', everyMs: 5, isDue: (sql) => sql`exists (select from jobs where name = 'quiet')` },
    run: async () => void rounds.quiet++,
    rest: () => void rounds.rests++,
  })
  await until('three polls', () => rounds.rests > 2)
  assert.deepEqual([rounds.waiting, rounds.broken, rounds.quiet], [0, 0, 0])
  assert.equal(
    health.loops().every(({ succeededMsAgo }) => succeededMsAgo !== null),
    true,
  )

  await db`insert into jobs values ('waiting'), ('broken')`
  await until('rounds of the loops that are due', () => rounds.waiting > 0 && rounds.broken > 5)
  assert.equal(rounds.waiting, 1)
  assert.deepEqual(health.failing(), ['broken'])
  end()
  await until('another round', () => rounds.waiting > 1)
  isOver = true
  end()

  // Without the table no condition can be read, and every loop runs.
  await db`alter table jobs rename to hidden_jobs`
  await until('a round of each loop', () => rounds.quiet > 3)
  await db`alter table hidden_jobs rename to jobs`
  const rested = rounds.rests
  await until('another rest', () => rounds.rests > rested)
  // So they do while the table is locked.
  const before = rounds.quiet
  await db.begin(async (sql) => {
    await sql`lock table jobs`
    await until('a round behind the lock', () => rounds.quiet > before)
  })

  await quiet.stop()
  const { rests } = rounds
  const broken = rounds.broken
  await until('more rounds', () => rounds.broken > broken + 3)
  assert.equal(rounds.rests, rests)
})
