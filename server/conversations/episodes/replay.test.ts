/** What the past of a conversation is for its episodes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../../lib/id.ts'
import { applyPast, type PastEvent, startReplay } from './replay.ts'

test('a conversation that moves to a team keeps its member', () => {
  const replay = startReplay()
  const [member, team] = [newId(), { id: newId(), name: 'Sales' }]
  const at = (minute: number) => `2026-01-05T09:0${minute}:00.000Z`
  const event = (minute: number, kind: PastEvent['kind'], details: PastEvent['details'] = null): PastEvent => ({
    ...{ id: newId(), kind, at: at(minute), member_id: member, details },
  })
  applyPast(replay, event(0, 'received'))
  applyPast(replay, event(1, 'assigned', { assignee_id: member }))
  applyPast(replay, event(2, 'assigned', { team }))
  applyPast(replay, event(3, 'status', { status: 'closed' }))
  const [episode] = replay.episodes
  assert.deepEqual([episode?.first_assigned_at, episode?.closed_at, episode?.member_id], [at(1), at(3), member])
  applyPast(replay, event(4, 'assigned', { assignee_id: null }))
  assert.equal(replay.assigneeId, null)
})
