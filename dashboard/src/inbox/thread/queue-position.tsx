/** The position of a conversation in the queue of its team, and how long its customer has waited. */
import { useCall } from '../../lib/api.ts'
import { useMinute } from '../../lib/hooks.ts'
import { formatTime, formatWait } from '../../lib/time.ts'
import { words } from '../../words/words.ts'
import type { Conversation } from '../model/data.ts'

const { flow } = words.inbox

export function QueuePosition({ conversation }: { conversation: Conversation }) {
  const { id, status, assigned_team: team, assigned_agent: agent, handled_by: handler } = conversation
  const isQueued = team !== null && agent === null && status === 'open' && handler === 'team'
  const queued = useCall('GET /conversations/{id}/queue', { params: { id } }, { live: true, enabled: isQueued }).data
  const now = Math.max(useMinute() * 60_000, Date.now())
  if (!isQueued || !queued) return null
  const { position, waiting_since: since } = queued
  const text = since ? flow.inQueueWaiting(position, formatWait(now - Date.parse(since))) : flow.inQueue(position)
  return (
    <span className="inbox-wait inbox-queue-position" title={since ? `${text} (${formatTime(since)})` : text}>
      <span />
      <span>{text}</span>
    </span>
  )
}
