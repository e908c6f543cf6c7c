/** Whether a member is available for new conversations. */
import { Badge, type Tone } from '../../../ui/display.tsx'
import type { ItemOf } from '../lib/api.ts'
import { words } from '../words/words.ts'

type State = ItemOf<'GET /assignment/members'>['state']

const tones: Record<State, Tone | undefined> = { available: 'green', away: 'amber', offline: undefined }

export const AvailabilityBadge = ({ state }: { state: State }) => (
  <Badge tone={tones[state]}>{words.shell.availability.states[state]}</Badge>
)
