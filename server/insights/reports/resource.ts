/** Schemas of reports. */
import { clockKinds } from '../../automation/definition.ts'
import { ContactName } from '../../contacts/contact-name.ts'
import { channels } from '../../contacts/resource.ts'
import { Color, DateTime, NullableDateTime, NullableText, OneOf, type Static, Type, Uuid } from '../../lib/schema.ts'
import { availabilities } from '../../teams/availability.ts'
import { intervals, reportNames } from './request.ts'

const Count = Type.Integer({ minimum: 0 })
const Day = Type.String({ format: 'date' })
const NullableSeconds = (description: string) =>
  Type.Unsafe<number | null>({ type: ['number', 'null'], minimum: 0, description })

const Spread = (description: string) =>
  Type.Object(
    {
      count: Type.Integer({ minimum: 0, description: 'The episodes with such a time.' }),
      median_seconds: NullableSeconds('From a histogram, with an error of at most 2 %. Null without an episode.'),
      p90_seconds: NullableSeconds('Nine tenths of the times are at most this long. The error is that of the median.'),
      mean_seconds: NullableSeconds('Exact, rounded to a tenth of a second.'),
    },
    { description },
  )

const figures = {
  opened: Type.Integer({ minimum: 0, description: 'Episodes that opened in the period.' }),
  reopened: Type.Integer({
    minimum: 0,
    description: 'Those of them whose conversation had been closed less than 24 hours before.',
  }),
  closed: Type.Integer({ minimum: 0, description: 'Episodes that closed in the period.' }),
  replies: Type.Integer({ minimum: 0, description: 'Replies of members in the episodes that closed in the period.' }),
  first_reply: Spread(
    'From the opening by the customer to the first reply of a member, of the episodes whose first reply was in the period.',
  ),
  closing: Spread('From the opening to the closing, of the episodes that closed in the period.'),
}
const waiting_now = Type.Integer({
  minimum: 0,
  description: 'Open conversations whose customer waits for a reply of a member now, whatever the period.',
})

const spreadExample = (count: number) => ({ count, median_seconds: 254.6, p90_seconds: 1406.2, mean_seconds: 522.4 })
const figuresExample = (opened: number) => ({
  ...{ opened, reopened: 3, closed: opened - 2, replies: 3 * opened },
  ...{ first_reply: spreadExample(opened - 1), closing: spreadExample(opened - 2) },
})

/** What all reports have. */
const head = {
  from_day: Day,
  to_day: Type.String({ format: 'date', description: 'The last day, included.' }),
  time_zone: Type.String({ description: 'The days are those of this zone: the workspace’s.' }),
  interval: OneOf(intervals),
  is_rebuilding: Type.Boolean({
    description:
      'The time zone of the workspace has changed, and its days are being counted again. `time_zone` is still the former one.',
  }),
}
const is_complete = Type.Boolean({
  description: 'False while many past episodes are being counted: after an upgrade, for some minutes.',
})
const start = Type.String({ format: 'date', description: 'Its first day in the period. Weeks begin on Monday.' })
const before = 'As many days before.'

export const ReportSchema = Type.Object(
  {
    name: OneOf(reportNames),
    ...head,
    office_hours: Type.Boolean({ description: 'Times are counted in office hours.' }),
    is_complete,
    totals: Type.Object({ ...figures, waiting_now }),
    previous: Type.Object({ from_day: Day, to_day: Day, ...figures }, { description: before }),
    intervals: Type.Array(Type.Object({ start, ...figures })),
    rows: Type.Array(
      Type.Object({
        id: NullableText({
          format: 'uuid',
          description: 'Of the member, team, label or connection. Null: episodes without one.',
        }),
        name: NullableText({ description: 'Null if it does not exist any more, or if `id` is null.' }),
        color: Type.Unsafe<string | null>({ ...Color, type: ['string', 'null'] }),
        ...figures,
        previous: Type.Object(figures),
        waiting_now,
      }),
      {
        description: 'One per member, team, label or connection with a figure. Empty for `overview` and `busy_hours`.',
      },
    ),
    hours: Type.Array(
      Type.Object({
        weekday: Type.Integer({ minimum: 0, maximum: 6, description: '0 is Monday.' }),
        hour: Type.Integer({ minimum: 0, maximum: 23 }),
        opened: Count,
        first_replies: Count,
        closed: Count,
      }),
      { description: 'Of `busy_hours`: the hours of the week in which something happened.' },
    ),
  },
  {
    title: 'Report',
    examples: [
      {
        ...{ name: 'teams', from_day: '2026-01-01', to_day: '2026-01-02', time_zone: 'Europe/Berlin', interval: 'day' },
        ...{ office_hours: false, is_rebuilding: false, is_complete: true },
        totals: { ...figuresExample(40), waiting_now: 4 },
        previous: { from_day: '2025-12-30', to_day: '2025-12-31', ...figuresExample(36) },
        intervals: [
          { start: '2026-01-01', ...figuresExample(12) },
          { start: '2026-01-02', ...figuresExample(28) },
        ],
        rows: [
          {
            ...{ id: '0199c1d2-7a10-7c31-8e02-4d5e6f708195', name: 'Sales', color: '#2f6fde' },
            ...{ ...figuresExample(40), previous: figuresExample(36), waiting_now: 4 },
          },
        ],
        hours: [],
      },
    ],
  },
)

