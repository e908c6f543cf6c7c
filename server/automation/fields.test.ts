/** Conditions of automations mean the same in the database and in memory, with a conversation and without one. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { createDatabase } from '../../tests/support.ts'
import { createWorkspace } from '../accounts/workspaces.ts'
import { newId } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { type Filter, isGroup, type Rule, type RuleGroup, requireFilter, toCondition } from '../segments/filter.ts'
import { automationFields, type Constants, resolveConstants } from './fields.ts'

const constants: Constants = {
  message: { text: 'Where is my ORDER? Straße', type: 'text' },
  answers: { size: 'L', count: 5, is_new: true, order: { status: 'Shipped', lines: [{ price: 12.5 }] }, empty: '' },
}
const ofRule = (rule: Rule): Filter => ({ match: 'all', rules: [rule] })
const resolve = (field: string, op: string, value?: string, known = constants) =>
  resolveConstants(requireFilter(automationFields, ofRule({ field, op, value })), known)

test('rules on the message and the answers are decided without the database', () => {
  const met: [string, string, string?][] = [
    ['message.text', 'contains', 'order'],
    ['message.text', 'contains', 'STRASSE'],
    ['message.text', 'not_contains', 'refund'],
    ['message.text', 'starts_with', 'where'],
    ['message.text', 'is', 'where is my order? strasse'],
    ['message.text', 'is_not', 'where'],
    ['message.text', 'is_set'],
    ['message.type', 'is', 'text'],
    ['message.type', 'is_not', 'image'],
    ['answers.size', 'is', 'l'],
    ['answers.count', 'is', '5'],
    ['answers.count', 'gt', '4.5'],
    ['answers.count', 'lt', '6'],
    ['answers.is_new', 'is', 'true'],
    ['answers.order', 'is_set'],
    ['answers.order', 'is_not', 'shipped'],
    ['answers.order.status', 'is', 'shipped'],
    ['answers.order.lines.0.price', 'gt', '12'],
    ['answers.order.missing', 'is_not_set'],
    ['answers.missing', 'is_not', 'x'],
    ['answers.missing', 'not_contains', 'x'],
    ['answers.empty', 'is_set'],
  ]
  for (const rule of met) assert.equal(resolve(...rule), true, rule.join(' '))
  const unmet: [string, string, string?][] = [
    ['message.text', 'is_not_set'],
    ['message.type', 'is', 'image'],
    ['answers.size', 'gt', '1'],
    ['answers.size', 'lt', '1'],
    ['answers.missing', 'gt', '0'],
    ['answers.missing', 'is', 'x'],
    ['answers.constructor', 'is_set'],
    ['answers.order.status.length', 'is_set'],
  ]
  for (const rule of unmet) assert.equal(resolve(...rule), false, rule.join(' '))
  const none: Constants = { answers: {} }
  assert.deepEqual(
    [resolve('message.text', 'is_set', undefined, none), resolve('message.type', 'is_not', 'text', none)],
    [false, true],
  )
})

test('only rules that need the database are left of a filter', () => {
  const met = { field: 'answers.size', op: 'is', value: 'L' }
  const unmet = { field: 'answers.size', op: 'is', value: 'S' }
  const open = { field: 'status', op: 'is', value: 'open' }
  const rule = fc.constantFrom(met, unmet, open)
  const match = fc.constantFrom('all' as const, 'any' as const)
  const rulesOf = <Item>(item: fc.Arbitrary<Item>) => fc.array(item, { minLength: 1, maxLength: 4 })
  const group = fc.record({ match, rules: rulesOf(rule) })
  const filter = fc.record({ match, rules: rulesOf<Rule | RuleGroup>(fc.oneof(rule, group)) })
  const meets = ({ match: mode, rules }: Filter | RuleGroup, isOpen: boolean): boolean => {
    const results = rules.map((each) => (isGroup(each) ? meets(each, isOpen) : each === open ? isOpen : each === met))
    return mode === 'all' ? results.every(Boolean) : results.some(Boolean)
  }
  fc.assert(
    fc.property(filter, fc.boolean(), (any, isOpen) => {
      const left = resolveConstants(any, constants)
      assert.equal(typeof left === 'boolean' ? left : meets(left, isOpen), meets(any, isOpen))
      assert.doesNotMatch(JSON.stringify(left), /answers/)
    }),
  )
})

/** A contact with an open conversation on the web chat, and a contact without a conversation. */
async function startWithContacts(t: TestContext) {
  const db = (await createDatabase(t)).connect(1)
  const owner = { email: 'owner@acme.test', password: 'correct horse' }
  const create = (sql: Sql) => createWorkspace(sql, { name: 'Acme', default_country: 'US', owner })
  const { workspace_id: workspaceId } = await db.begin(create)
  const [member] = await db<{ id: string }[]>`select id from members where workspace_id = ${workspaceId}`
  const ids = {
    ann: newId(),
    bob: newId(),
    site: newId(),
    team: newId(),
    label: newId(),
    conversation: newId(),
    member: member?.id ?? '',
  }
  const at = '2026-01-31T09:30:00Z'
  const insert = (table: string, row: Record<string, unknown>) =>
    db`insert into ${db(table)} ${db([{ workspace_id: workspaceId, created_at: at, ...row }])}`
  await insert('channel_connections', {
    ...{ id: ids.site, channel: 'web', channel_name: 'web', name: 'Straße', name_key: 'strasse', secrets: '' },
    updated_at: at,
  })
  await insert('teams', { id: ids.team, name: 'Support', name_key: 'support', color: '#000000' })
  await insert('labels', { id: ids.label, name: 'Refund', name_key: 'refund', color: '#000000' })
  for (const id of [ids.ann, ids.bob]) await insert('contacts', { id, updated_at: at })
  await insert('conversations', {
    ...{ id: ids.conversation, contact_id: ids.ann, channel: 'web', connection_id: ids.site, status: 'open' },
    ...{ assigned_agent_id: ids.member, team_id: ids.team, updated_at: at },
  })
  await db`
    insert into conversation_labels (workspace_id, conversation_id, label_id)
    values (${workspaceId}, ${ids.conversation}, ${ids.label})`
  const evaluate = async (rule: Rule) => {
    const condition = toCondition(db, workspaceId, automationFields, requireFilter(automationFields, ofRule(rule)))
    const rows = await db<{ id: string; is_met: boolean | null }[]>`
      select c.id, ${condition} as is_met
      from contacts c
      left join conversations v on v.workspace_id = c.workspace_id and v.contact_id = c.id
      where c.workspace_id = ${workspaceId}`
    return [ids.ann, ids.bob].map((id) => rows.find((row) => row.id === id)?.is_met)
  }
  return { ids, evaluate }
}

