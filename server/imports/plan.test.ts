import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planChunk, type StoredContact } from './plan.ts'
import type { ImportedPerson } from './rows.ts'
import { planRestore } from './undo.ts'

const person = (fields: Partial<ImportedPerson> = {}): ImportedPerson => ({
  ...{
    index: 0,
    identity: '+14155550101',
    phone: '+14155550101',
    name: undefined,
    email: undefined,
    company: undefined,
  },
  ...{ optedOut: undefined, tags: [], attributes: [], ...fields },
})

const contact = (fields: Partial<StoredContact> = {}): StoredContact => ({
  ...{ id: 'c', name: null, email: null, company: null, typed_email_key: null, attributes: {}, hasMoreNumbers: false },
  ...{ opted_out_at: null, opted_out_by: null, opt_out_decided_at: null, tags: new Set<string>(), ...fields },
})

const planOf = (row: ImportedPerson, stored?: StoredContact, update: 'all' | 'empty' | 'never' = 'all') =>
  planChunk([row], [], new Map(stored ? [[row.identity, stored]] : []), update)

test('a contact with too many tags or attributes rejects the row, and one that has them already does not', () => {
  const tags = Array.from({ length: 100 }, (_, i) => `t${i}`)
  const full = contact({ tags: new Set(tags) })
  assert.deepEqual(planOf(person({ tags: ['new'] }), full).faults, [
    { index: 0, reason: 'tags: the contact would have more than 100' },
  ])
  assert.equal(planOf(person({ tags: ['t1'], name: 'Ann' }), full).changedCount, 1)
  const attributes = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`a${i}`, i]))
  const rich = contact({ attributes })
  assert.deepEqual(planOf(person({ attributes: [['new', 1]] }), rich).faults, [
    { index: 0, reason: 'attributes: the contact would have more than 50' },
  ])
  assert.equal(planOf(person({ attributes: [['a1', 'x']] }), rich).changedCount, 1)
})

test('what a plan changes, a restore takes away, unless it changed again', () => {
  const stored = contact({
    ...{ name: 'Ann', email: 'a@x', typed_email_key: 'a@x', attributes: { plan: 'free', seats: 3 } },
    ...{ opted_out_at: 'then', opted_out_by: 'member', opt_out_decided_at: 'then' },
  })
  const row = person({
    ...{ name: 'Bo', email: 'b@x', company: 'Acme', optedOut: false },
    attributes: [
      ['plan', 'pro'],
      ['constructor', true],
    ],
  })
  const [change] = planOf(row, stored).changes
  assert.ok(change)
  const now = { id: 'c', name: 'Bo', email: 'b@x', company: 'Acme', is_same_decision: true, tag_ids: ['t1', 't2'] }
  const attributes = { plan: 'pro', seats: 3, constructor: true }
  const after = { ...change.after, 'tags.t1': true, 'tags.t3': true }
  assert.deepEqual(planRestore({ ...now, attributes }, change.before, after), {
    restore: {
      id: 'c',
      texts: { name: 'Ann', email: 'a@x', company: null },
      typedEmailKey: 'a@x',
      attributes: { seats: 3, plan: 'free' },
      optOut: { at: 'then', by: 'member', decidedAt: 'then' },
      tags: ['t1'],
    },
    keptFields: [],
  })
  const changed = { ...now, email: 'c@x', is_same_decision: false, attributes: { ...attributes, plan: 'max' } }
  const { restore, keptFields } = planRestore(changed, change.before, after)
  assert.deepEqual(keptFields.sort(), ['attributes.plan', 'email', 'opted_out'])
  assert.deepEqual([restore.texts, restore.optOut], [{ name: 'Ann', company: null }, undefined])
  assert.deepEqual(restore.attributes, { plan: 'max', seats: 3 })
})
