/** The steps in the log of a run, in the words of the outline. */
import { automationWords } from '../words/automations.ts'
import { findStep, type Step } from './definition.ts'
import { describeStep } from './describe.ts'
import { type RunDetail, toSentence } from './run-state.tsx'

const { page: text, callErrors } = automationWords.runs

export type LoggedStep = RunDetail['steps'][number]
type Run = Pick<RunDetail, 'definition' | 'steps'>

/** The end of the definition is no step: the end of the run has it. */
export const loggedSteps = ({ steps }: Run): LoggedStep[] => steps.filter(({ path }) => path !== 'steps')

/** `parts`: the outcome and its reason. */
export function describeLogged({ definition }: Run, logged: LoggedStep): { title: string; parts: string[] } {
  const { type, path, outcome, reason } = logged
  // The time of a wait is in the title already.
  const detail = reason && type !== 'wait' ? describeReason(type, reason) : ''
  return {
    title: titleOf(logged, findStep(definition, path)),
    parts: outcome === 'answered' ? [] : [text.outcomes[outcome], detail].filter(Boolean),
  }
}

function titleOf({ type, outcome, input }: LoggedStep, step: Step | undefined): string {
  if (outcome === 'answered') return text.answered
  const isAgain = outcome === 'repeated' || (outcome === 'unknown' && input != null)
  return type === 'ask' && isAgain ? text.askedAgain : describeStep(type, step)
}

/** A branch logs the name of its case. */
function describeReason(type: string, reason: string): string {
  if (type === 'branch' && reason !== 'no case matches') return text.chose(toSentence(reason))
  return type === 'call' ? toCallError(reason) : toSentence(reason)
}

/** Why a call failed, and what the member can do. */
export function toCallError(reason: string): string {
  const [, unknown] = /^(\S+) does not resolve$/.exec(reason) ?? []
  if (unknown) return callErrors.unknownHost(unknown)
  const [, status] = /^answered (\d+)$/.exec(reason) ?? []
  if (status) return callErrors.status(status)
  return reason.endsWith('is not a public address') ? callErrors.notPublic(toSentence(reason)) : toSentence(reason)
}
