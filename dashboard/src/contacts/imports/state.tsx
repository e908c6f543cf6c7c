/** The states of an import: its badge, and where it is among the steps. */
import { Badge, type Tone } from '../../../../ui/display.tsx'
import type { DataOf, ItemOf } from '../../lib/api.ts'
import { importWords } from '../../words/imports.ts'

const text = importWords

export type Import = DataOf<'GET /imports/{id}'>
type ImportState = Import['state']

const tones: Record<ImportState, Tone | undefined> = {
  uploaded: undefined,
  checking: 'blue',
  checked: 'accent',
  importing: 'blue',
  done: 'green',
  failed: 'red',
  canceled: 'amber',
  undoing: 'blue',
  undone: undefined,
}

export const StateBadge = ({ state }: Pick<ItemOf<'GET /imports'>, 'state'>) => (
  <Badge tone={tones[state]}>{text.states[state]}</Badge>
)

/** Whether a worker checks, imports or undoes it. */
export const isRunning = (state: ImportState): boolean => ['checking', 'importing', 'undoing'].includes(state)

const steps = ['map', 'check', 'import', 'done'] as const
type Step = (typeof steps)[number]

function stepOf({ state, started_at }: Pick<Import, 'state' | 'started_at'>): Step {
  if (state === 'checking' || state === 'checked') return 'check'
  if (state === 'importing') return 'import'
  return started_at === null ? 'map' : 'done'
}

/** The steps of an import, with the current one marked. */
export function Steps({ value }: { value: Import }) {
  const current = stepOf(value)
  return (
    <ol className="imports-steps" aria-label={text.steps.label}>
      {steps.map((step, index) => (
        <li
          key={step}
          aria-current={step === current ? 'step' : undefined}
          data-done={index < steps.indexOf(current) ? '' : undefined}
        >
          <span className="numeric" aria-hidden="true">
            {index + 1}
          </span>
          {text.steps.names[step]}
        </li>
      ))}
    </ol>
  )
}
