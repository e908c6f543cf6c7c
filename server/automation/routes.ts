/** `/automations`: list, create, check, edit, publish, pause. `/automation-runs`: what they did. `/conversations/{id}/take-over`. */
import type { Times } from '../../common/times.ts'
import { managers, roles, writers } from '../accounts/members.ts'
import { type Row, row } from '../accounts/table.ts'
import type { Channel } from '../channels/channel.ts'
import type { ChannelName } from '../contacts/resource.ts'
import { requireConversation } from '../conversations/conversations.ts'
import type { Sealer } from '../lib/crypto.ts'
import { newId } from '../lib/id.ts'
import { readPosition } from '../lib/page.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { SlowReads } from '../lib/postgres/slow-reads.ts'
import { Deleted, IdParams, ListQuery, OneOf, Type, Uuid } from '../lib/schema.ts'
import { describeFields } from '../segments/filter.ts'
import { FieldsSchema } from '../segments/filter-schema.ts'
import type { Signals } from '../signals/signals.ts'
import type { Guard } from '../webhooks/guard.ts'
import {
  changeAutomation,
  checkDefinition,
  createAutomation,
  deleteAutomation,
  listAutomations,
  listMacros,
  listVersions,
  maxDescription,
  maxName,
  pause,
  publish,
  requireAutomation,
  rotateSecret,
  saveDraft,
} from './automations.ts'
import { createDryRunner, maxDays } from './dry-run/dry-run.ts'
import { DryRunSchema } from './dry-run/resource.ts'
import { automationFields } from './fields.ts'
import {
  AutomationSchema,
  CheckedSchema,
  exampleDefinition,
  RunDetailSchema,
  RunSchema,
  StartedSchema,
  VersionSchema,
} from './resource.ts'
import { listRuns, requireRun, startRuns, takeOver } from './run-list.ts'

const scope = 'automations:manage'

/** `parse.ts` checks it, with errors that name the path. */
const Definition = Type.Unsafe<unknown>({
  type: 'object',
  additionalProperties: true,
  title: 'AutomationDefinition',
  description: 'Trigger, conditions and steps; see the guide on automation and its JSON Schema.',
  examples: [exampleDefinition],
})

const NewAutomation = Type.Object(
  {
    name: Type.String({ maxLength: 4 * maxName }),
    description: Type.Optional(Type.String({ maxLength: 4 * maxDescription })),
    definition: Type.Optional(Definition),
  },
  { title: 'NewAutomation', examples: [{ name: 'Greeting' }] },
)
const AutomationChange = Type.Object(
  {
    name: Type.Optional(Type.String({ maxLength: 4 * maxName })),
    description: Type.Optional(Type.String({ maxLength: 4 * maxDescription })),
    position: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000, description: 'Its new place, from 0.' })),
  },
  { title: 'AutomationChange', minProperties: 1, examples: [{ name: 'Greeting' }] },
)

const nameOf = (data: unknown): string => (data as { name: string }).name

type AutomationOptions = {
  db: Db
  slow: SlowReads
  sealer: Sealer
  signals: Signals
  channels: Record<ChannelName, Channel>
  guard: Guard
  times: Times['automation']
}

