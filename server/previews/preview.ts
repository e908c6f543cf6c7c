/** A preview as members see it: the chat on the phone, and what the automation does. */
import type { Definition } from '../automation/definition.ts'
import { RunDetailSchema } from '../automation/resource.ts'
import { listRuns, requireRun } from '../automation/run-list.ts'
import { listSteps } from '../automation/steps.ts'
import { getBuiltInUrl } from '../channels/connections.ts'
import { top } from '../lib/page.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { NullableDateTime, NullableObject, NullableText, type Static, Type } from '../lib/schema.ts'
import { listThread, MemberMessageSchema, type ThreadContext } from '../messages/thread.ts'
import { getDraft } from './draft.ts'
import { getSandbox } from './sandbox.ts'
import { getConversation } from './start.ts'

const triggerFields = {
  type: Type.String(),
  event: NullableText(),
  after: NullableText(),
  name: NullableText({ description: 'Of the label, the tag or the attribute.' }),
}

export const PreviewSchema = Type.Object(
  {
    is_available: Type.Boolean({ description: 'The installation has a simulator.' }),
    ends_at: NullableDateTime,
    trigger: NullableObject(triggerFields, { description: 'Of the draft. Null: there is nothing to preview.' }),
    has_calls: Type.Boolean({ description: 'The draft calls URLs. A preview calls them too.' }),
    messages: Type.Array(MemberMessageSchema, { description: 'The newest ones, oldest first.' }),
    run: NullableObject(RunDetailSchema.properties, { description: 'The newest one.' }),
    open_runs: Type.Integer(),
    waits_for: Type.Unsafe<'answer' | 'time' | null>({
      ...{ type: ['string', 'null'], enum: ['answer', 'time', null], description: 'What the newest run waits for.' },
    }),
  },
  { title: 'AutomationPreview' },
)
type Preview = Static<typeof PreviewSchema>

/** Messages on the phone. */
const maxMessages = 100

export async function readPreview(
  sql: Sql,
  context: ThreadContext,
  workspaceId: string,
  automationId: string,
): Promise<Preview> {
  const text = await getDraft(sql, workspaceId, automationId)
  const draft = text === undefined ? undefined : (JSON.parse(text) as Definition)
  const sandbox = await getSandbox(sql, workspaceId, automationId)
  const described = {
    is_available: sandbox !== undefined || (await getBuiltInUrl(sql)) !== undefined,
    trigger: draft ? describeTrigger(draft) : null,
    has_calls: draft ? listSteps(draft).some(({ step }) => step.type === 'call') : false,
  }
  if (!sandbox) return { ...described, ends_at: null, messages: [], run: null, open_runs: 0, waits_for: null }
  const conversation = await getConversation(sql, sandbox)
  const page = { limit: maxMessages, before: top }
  const messages = conversation ? (await listThread(sql, sandbox.id, context, conversation.id, page)).data : []
  const { data: runs } = await listRuns(sql, sandbox.id, {}, { limit: 20, before: top })
  const run = runs[0] ? await requireRun(sql, { workspaceId: sandbox.id }, runs[0].id) : null
  return {
    ...described,
    ends_at: sandbox.ends_at,
    messages: messages.toReversed(),
    run,
    open_runs: runs.filter(({ state }) => state !== 'ended').length,
    waits_for: run && waitsFor(run),
  }
}

function describeTrigger({ trigger }: Definition): NonNullable<Preview['trigger']> {
  const { type } = trigger
  const event = 'event' in trigger ? trigger.event : null
  if (trigger.type === 'silence') return { type, event, after: trigger.after, name: null }
  if (trigger.type === 'target') return { type, event, after: trigger.before ?? null, name: null }
  if (trigger.type === 'conversation') return { type, event, after: null, name: trigger.label ?? null }
  if (trigger.type === 'rating') return { type, event, after: null, name: String(trigger.at_most ?? 1) }
  if (trigger.type !== 'contact') return { type, event, after: null, name: null }
  return { type, event, after: null, name: trigger.tag ?? trigger.attribute ?? null }
}

/** A waiting run is at a question, or its last step was a wait or a call that is repeated. */
function waitsFor({ state, steps }: NonNullable<Preview['run']>): Preview['waits_for'] {
  if (state !== 'waiting') return null
  return steps.at(-1)?.type === 'ask' ? 'answer' : 'time'
}
