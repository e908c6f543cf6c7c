/**
 * The step `call`: posts the run to a URL, signed and guarded like a webhook, and keeps the JSON of the response as an answer.
 *
 * A call without a 2xx is made up to five times. The receiver may get it more than once, also after a lost response or a crash. Its `id`
 * is then the same: a run is at each step once.
 */
import { SealError } from '../lib/crypto.ts'
import { derivedId } from '../lib/id.ts'
import { addAnswer, StepFailed } from './decisions.ts'
import { type CallStep, readSaveAs } from './definition.ts'
import { sealContext } from './secrets.ts'
import { move, type StepContext } from './step-context.ts'

const eventName = 'automation.call'

export async function call(context: StepContext, step: CallStep, next: string): Promise<boolean> {
  const { run, placed, times, poster } = context
  const body = JSON.stringify({ id: derivedId(run.id, placed.position), event: eventName, ...describeRun(context) })
  const endpoint = { endpoint_id: callerOf(context).automation_id, event: eventName, body, endpoint: { url: step.url } }
  const result = await poster.post(endpoint, [openSecret(context)])
  const logged = {
    path: placed.path,
    type: step.type,
    input: { status: result.http_status, response: result.response?.slice(0, 2_000) },
  }
  if (result.outcome === 'delivered') {
    const variables = step.save_as
      ? addAnswer(run.variables, readSaveAs(step.save_as).name, readJson(result.response))
      : run.variables
    return move(context, { position: next, variables }, { ...logged, outcome: 'done' })
  }
  const waitMs = times.callRetryMs[run.tries]
  const reason = result.error ?? `the URL answered with ${result.http_status}`
  if (waitMs === undefined) throw new StepFailed(`the call failed: ${reason}`)
  const again = {
    position: placed.position,
    tries: run.tries + 1,
    variables: run.variables,
    wait: { seconds: waitMs / 1000 },
  }
  return move(context, again, { ...logged, outcome: 'repeated', reason })
}

/** What the receiver knows: also for a preview the workspace and the automation, not the hidden copies. The draft has version 0. */
function callerOf({ run, facts }: StepContext): { account_id: string; automation_id: string; version: number } {
  const { workspace_id, automation_id, version } = run
  if (facts.preview_of === null) return { account_id: workspace_id, automation_id, version }
  return { account_id: facts.preview_of, automation_id: workspace_id, version: 0 }
}

function describeRun(context: StepContext): object {
  const { run, facts } = context
  const { contact } = facts
  const { account_id, automation_id, version } = callerOf(context)
  return {
    account_id,
    run: { id: run.id, automation_id, automation: facts.automation, version, preview: facts.preview_of !== null },
    contact: { id: run.contact_id, ...contact },
    conversation_id: run.conversation_id,
    message: facts.message ?? null,
    answers: run.variables,
  }
}

function openSecret({ run, facts, sealer }: StepContext): string {
  try {
    return sealer.open(facts.secret, sealContext(run.workspace_id, run.automation_id))
  } catch (error) {
    if (error instanceof SealError) throw new StepFailed('the secret of the automation cannot be opened')
    throw error
  }
}

function readJson(text: string | null | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    throw new StepFailed('the response of the URL is no JSON')
  }
}