export function automationTable({
  db,
  slow,
  sealer,
  signals,
  channels,
  guard,
  times,
}: AutomationOptions): readonly Row[] {
  const dryRun = createDryRunner({ db, slow, channels, times })
  return [
    row({
      call: 'GET /automations',
      operation: 'listAutomations',
      summary: 'List automations',
      description: 'All automations of the workspace, in the order in which they are tried.',
      scope,
      members: roles,
      list: AutomationSchema,
      run: async ({ caller }) => ({
        data: await listAutomations(db, caller.workspaceId),
        meta: { next_cursor: null },
      }),
    }),
    row({
      call: 'POST /automations',
      operation: 'createAutomation',
      summary: 'Create an automation',
      description: 'Creates a draft. It starts nothing before it is published.',
      scope,
      members: managers,
      audit: { action: 'automation.created', summary: nameOf },
      body: NewAutomation,
      data: AutomationSchema,
      status: 201,
      run: ({ caller, body, idempotency }) =>
        createAutomation(db, sealer, guard, caller.workspaceId, body, idempotency?.subject.id),
    }),
    row({
      call: 'POST /automations/check',
      operation: 'checkAutomation',
      summary: 'Check a definition without saving it',
      description:
        'Takes the body of `PUT /automations/{id}/draft` and applies the same checks. Changes nothing. A definition that is not valid is a 400 that begins with the path of its first fault.',
      scope,
      body: Definition,
      data: CheckedSchema,
      status: { 200: 'The definition is valid.' },
      run: ({ body }) => checkDefinition(guard, body),
    }),
    row({
      call: 'GET /automations/macros',
      members: roles,
      data: Type.Array(Type.Object({ id: Uuid, name: Type.String() })),
      run: ({ caller }) => listMacros(db, caller.workspaceId),
    }),
    row({
      call: 'GET /automations/fields',
      members: roles,
      data: FieldsSchema,
      run: async () => describeFields(automationFields),
    }),
    row({
      call: 'GET /automations/:id',
      operation: 'getAutomation',
      summary: 'Read an automation',
      description: 'With its definition, its draft and how its runs of the last seven days ended.',
      scope,
      members: roles,
      params: IdParams,
      data: AutomationSchema,
      run: ({ caller, params }) => requireAutomation(db, caller.workspaceId, params.id),
    }),
    row({
      call: 'PATCH /automations/:id',
      operation: 'updateAutomation',
      summary: 'Change the name, the description or the place of an automation',
      description: 'Only the fields that are present change.',
      scope,
      members: managers,
      audit: { action: 'automation.changed', summary: nameOf },
      params: IdParams,
      body: AutomationChange,
      data: AutomationSchema,
      run: ({ caller, params, body }) => changeAutomation(db, caller.workspaceId, params.id, body),
    }),
    row({
      call: 'DELETE /automations/:id',
      operation: 'deleteAutomation',
      summary: 'Delete an automation',
      description: 'With its versions and runs. Open runs end, and their conversations are the team’s.',
      scope,
      members: managers,
      audit: { action: 'automation.deleted', summary: nameOf },
      params: IdParams,
      data: Deleted,
      run: ({ caller, params }) => deleteAutomation(db, caller.workspaceId, params.id),
    }),
    row({
      call: 'PUT /automations/:id/draft',
      operation: 'saveAutomationDraft',
      summary: 'Save the draft of an automation',
      description:
        'Replaces the definition that is edited. A definition that is not valid is a 400 that begins with the path of its first fault, such as `steps[2].cases[0].when.rules[1].op`.',
      scope,
      members: managers,
      audit: false,
      params: IdParams,
      query: Type.Object({
        if_updated_at: Type.Optional(
          Type.String({
            format: 'date-time',
            description:
              'The `updated_at` that the caller has read. If the automation has changed since, another definition than its draft is refused.',
          }),
        ),
      }),
      body: Definition,
      data: AutomationSchema,
      run: ({ caller, params, query, body }) =>
        saveDraft(db, guard, caller.workspaceId, params.id, body, query.if_updated_at),
    }),
    row({
      call: 'POST /automations/:id/dry-run',
      operation: 'dryRunAutomation',
      summary: 'Try an automation on the past',
      description:
        'Which conversations of the last days the automation would have touched, and what it would have sent. Changes nothing and sends nothing. Tries the `definition` of the body, else the draft, else the published version. An automation that is started by hand, or by tags or attributes, is a 400: there is no past to try it on. A workspace has one dry run at a time: another one is a 429.',
      scope,
      members: writers,
      needsAll: true,
      audit: false,
      // Nothing is changed, and the answer may be long: a repeat runs again.
      storeAnswer: false,
      params: IdParams,
      body: Type.Object(
        {
          definition: Type.Optional(Definition),
          days: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: maxDays,
              description: `The length of the past; ${maxDays} when absent.`,
            }),
          ),
        },
        { title: 'AutomationDryRunRequest', examples: [{ days: 7 }] },
      ),
      data: DryRunSchema,
      status: { 200: 'What the automation would have done.' },
      run: ({ caller, params, body }) => dryRun(caller.workspaceId, params.id, body),
    }),
    row({
      call: 'GET /automations/:id/versions',
      members: roles,
      params: IdParams,
      data: Type.Array(VersionSchema),
      run: ({ caller, params }) => listVersions(db, caller.workspaceId, params.id),
    }),
    row({
      call: 'POST /automations/:id/publish',
      operation: 'publishAutomation',
      summary: 'Publish an automation',
      description:
        'The draft becomes the newest version, and the automation is active: new runs use it, open ones keep theirs. Without a draft it only activates a paused automation.',
      scope,
      members: managers,
      audit: { action: 'automation.published', summary: nameOf },
      params: IdParams,
      data: AutomationSchema,
      run: ({ caller, params }) =>
        publish(db, caller.workspaceId, params.id, 'member' in caller && caller.member ? caller.member.id : null),
    }),
    row({
      call: 'POST /automations/:id/pause',
      operation: 'pauseAutomation',
      summary: 'Pause an automation',
      description: 'It starts no new runs. Open ones go on, unless `end_runs` is true.',
      scope,
      members: managers,
      audit: { action: 'automation.paused', summary: nameOf },
      params: IdParams,
      body: Type.Object(
        { end_runs: Type.Optional(Type.Boolean()) },
        { title: 'AutomationPause', examples: [{ end_runs: true }] },
      ),
      data: AutomationSchema,
      run: ({ caller, params, body }) => pause(db, caller.workspaceId, params.id, body.end_runs ?? false),
    }),
    row({
      call: 'POST /automations/:id/rotate-secret',
      operation: 'rotateAutomationSecret',
      summary: 'Replace the secret of an automation',
      description:
        'The secret signs the calls of the step `call` as those of a webhook. Only this call returns it; the earlier one is not valid any more.',
      scope,
      members: managers,
      audit: 'automation.secret_rotated',
      hasSecret: true,
      params: IdParams,
      data: Type.Object(
        { id: Uuid, secret: Type.String({ pattern: '^whsec_' }) },
        {
          title: 'AutomationSecret',
          examples: [{ id: '0199c1d2-aa10-7c33-9d21-4e5f6a7b8c9d', secret: 'whsec_8Zq2nB7fKx4LmT1vYc6Rp0Wd9Js3Hg5U' }],
        },
      ),
      run: ({ caller, params }) => rotateSecret(db, sealer, caller.workspaceId, params.id),
    }),
    row({
      call: 'GET /automations/:id/runs',
      operation: 'listAutomationRuns',
      summary: 'List the runs of an automation',
      description: 'Newest first.',
      scope,
      members: roles,
      params: IdParams,
      query: ListQuery({
        state: Type.Optional(OneOf(['open', 'ended'], { description: 'All when absent.' })),
        reason: Type.Optional(Type.String({ maxLength: 40, description: 'Why they ended.' })),
      }),
      list: RunSchema,
      run: async ({ caller, params, query }) => {
        const { id } = await requireAutomation(db, caller.workspaceId, params.id)
        const { state, reason } = query
        return listRuns(
          db,
          caller.workspaceId,
          { automation_id: id, state, reason, reader: caller },
          readPosition(query),
        )
      },
    }),
    row({
      call: 'POST /automations/:id/runs',
      operation: 'startAutomation',
      summary: 'Start an automation on conversations',
      description:
        'For automations with the trigger `manual`. A conversation on which it cannot start does not stop the others.',
      scope,
      members: writers,
      audit: false,
      params: IdParams,
      body: Type.Object(
        { conversation_ids: Type.Array(Type.String({ maxLength: 100 }), { minItems: 1, maxItems: 100 }) },
        { title: 'AutomationStart', examples: [{ conversation_ids: ['0199c1d2-8d30-7b52-b7c3-6f90a1b2c3d4'] }] },
      ),
      data: Type.Array(StartedSchema),
      status: 201,
      run: async ({ caller, params, body, idempotency }) => {
        const key = idempotency?.subject.id ?? newId()
        const started = await startRuns(db, caller, params.id, body.conversation_ids, { key })
        signals.changesQueued()
        return started
      },
    }),
    row({
      call: 'GET /automation-runs/:id',
      operation: 'getAutomationRun',
      summary: 'Read a run of an automation',
      description: 'With what each of its steps did.',
      scope,
      members: roles,
      params: IdParams,
      data: RunDetailSchema,
      run: ({ caller, params }) => requireRun(db, caller, params.id),
    }),
    row({
      call: 'GET /conversations/:id/automation-runs',
      members: roles,
      params: IdParams,
      query: ListQuery({}),
      list: RunSchema,
      run: async ({ caller, params, query }) => {
        const { id } = await requireConversation(db, caller.workspaceId, params.id)
        return listRuns(db, caller.workspaceId, { conversation_id: id }, readPosition(query))
      },
    }),
    row({
      call: 'POST /conversations/:id/take-over',
      operation: 'takeOverConversation',
      summary: 'Take a conversation over from the bot',
      description: 'Ends the open runs of automations in the conversation. A reply of a member does the same.',
      scope,
      members: writers,
      audit: false,
      params: IdParams,
      data: Type.Object(
        { id: Uuid, stopped: Type.Boolean({ description: 'Whether there was an open run.' }) },
        { title: 'TakenOver', examples: [{ id: '0199c1d2-8d30-7b52-b7c3-6f90a1b2c3d4', stopped: true }] },
      ),
      run: async ({ caller, params }) => {
        const memberId = 'member' in caller && caller.member ? caller.member.id : null
        const taken = await takeOver(db, caller.workspaceId, params.id, memberId)
        signals.inboxChanged(caller.workspaceId, [taken.id])
        return taken
      },
    }),
  ]
}
