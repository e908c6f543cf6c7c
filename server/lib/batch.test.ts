import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { pluck } from '../../tests/assertions.ts'
import { createBatch } from './batch.ts'

class PostgresError extends Error {
  override name = 'PostgresError'
}

/** A statement that ends when the test ends it, and records its items. */
function createStatement() {
  const asked: number[][] = []
  const doors: (() => void)[] = []
  const run = async (items: readonly number[]) => {
    asked.push([...items])
    await new Promise<void>((open) => doors.push(open))
    return items.map((item) => item * 10)
  }
  return { asked, run, answer: () => doors.shift()?.() }
}

test('simultaneous callers share a statement and get their own results, in order', async () => {
  const asked: number[][] = []
  const call = createBatch<number, number>({
    run: async (items) => {
      asked.push([...items])
      return items.map((item) => item * 10)
    },
  })
  assert.deepEqual(await Promise.all([3, 1, 2].map(call)), [30, 10, 20])
  assert.deepEqual(asked, [[3, 1, 2]])
})

test('a single caller does not wait', async () => {
  const { asked, run, answer } = createStatement()
  const call = createBatch({ run, lanes: 2 })
  const first = call(1)
  await turn()
  assert.deepEqual(asked, [[1]])
  const second = call(2)
  await turn()
  assert.deepEqual(asked, [[1], [2]], 'a free lane is taken at once')
  answer()
  answer()
  assert.deepEqual(await Promise.all([first, second]), [10, 20])
})

test('callers that arrive while all lanes are busy share the next statement', async () => {
  const { asked, run, answer } = createStatement()
  const call = createBatch({ run, lanes: 1 })
  const results = [call(1)]
  await turn()
  for (const item of [2, 3, 4]) {
    results.push(call(item))
    await turn()
  }
  assert.deepEqual(asked, [[1]])
  answer()
  while (asked.length < 2) await turn()
  assert.deepEqual(asked, [[1], [2, 3, 4]])
  answer()
  assert.deepEqual(await Promise.all(results), [10, 20, 30, 40])
})

test('a statement carries at most `max` items and at most `lanes` run at once, for any number of callers', async () => {
  const given = fc.record({
    max: fc.integer({ min: 1, max: 7 }),
    lanes: fc.integer({ min: 1, max: 4 }),
    waves: fc.array(fc.nat(15), { maxLength: 6 }),
  })
  await fc.assert(
    fc.asyncProperty(given, async ({ max, lanes, waves }) => {
      let busy = 0
      let most = 0
      const seen: number[] = []
      const call = createBatch<number, number>({
        max,
        lanes,
        run: async (items) => {
          assert.ok(items.length >= 1 && items.length <= max)
          most = Math.max(most, ++busy)
          seen.push(...items)
          await turn()
          busy--
          return items.map((item) => -item)
        },
      })
      const results: Promise<number>[] = []
      let next = 1
      for (const size of waves) {
        for (let i = 0; i < size; i++) results.push(call(next++))
        await turn()
      }
      const all = Array.from({ length: next - 1 }, (_, i) => i + 1)
      const negated = all.map((item) => -item)
      assert.deepEqual(await Promise.all(results), negated)
      assert.deepEqual(seen, all, 'each item once, first come first served')
      assert.ok(most <= lanes, `${most} of ${lanes} lanes`)
    }),
    { seed: 1, numRuns: 200 },
  )
})

test('an item that the database refuses fails alone, and the others run again without it', async () => {
  const asked: number[][] = []
  const call = createBatch<number, number>({
    run: async (items) => {
      asked.push([...items])
      if (items.includes(2)) throw new PostgresError('poison')
      return items.map((item) => item * 10)
    },
  })
  const results = await Promise.allSettled([1, 2, 3].map(call))
  assert.deepEqual(pluck(results, 'status'), ['fulfilled', 'rejected', 'fulfilled'])
  assert.deepEqual(
    results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason))),
    [10, 'PostgresError: poison', 30],
  )
  assert.deepEqual(asked, [[1, 2, 3], [1], [2], [3]])
})

