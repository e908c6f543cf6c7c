/** The answer of a dry run as callers see it. */
import { DateTime, NullableDateTime, NullableText, OneOf, type Static, Type, Uuid } from '../../lib/schema.ts'
import { stepOutcomes } from '../runs.ts'

/** `call`: the response of a server is not known, so the run cannot be followed further. */
const reasons = [
  'finished',
  'handed_over',
  'person',
  'timeout',
  'opted_out',
  'failed',
  'limit_messages',
  'limit_chain',
  'call',
] as const
export type DryRunReason = (typeof reasons)[number]

const StepSchema = Type.Object(
  {
    path: Type.String({ description: 'The JSON path of the step in the definition.' }),
    type: Type.String(),
    at: DateTime,
    outcome: OneOf(stepOutcomes),
    text: NullableText({ description: 'The message with its fields filled, the note, or the changes in words.' }),
    reason: NullableText(),
    input: NullableText({ description: 'The answer of the customer.' }),
  },
  { title: 'DryRunStep' },
)
export type DryRunStep = Static<typeof StepSchema>

const runExample = {
  contact_id: '0199c1d2-7a21-7c41-a6b2-5e8f90a1b2c3',
  contact_name: 'Ada',
  conversation_id: '0199c1d2-8d30-7b52-b7c3-6f90a1b2c3d4',
  message_id: '0199c1d2-9c40-7a63-b8d4-7fa0b1c2d3e4',
  message_text: 'hello',
  started_at: '2026-01-07T11:15:30.000Z',
  ended_at: '2026-01-07T11:15:30.000Z',
  reason: 'finished',
  error: null,
  answers: {},
  message_count: 1,
  steps: [
    {
      ...{ path: 'steps[0]', type: 'send', at: '2026-01-07T11:15:30.000Z', outcome: 'sent' },
      ...{ text: 'Hello Ada, we answer within an hour.', reason: null, input: null },
    },
  ],
}

const RunSchema = Type.Object(
  {
    contact_id: Uuid,
    contact_name: NullableText(),
    conversation_id: NullableText({ format: 'uuid' }),
    message_id: NullableText({
      format: 'uuid',
      description: 'The message of the customer that would have started it.',
    }),
    message_text: NullableText(),
    started_at: DateTime,
    ended_at: NullableDateTime,
    reason: Type.Unsafe<DryRunReason | null>({
      ...{ type: ['string', 'null'], enum: [...reasons, null] },
      description:
        'Why it would have ended. `call`: the response of a server is not known, so it cannot be followed further. Null: it would still be open.',
    }),
    error: NullableText(),
    answers: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
    message_count: Type.Integer({ description: 'The messages that it would have sent.' }),
    steps: Type.Array(StepSchema, { description: 'What it would have done, oldest first; at most 100 steps.' }),
  },
  { title: 'DryRunRun' },
)
export type DryRunRun = Static<typeof RunSchema>

const count = Type.Integer()

export const DryRunSchema = Type.Object(
  {
    source: OneOf(['definition', 'draft', 'version'], { description: 'What was tried.' }),
    since: DateTime,
    until: DateTime,
    counts: Type.Object(
      {
        runs: count,
        conversations: Type.Integer({ description: 'In which at least one run would have started.' }),
        messages: Type.Integer({ description: 'That the runs would have sent.' }),
        open: Type.Integer({ description: 'Runs that would still be open.' }),
        ...{ finished: count, handed_over: count, person: count, timeout: count, opted_out: count, failed: count },
        ...{ limit_messages: count, limit_chain: count, call: count },
      },
      { description: 'Of all runs, by how they would have ended.' },
    ),
    conversation_count: Type.Integer({ description: 'The conversations that were read.' }),
    is_complete: Type.Boolean({ description: 'Whether all of the past was read. The notes say what was not.' }),
    notes: Type.Array(Type.String(), { description: 'What the dry run cannot know, in plain English.' }),
    runs: Type.Array(RunSchema, { description: 'The newest runs, at most 200, newest first.' }),
  },
  {
    title: 'AutomationDryRun',
    examples: [
      {
        source: 'draft',
        since: '2026-01-01T11:15:30.000Z',
        until: '2026-01-08T11:15:30.000Z',
        counts: {
          ...{ runs: 1, conversations: 1, messages: 1, open: 0, finished: 1, handed_over: 0, person: 0, timeout: 0 },
          ...{ opted_out: 0, failed: 0, limit_messages: 0, limit_chain: 0, call: 0 },
        },
        conversation_count: 12,
        is_complete: true,
        notes: [
          'Sends are assumed to succeed: the plan, the connection and the approval of templates are not checked.',
        ],
        runs: [runExample],
      },
    ],
  },
)
export type DryRun = Static<typeof DryRunSchema>
