/** What happens with a run now, or how it ended. */
import { Badge, type Tone } from '../../../ui/display.tsx'
import { capitalize, type DataOf, type ItemOf } from '../lib/api.ts'
import { formatTime } from '../lib/time.ts'
import { automationWords } from '../words/automations.ts'

const { runs: text } = automationWords

type Run = ItemOf<'GET /automations/{id}/runs'>
export type RunDetail = DataOf<'GET /automation-runs/{id}'>
type Reason = NonNullable<Run['reason']>

/** A run of a deleted automation is deleted with it. */
export const reasons = [
  'finished',
  'handed_over',
  'person',
  'failed',
  'timeout',
  'opted_out',
  'merged',
  'limit_messages',
  'limit_chain',
  'limit_runs',
  'paused',
] as const satisfies Reason[]

const tones: Partial<Record<Reason, Tone>> = {
  finished: 'green',
  handed_over: 'blue',
  person: 'accent',
  failed: 'red',
  limit_messages: 'red',
  limit_chain: 'red',
  limit_runs: 'red',
  timeout: 'amber',
}

/** A reason or an error of the log. One that begins with the name of a field stays as it is. */
export const toSentence = (text: string): string => (/^[\w.[\]]+: /.test(text) ? text : capitalize(text))

export const contactOf = ({ contact_name }: Pick<Run, 'contact_name'>): string => contact_name ?? text.unnamed

export function EndBadge({ run: { state, reason } }: { run: Pick<Run, 'state' | 'reason'> }) {
  if (state !== 'ended') return <Badge>{text.states[state]}</Badge>
  return reason && <Badge tone={tones[reason]}>{text.reasons[reason]}</Badge>
}

/** Why it ended, or for what it waits, in a few words. */
export function explain({ state, error, ended_by, due_at }: Run): string {
  if (error) return toSentence(error)
  if (ended_by) return text.endedBy(ended_by)
  if (state !== 'waiting') return ''
  return due_at ? text.until(formatTime(due_at)) : text.forAnswer
}
