/** Definitions of automations through the API: how deep they may be, and their check. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBadRequest, dataOf } from './assertions.ts'
import { type Json, start } from './support.ts'

const condition = { match: 'all', rules: [{ field: 'tag', op: 'has', value: 'VIP' }] }

/** A step within as many branches as needed for its level, from 1. */
const nested = (level: number, step: Json): Json =>
  level === 1 ? step : { type: 'branch', cases: [{ when: condition, steps: [nested(level - 1, step)] }] }

/** Of all contents, the one with the most levels. */
const cards = {
  type: 'send',
  message: { type: 'template', template: { name: 'offer_carousel', params: { cards: [{ body: ['A', 'B'] }] } } },
}

test('steps are nested 8 levels deep, with any content in the innermost one', async (t) => {
  const { api } = await start(t)
  const definition = { trigger: { type: 'manual' }, steps: [nested(8, cards)] }
  const created = dataOf(await api.post('/automations', { name: 'Deep', definition }), 201)
  assert.deepEqual(created.draft, definition)
  const path = `steps[0]${'.cases[0].steps[0]'.repeat(7)}.cases[0].steps`
  const deeper = { ...definition, steps: [nested(9, cards)] }
  const refused = await api.post('/automations', { name: 'Deeper', definition: deeper })
  assertBadRequest(refused, `${path}: nested more than 8 levels deep`)
})