test('conditions on the conversation are true or false, also without a conversation', async (t) => {
  const { ids, evaluate } = await startWithContacts(t)
  const pairs: [field: string, op: string, value: string | undefined, ann: boolean, bob: boolean][] = [
    ['channel', 'has', 'web', true, false],
    ['channel', 'not_has', 'web', false, true],
    ['channel', 'has', 'msgapp', false, false],
    ['connection', 'has', 'STRASSE', true, false],
    ['connection', 'has', ids.site, true, false],
    ['connection', 'has', 'unknown', false, false],
    ['connection', 'not_has', 'Straße', false, true],
    ['status', 'is', 'open', true, false],
    ['status', 'is_not', 'open', false, true],
    ['status', 'is_not', 'closed', true, true],
    ['label', 'has', ' refund ', true, false],
    ['label', 'has', ids.label, true, false],
    ['label', 'not_has', 'Refund', false, true],
    ['label', 'not_has', 'unknown', true, true],
    ['assignee', 'is', ids.member, true, false],
    ['assignee', 'is', ids.ann, false, false],
    ['assignee', 'is_set', undefined, true, false],
    ['assignee', 'is_not_set', undefined, false, true],
    ['team', 'is', ids.team, true, false],
    ['team', 'is', ids.team.toUpperCase(), true, false],
    ['team', 'is', ids.ann, false, false],
    ['team', 'is_not', ids.team, false, true],
    ['team', 'is_not', ids.ann, true, true],
    ['team', 'is_set', undefined, true, false],
    ['team', 'is_not_set', undefined, false, true],
    ['conversation_status', 'is', 'open', true, false],
    ['name', 'is_not', 'Ann', true, true],
  ]
  for (const [field, op, value, ann, bob] of pairs) {
    assert.deepEqual(await evaluate({ field, op, value }), [ann, bob], `${field} ${op} ${value}`)
  }
  await assert.rejects(evaluate({ field: 'message.text', op: 'is_set' }), /a constant of a run has no SQL/)
})
