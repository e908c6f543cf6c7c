/** Schemas of reports. */
import { ContactName } from '../../contacts/contact-name.ts'
import { channels } from '../../contacts/resource.ts'
import { Color, DateTime, NullableDateTime, NullableText, OneOf, type Static, Type, Uuid } from '../../lib/schema.ts'
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

export const ReportSchema = Type.Object(
  {
    name: OneOf(reportNames),
    from_day: Day,
    to_day: Type.String({ format: 'date', description: 'The last day, included.' }),
    time_zone: Type.String({ description: 'The days are those of this zone: the workspace’s.' }),
    interval: OneOf(intervals),
    office_hours: Type.Boolean({ description: 'Times are counted in office hours.' }),
    is_rebuilding: Type.Boolean({
      description:
        'The time zone of the workspace has changed, and its days are being counted again. `time_zone` is still the former one.',
    }),
    is_complete: Type.Boolean({
      description: 'False while many past episodes are being counted: after an upgrade, for some minutes.',
    }),
    totals: Type.Object({ ...figures, waiting_now }),
    previous: Type.Object({ from_day: Day, to_day: Day, ...figures }, { description: 'As many days before.' }),
    intervals: Type.Array(
      Type.Object({
        start: Type.String({ format: 'date', description: 'Its first day in the period. Weeks begin on Monday.' }),
        ...figures,
      }),
    ),
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
