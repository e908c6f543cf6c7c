/** What the pages of automations share: the types, the limits, and the badge of the state. */
import { Badge, type Tone } from '../../../ui/display.tsx'
import type { CallName, DataOf } from '../lib/api.ts'
import { automationWords as text } from '../words/automations.ts'

export type Automation = DataOf<'GET /automations/{id}'>

/** What the editor knows of the definition that it shows. */
export type DraftState = {
  /** Whether there is something to publish. By default whether a draft is saved. */
  isChanged?: boolean
  /** Why it cannot be published now, as a sentence for the member. */
  blocked?: string | undefined
  /** Saves what is not saved yet, before it is published. False: that failed, and the editor shows why. */
  flush?: () => Promise<boolean>
}

/** The calls that show a changed automation. */
export const staleCalls = [
  'GET /automations',
  'GET /automations/{id}',
  'GET /automations/{id}/versions',
] as const satisfies CallName[]

/** As the service checks them. */
export const maxName = 100
export const maxDescription = 1_000

const tones: Record<Automation['state'], Tone | undefined> = { draft: undefined, active: 'green', paused: 'amber' }

export const StateBadge = ({ state }: Pick<Automation, 'state'>) => (
  <Badge tone={tones[state]}>{text.states[state]}</Badge>
)
