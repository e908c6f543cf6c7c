/** The resources of automation as callers see them. */
import { DateTime, NullableDateTime, NullableText, OneOf, type Static, Type, Uuid } from '../lib/schema.ts'
import { endReasons, stepOutcomes } from './runs.ts'

const automationStates = ['draft', 'active', 'paused'] as const

/** `schema.ts` has its shape. A route reads it with `parse.ts`, whose errors name the path. */
const DefinitionField = (description: string) =>
  Type.Unsafe<Record<string, unknown> | null>({ type: ['object', 'null'], additionalProperties: true, description })

export const exampleDefinition = {
  trigger: { type: 'message', when: 'first' },
  steps: [{ type: 'send', message: { type: 'text', text: 'Hello {{contact.name|there}}, we answer within an hour.' } }],
}

const automationExample = {
  id: '0199c1d2-aa10-7c33-9d21-4e5f6a7b8c9d',
  name: 'Greeting',
  description: '',
  state: 'active',
  position: 0,
  version: 1,
  definition: exampleDefinition,
  draft: null,
  recent_runs: { started: 12, open: 0, finished: 11, handed_over: 0, person: 1, failed: 0, other: 0 },
  last_error: null,
  created_at: '2026-01-07T11:15:30.000Z',
  updated_at: '2026-01-07T11:15:30.000Z',
}

const count = Type.Integer()

export const AutomationSchema = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    description: Type.String(),
    state: OneOf(automationStates, { description: '`draft`: never published. `paused`: starts no new runs.' }),
    position: Type.Integer({ description: 'Its place among the automations of the workspace, from 0.' }),
    version: Type.Integer({ description: 'The newest published version, which new runs use; 0 before the first.' }),
    definition: DefinitionField('The definition of that version.'),
    draft: DefinitionField('The definition that is edited. Null: there are no changes since that version.'),
    recent_runs: Type.Object(
      {
        ...{
          started: count,
          open: count,
          finished: count,
          handed_over: count,
          person: count,
          failed: count,
          other: count,
        },
      },
      { description: 'Of the last 7 days, at most 10,000: how many were started, and how they ended.' },
    ),
    last_error: Type.Unsafe<{ run_id: string; at: string; error: string } | null>({
      type: ['object', 'null'],
      properties: { run_id: Uuid, at: DateTime, error: Type.String() },
      required: ['run_id', 'at', 'error'],
    }),
    created_at: DateTime,
    updated_at: DateTime,
  },
  { title: 'Automation', examples: [automationExample] },
)
export type Automation = Static<typeof AutomationSchema>

export const CheckedSchema = Type.Object(
  {
    valid: Type.Boolean({ description: 'Always true: a definition that is not valid is refused.' }),
    definition: Type.Unsafe<object>({
      type: 'object',
      additionalProperties: true,
      description: 'The definition as the service stores it: the fields in a fixed order, without `$schema`.',
    }),
    steps: Type.Array(
      Type.Object({
        path: Type.String({ description: 'The JSON path of the step in the definition.' }),
        depth: Type.Integer({ description: 'How many steps are around it.' }),
        text: Type.String({ description: 'The step on one line.' }),
      }),
      { description: 'The steps on all levels, in their order.' },
    ),
  },
  {
    title: 'CheckedDefinition',
    examples: [
      {
        valid: true,
        definition: exampleDefinition,
        steps: [{ path: 'steps[0]', depth: 0, text: 'send Hello {{contact.name|there}}, we answer within an hour.' }],
      },
    ],
  },
)

export const VersionSchema = Type.Object(
  {
    version: Type.Integer(),
    definition: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
    published_at: DateTime,
    published_by: NullableText({
      description: 'The name of the member. Null: an API key, or a member who was removed.',
    }),
  },
  { title: 'AutomationVersion' },
)

const runExample = {
  id: '0199c1d2-bb20-7c33-9d21-4e5f6a7b8c9d',
  automation_id: automationExample.id,
  automation_name: 'Greeting',
  version: 1,
  contact_id: '0199c1d2-7a21-7c41-a6b2-5e8f90a1b2c3',
  contact_name: 'Ada',
  message_id: '0199c1d2-9e40-7a63-88d4-7a0b1c2d3e4f',
  conversation_id: '0199c1d2-8d30-7b52-b7c3-6f90a1b2c3d4',
  state: 'ended',
  reason: 'finished',
  error: null,
  path: null,
  answers: {},
  due_at: null,
  started_at: '2026-01-07T11:15:30.000Z',
  ended_at: '2026-01-07T11:15:30.200Z',
  ended_by: null,
}

const runFields = {
  id: Uuid,
  automation_id: Uuid,
  automation_name: Type.String(),
  version: Type.Integer(),
  contact_id: Uuid,
  contact_name: NullableText(),
  conversation_id: NullableText({ format: 'uuid' }),
  message_id: NullableText({ format: 'uuid', description: 'The message of the customer that started it.' }),
  state: OneOf(['running', 'waiting', 'ended']),
  reason: Type.Unsafe<(typeof endReasons)[number] | null>({
    ...{ type: ['string', 'null'], enum: [...endReasons, null], description: 'Why it ended.' },
  }),
  error: NullableText(),
  path: NullableText({ description: 'The step at which it is, as a JSON path in the definition.' }),
  answers: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
  due_at: NullableDateTime,
  started_at: DateTime,
  ended_at: NullableDateTime,
  ended_by: NullableText({ description: 'The name of the member who took over.' }),
}

export const RunSchema = Type.Object(runFields, { title: 'AutomationRun', examples: [runExample] })
export type RunResource = Static<typeof RunSchema>

const StepSchema = Type.Object(
  {
    id: Uuid,
    path: Type.String(),
    type: Type.String(),
    outcome: OneOf(stepOutcomes),
    reason: NullableText(),
    input: Type.Unsafe<unknown>({ description: 'What the step got: an answer of the customer, a response of a URL.' }),
    message_id: NullableText({ format: 'uuid' }),
    created_at: DateTime,
  },
  { title: 'AutomationStep' },
)
export type StepResource = Static<typeof StepSchema>

export const RunDetailSchema = Type.Object(
  {
    ...runFields,
    definition: Type.Unsafe<Record<string, unknown>>({
      ...{ type: 'object', additionalProperties: true, description: 'The definition of its version.' },
    }),
    steps: Type.Array(StepSchema, { description: 'What it did, oldest first. Kept for 90 days.' }),
  },
  { title: 'AutomationRunDetail', examples: [{ ...runExample, definition: exampleDefinition, steps: [] }] },
)

export const StartedSchema = Type.Object(
  {
    conversation_id: Uuid,
    run_id: NullableText({ format: 'uuid' }),
    error: NullableText({ description: 'Why no run was started.' }),
  },
  {
    title: 'StartedRun',
    examples: [
      { conversation_id: '0199c1d2-8d30-7b52-b7c3-6f90a1b2c3d4', run_id: null, error: 'the contact opted out' },
    ],
  },
)
