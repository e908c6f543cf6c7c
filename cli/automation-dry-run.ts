/** A dry run of an automation as sentences. */
import type { AutomationDryRun } from '../sdk/src/index.ts'

type Run = AutomationDryRun['runs'][number]
type Step = Run['steps'][number]

/** Runs that are printed with their steps. All are in the JSON. */
const maxRuns = 20

const endings: Record<NonNullable<Run['reason']>, string> = {
  finished: 'The run would have finished.',
  handed_over: 'The run would have handed the conversation over.',
  person: 'A person replied, which would have ended the run.',
  timeout: 'The customer did not answer in time, which would have ended the run.',
  opted_out: 'The contact opted out, which would have ended the run.',
  failed: 'The run would have failed',
  limit_messages: 'The run would have reached the limit of messages per hour.',
  limit_chain: 'The run would not have started: too many automations caused one another.',
  call: 'The response of the server is not known, so what follows is not known either.',
}

export function describeDryRun(file: string, result: AutomationDryRun): string[] {
  const { counts, runs, notes } = result
  const days = Math.round((Date.parse(result.until) - Date.parse(result.since)) / 86_400_000)
  return [
    `${file}: in the last ${count(days, 'day')} it would have started ${count(counts.runs, 'run')} in ${count(counts.conversations, 'conversation')} and sent ${count(counts.messages, 'message')}.`,
    ...runs.slice(0, maxRuns).flatMap(describeRun),
    ...(runs.length > maxRuns ? [`  … and ${count(runs.length - maxRuns, 'run')} more; --json prints them.`] : []),
    ...notes.map((note) => `  Note: ${note}`),
  ]
}

function describeRun(run: Run): string[] {
  const who = run.contact_name ?? run.contact_id
  const cause = run.message_text === null ? '' : ` after “${shorten(run.message_text)}”`
  const ending = run.reason === null ? 'The run would still be open.' : endings[run.reason]
  return [
    `  ${run.started_at}  ${who}${cause}`,
    ...run.steps.map((step) => `    ${describeStep(step)}`),
    `    ${run.reason === 'failed' ? `${ending}: ${run.error ?? ''}` : ending}`,
  ]
}

function describeStep({ path, type, outcome, text, reason, input }: Step): string {
  const parts = [input === null ? '' : `“${shorten(input)}”`, text === null ? '' : shorten(text), reason ?? '']
  return [`${path} ${type} ${outcome}`, ...parts.filter(Boolean)].join(', ')
}

const maxText = 100

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > maxText ? `${line.slice(0, maxText - 1)}…` : line
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`
