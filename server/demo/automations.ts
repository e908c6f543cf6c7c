/**
 * The automations of the demo workspace: a draft to try on the phone, a macro that members have run, and a paused one. None of them
 * answers a customer before a member publishes, resumes or starts it.
 */
import { refreshKinds } from '../automation/automations.ts'
import type { Definition } from '../automation/definition.ts'
import { automationFields } from '../automation/fields.ts'
import { parseDefinition } from '../automation/parse.ts'
import { createSecret, sealContext } from '../automation/secrets.ts'
import type { Sealer } from '../lib/crypto.ts'
import { newId, pastId, timeOfId } from '../lib/id.ts'
import type { Sql } from '../lib/postgres/db.ts'
import type { Past, PastThread } from './past.ts'
import { macro } from './people.ts'

const choices = [
  { id: 'delivery', title: 'My delivery' },
  { id: 'made_to_order', title: 'Made to order' },
  { id: 'other', title: 'Something else' },
]

const welcomeMenu: Definition = {
  trigger: { type: 'message', when: 'first_since_closed' },
  steps: [
    {
      type: 'ask',
      message: {
        type: 'interactive',
        interactive: { kind: 'buttons', body: 'Hello {{contact.name|there}}! What is it about?', buttons: choices },
      },
      answer: { type: 'choice' },
      save_as: 'answers.topic',
      retries: { max: 1, text: 'Please tap one of the buttons, or answer with 1, 2 or 3.' },
      timeout: { after: '1h', steps: [{ type: 'hand_over', note: 'No answer to the welcome menu.' }] },
    },
    {
      type: 'branch',
      cases: [
        {
          name: 'Delivery',
          when: { match: 'all', rules: [{ field: 'answers.topic', op: 'is', value: 'delivery' }] },
          steps: [
            {
              type: 'ask',
              message: { type: 'text', text: 'What is the number of your order? It begins with C.' },
              answer: { type: 'text' },
              save_as: 'answers.order_number',
            },
            { type: 'set', add_labels: ['Delivery'] },
          ],
        },
        {
          name: 'Made to order',
          when: { match: 'all', rules: [{ field: 'answers.topic', op: 'is', value: 'made_to_order' }] },
          steps: [{ type: 'set', add_labels: ['Made to order'] }],
        },
      ],
    },
    { type: 'send', message: { type: 'text', text: 'Thank you. We answer here soon.' } },
    { type: 'hand_over' },
  ],
}

const closeAsAnswered: Definition = {
  trigger: { type: 'manual' },
  steps: [{ type: 'set', status: 'closed', remove_labels: ['Urgent'] }],
}

const closeAfterSilence: Definition = {
  trigger: { type: 'silence', event: 'no_reply', after: '3d' },
  conditions: { match: 'all', rules: [{ field: 'label', op: 'not_has', value: 'Made to order' }] },
  steps: [
    { type: 'set', status: 'closed' },
    { type: 'note', text: 'Closed after 3 days without a reply of {{contact.name|the customer}}.' },
  ],
}

const automations = [
  {
    name: 'Welcome menu',
    description: 'Asks new customers what it is about. Try it on the phone, then publish it.',
    state: 'draft',
    definition: welcomeMenu,
  },
  {
    name: macro,
    description: 'A macro: start it in a conversation with the command palette.',
    state: 'active',
    definition: closeAsAnswered,
  },
  {
    name: 'Close after silence',
    description: 'Closes conversations whose customer has not replied for 3 days.',
    state: 'paused',
    definition: closeAfterSilence,
  },
] as const

const dayMs = 86_400_000
const createdMs = 8 * dayMs
const json = (rows: unknown) => JSON.stringify(rows)

/** Runs in the caller's transaction. */
export async function insertAutomations(
  sql: Sql,
  { workspaceId, ownerId, nowMs }: Past,
  threads: readonly PastThread[],
  sealer: Sealer,
): Promise<void> {
  const rows = automations.map(({ name, description, state, definition: input }, position) => {
    const id = pastId(nowMs - createdMs + position * 1_000)
    const definition = JSON.stringify(parseDefinition(input, automationFields))
    const secret = sealer.seal(createSecret(), sealContext(workspaceId, id))
    const isDraft = state === 'draft'
    return {
      ...{ id, name, description, state, position, secret, created_at: timeOfId(id), version: isDraft ? 0 : 1 },
      ...(isDraft ? { draft: definition } : { definition }),
      kind: isDraft ? undefined : input.trigger.type,
    }
  })
  await sql`
    with
    input as (
      select * from json_to_recordset(${json(rows)}::text::json) as g (
        id uuid, name text, description text, state text, position int, draft text, definition text, version int, kind text,
        secret text, created_at timestamptz
      )
    ),
    inserted_automations as (
      insert into automations (workspace_id, id, name, description, state, position, draft, version, kind, secret, created_at, updated_at)
      select ${workspaceId}, id, name, description, state, position, draft, version, kind, secret, created_at, created_at from input
    )
    insert into automation_versions (workspace_id, automation_id, version, definition, published_at, published_by)
    select ${workspaceId}, id, version, definition, created_at, ${ownerId} from input where definition is not null`
  await refreshKinds(sql, workspaceId)
  const manual = rows.find(({ kind }) => kind === 'manual')
  if (manual) await insertRuns(sql, workspaceId, manual.id, threads)
}

/** The runs of the macro that closed conversations, with their logs. */
async function insertRuns(
  sql: Sql,
  workspaceId: string,
  automationId: string,
  threads: readonly PastThread[],
): Promise<void> {
  const runs = threads.flatMap(({ id: conversation_id, contact_id, entries }) =>
    entries.flatMap(({ details: { run_id: id }, created_at }) => {
      if (id === undefined) return []
      const ended_at = new Date(Date.parse(created_at) + 40).toISOString()
      return [{ id, conversation_id, contact_id, cause: `manual:${newId()}`, started_at: timeOfId(id), ended_at }]
    }),
  )
  const steps = runs.flatMap(({ id: run_id, ended_at }) =>
    [
      { path: 'steps[0]', type: 'set', id: pastId(Date.parse(ended_at) - 40) },
      { path: 'steps', type: 'end', id: pastId(Date.parse(ended_at)) },
    ].map((step) => ({ ...step, run_id, created_at: timeOfId(step.id) })),
  )
  await sql`
    insert into automation_runs (workspace_id, id, automation_id, version, contact_id, conversation_id, cause, has_questions, state,
      reason, position, started_at, ended_at)
    select ${workspaceId}, id, ${automationId}, 1, contact_id, conversation_id, cause, false, 'ended', 'finished', 'end', started_at,
      ended_at
    from json_to_recordset(${json(runs)}::text::json) as g (
      id uuid, conversation_id uuid, contact_id uuid, cause text, started_at timestamptz, ended_at timestamptz
    )`
  await sql`
    insert into automation_steps (workspace_id, run_id, id, path, type, outcome, created_at)
    select ${workspaceId}, run_id, id, path, type, 'done', created_at
    from json_to_recordset(${json(steps)}::text::json) as g (run_id uuid, id uuid, path text, type text, created_at timestamptz)`
}