test('each flow gets an equal share of a statement, and its items keep their order', async () => {
  const { asked, run, answer } = createStatement()
  const call = createBatch({ run, lanes: 1, max: 6, flowOf: (item) => (item < 100 ? 'flood' : String(item % 2)) })
  const results = [call(0)]
  await turn()
  for (let item = 1; item <= 20; item++) results.push(call(item))
  for (const item of [101, 100, 103, 105]) results.push(call(item))
  for (let statements = 1; statements <= 5; statements++) {
    while (asked.length < statements) await turn()
    answer()
  }
  await Promise.all(results)
  assert.deepEqual(asked, [
    [0],
    [1, 2, 101, 103, 100, 3],
    [105, 4, 5, 6, 7, 8],
    [9, 10, 11, 12, 13, 14],
    [15, 16, 17, 18, 19, 20],
  ])
})

test('an item that the database refuses makes only the items of its flow run one by one', async () => {
  const asked: number[][] = []
  const call = createBatch<number, number>({
    flowOf: (item) => String(item % 2),
    run: async (items) => {
      asked.push([...items])
      if (items.includes(3)) throw new PostgresError('poison')
      return items
    },
  })
  const results = await Promise.allSettled([2, 3, 4, 5, 6].map(call))
  assert.deepEqual(pluck(results, 'status'), ['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'])
  assert.deepEqual(asked.slice(1), [[2, 4, 6], [3, 5], [3], [5]])
})

test('a single refused item does not run twice', async () => {
  let runs = 0
  const call = createBatch<number, number>({
    run: async () => {
      runs++
      throw new PostgresError('no')
    },
  })
  await assert.rejects(call(1), /no/)
  assert.equal(runs, 1)
})

test('after a lost connection all items fail and none is retried', async () => {
  let runs = 0
  const broken = Object.assign(new Error('write CONNECTION_CLOSED'), { code: 'CONNECTION_CLOSED' })
  const call = createBatch<number, number>({
    run: async () => {
      runs++
      throw broken
    },
  })
  const results = await Promise.allSettled([1, 2, 3].map(call))
  for (const result of results) assert.equal(result.status === 'rejected' && result.reason, broken)
  assert.equal(runs, 1)
})

test('an error as a result rejects only its caller, and undefined is a result', async () => {
  const call = createBatch<number, number | undefined>({
    run: async (items) => items.map((item) => (item === 1 ? new Error('yours') : item === 2 ? undefined : item)),
  })
  const [one, two, three] = await Promise.allSettled([1, 2, 3].map(call))
  assert.equal(one?.status === 'rejected' && one.reason.message, 'yours')
  assert.deepEqual(two, { status: 'fulfilled', value: undefined })
  assert.deepEqual(three, { status: 'fulfilled', value: 3 })
})

test('a statement with too few results fails all of its items', async () => {
  const call = createBatch<number, number>({ run: async ([first = 0]) => [first] })
  for (const result of await Promise.allSettled([1, 2].map(call))) assert.equal(result.status, 'rejected')
})

test('a statement without results resolves each of its items', async () => {
  const call = createBatch({ run: async (_items: readonly number[]): Promise<void> => {} })
  assert.deepEqual(await Promise.all([1, 2].map(call)), [undefined, undefined])
})

test('a failure, sync or async, frees its lane', async () => {
  let runs = 0
  const call = createBatch<number, number>({
    lanes: 1,
    run: (items) => {
      runs++
      if (runs === 1) throw new Error('at once')
      return runs === 2 ? Promise.reject<number[]>(new Error('later')) : Promise.resolve([...items])
    },
  })
  await assert.rejects(call(1), /at once/)
  await assert.rejects(call(2), /later/)
  assert.equal(await call(3), 3)
})