export const ReportEpisodeSchema = Type.Object({
  id: Uuid,
  conversation_id: Uuid,
  channel: OneOf(channels),
  contact: ContactName,
  team: NullableText(),
  member: NullableText(),
  opened_at: DateTime,
  opened_by: OneOf(['customer', 'member']),
  is_reopened: Type.Boolean(),
  first_reply_at: NullableDateTime,
  first_reply_by: NullableText(),
  first_reply_seconds: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
  closed_at: NullableDateTime,
  closed_by: NullableText(),
  closing_seconds: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
  replies: Count,
})
export type ReportEpisode = Static<typeof ReportEpisodeSchema>

const headExample = {
  ...{ from_day: '2026-01-01', to_day: '2026-01-01', time_zone: 'Europe/Berlin', interval: 'day' },
  is_rebuilding: false,
}
const dayBefore = { from_day: '2025-12-31', to_day: '2025-12-31' }

const satisfaction = {
  asked: Type.Integer({
    minimum: 0,
    description: 'Questions that were sent in the period. Those that did not reach the customer are not counted.',
  }),
  answered: Type.Integer({
    minimum: 0,
    description: 'Those of them that have a rating by now. The response rate is `answered` / `asked`.',
  }),
  ratings: Type.Integer({ minimum: 0, description: 'Ratings that came in the period, whatever day the question was.' }),
  by_rating: Type.Array(Count, {
    minItems: 5,
    maxItems: 5,
    description: 'Of these ratings: how many are 1, 2, 3, 4 and 5.',
  }),
  mean_rating: Type.Unsafe<number | null>({
    ...{ type: ['number', 'null'], minimum: 1, maximum: 5 },
    description: 'Of these ratings: exact, rounded to a hundredth. Null without a rating.',
  }),
}
const satisfactionExample = { asked: 40, answered: 21, ratings: 20, by_rating: [1, 0, 2, 5, 12], mean_rating: 4.35 }

export const satisfactionRows = ['member', 'team', 'connection', 'label'] as const

export const SatisfactionReportSchema = Type.Object(
  {
    name: OneOf(['satisfaction']),
    by: OneOf(satisfactionRows),
    ...head,
    is_complete,
    totals: Type.Object(satisfaction),
    previous: Type.Object({ from_day: Day, to_day: Day, ...satisfaction }, { description: before }),
    intervals: Type.Array(Type.Object({ start, ...satisfaction })),
    rows: Type.Array(
      Type.Object({
        id: NullableText({
          format: 'uuid',
          description:
            'Of the member who replied last before the question, of the team, connection or label. Null: none.',
        }),
        name: NullableText({ description: 'Null if it does not exist any more, or if `id` is null.' }),
        color: Type.Unsafe<string | null>({ ...Color, type: ['string', 'null'] }),
        ...satisfaction,
        previous: Type.Object(satisfaction),
      }),
    ),
  },
  {
    title: 'SatisfactionReport',
    examples: [
      {
        ...{ name: 'satisfaction', by: 'member', ...headExample, is_complete: true, totals: satisfactionExample },
        previous: { ...dayBefore, ...satisfactionExample },
        intervals: [{ start: '2026-01-01', ...satisfactionExample }],
        rows: [
          {
            ...{ id: '0199c1d2-7a10-7c31-8e02-4d5e6f708195', name: 'Ana', color: null, ...satisfactionExample },
            previous: satisfactionExample,
          },
        ],
      },
    ],
  },
)
export type SatisfactionReport = Static<typeof SatisfactionReportSchema>

export const ReportRatingSchema = Type.Object({
  id: Type.String({ format: 'uuid', description: 'The message that asked.' }),
  episode_id: Uuid,
  conversation_id: Uuid,
  channel: OneOf(channels),
  contact: ContactName,
  team: NullableText(),
  member: NullableText({ description: 'The member who replied last before the question.' }),
  asked_at: DateTime,
  rating: Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 1, maximum: 5 }),
  rated_at: NullableDateTime,
  comment: NullableText(),
})
export type ReportRating = Static<typeof ReportRatingSchema>

const outcomes = Type.Object({ met: Count, missed: Count })
const byKind = {
  first_reply: outcomes,
  next_reply: outcomes,
  closing: outcomes,
}
const byKindExample = {
  first_reply: { met: 36, missed: 4 },
  next_reply: { met: 22, missed: 1 },
  closing: { met: 30, missed: 8 },
}

export const targetRows = ['target', ...satisfactionRows] as const

export const TargetsReportSchema = Type.Object(
  {
    name: OneOf(['targets']),
    by: OneOf(targetRows),
    ...head,
    is_complete,
    totals: Type.Object(byKind, {
      description:
        'An episode has at most one outcome of each target and kind. A miss counts on the day on which the time ran out, a met one on the day of the reply or the closing.',
    }),
    previous: Type.Object({ from_day: Day, to_day: Day, ...byKind }, { description: before }),
    intervals: Type.Array(Type.Object({ start, ...byKind })),
    rows: Type.Array(
      Type.Object({
        id: NullableText({
          format: 'uuid',
          description:
            'Of the target; of the member or team who had the conversation when the outcome was decided; of the connection or label. Null: none.',
        }),
        name: NullableText({ description: 'Null if it does not exist any more, or if `id` is null.' }),
        color: Type.Unsafe<string | null>({ ...Color, type: ['string', 'null'] }),
        is_deleted: Type.Boolean({ description: 'Of a target.' }),
        ...byKind,
        previous: Type.Object(byKind),
      }),
      { description: 'One per target, member, team, connection or label with an outcome in one of the periods.' },
    ),
  },
  {
    title: 'TargetsReport',
    examples: [
      {
        ...{ name: 'targets', by: 'target', ...headExample, is_complete: true, totals: byKindExample },
        previous: { ...dayBefore, ...byKindExample },
        intervals: [{ start: '2026-01-01', ...byKindExample }],
        rows: [
          {
            ...{ id: '0199c1d2-7a10-7c31-8e02-4d5e6f708196', name: 'Support', color: null, is_deleted: false },
            ...byKindExample,
            previous: byKindExample,
          },
        ],
      },
    ],
  },
)
export type TargetsReport = Static<typeof TargetsReportSchema>

export const ReportOutcomesSchema = Type.Object({
  id: Type.String({ format: 'uuid', description: 'The episode.' }),
  conversation_id: Uuid,
  channel: OneOf(channels),
  contact: ContactName,
  opened_at: DateTime,
  closed_at: NullableDateTime,
  outcomes: Type.Array(
    Type.Object({
      target_id: Uuid,
      target: NullableText(),
      kind: OneOf(clockKinds),
      outcome: OneOf(['met', 'missed']),
      at: Type.String({
        format: 'date-time',
        description: 'When the time ran out, or when the reply or the closing was in time.',
      }),
      due_at: NullableDateTime,
      ended_at: NullableText({
        format: 'date-time',
        description: 'When the reply was sent or the episode was closed. Null: not yet.',
      }),
      team: NullableText({ description: 'Of the conversation when the outcome was decided.' }),
      member: NullableText({ description: 'To whom it was assigned then.' }),
    }),
    { description: 'Only those of the figure.' },
  ),
})
export type ReportOutcomes = Static<typeof ReportOutcomesSchema>

const availability = {
  available_seconds: Count,
  away_seconds: Count,
  offline_seconds: Type.Integer({ minimum: 0, description: 'The rest of the time since the member was added.' }),
}
const availabilityExample = { available_seconds: 25_200, away_seconds: 1_800, offline_seconds: 59_400 }

export const AvailabilityReportSchema = Type.Object(
  {
    name: OneOf(['availability']),
    ...head,
    totals: Type.Object(availability, { description: 'Of all rows, up to now.' }),
    previous: Type.Object({ from_day: Day, to_day: Day, ...availability }, { description: before }),
    intervals: Type.Array(Type.Object({ start, ...availability })),
    rows: Type.Array(
      Type.Object({
        id: Uuid,
        name: NullableText(),
        state: OneOf(availabilities, { description: 'Now.' }),
        ...availability,
        previous: Type.Object(availability),
      }),
      { description: 'One per member, without viewers.' },
    ),
  },
  {
    title: 'AvailabilityReport',
    examples: [
      {
        ...{ name: 'availability', ...headExample, totals: availabilityExample },
        previous: { ...dayBefore, ...availabilityExample },
        intervals: [{ start: '2026-01-01', ...availabilityExample }],
        rows: [
          {
            ...{ id: '0199c1d2-7a10-7c31-8e02-4d5e6f708195', name: 'Ana', state: 'available', ...availabilityExample },
            previous: availabilityExample,
          },
        ],
      },
    ],
  },
)
export type AvailabilityReport = Static<typeof AvailabilityReportSchema>

export const ReportSpanSchema = Type.Object({
  id: Uuid,
  member_id: Uuid,
  member: NullableText(),
  state: OneOf(availabilities),
  is_chosen: Type.Boolean({ description: 'Away: the member chose it. Otherwise there was no input.' }),
  started_at: DateTime,
  ended_at: NullableText({ format: 'date-time', description: 'Null: it lasts.' }),
  seconds: Type.Integer({ minimum: 0, description: 'Of the part in the period, as the times are.' }),
})
export type ReportSpan = Static<typeof ReportSpanSchema>
