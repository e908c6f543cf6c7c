/** How soon members usually reply in the web chat, for its visitors. */
import type { ReplyTime } from '../../common/chat-hint.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { countedPeriods } from './periods.ts'

/** Fewer replies say nothing. */
const minReplies = 5
const days = 30

/** The shortest span in which at least half of the replies of the last days came; null: there is none, or there are too few. */
export async function readReplyTime(sql: Sql, workspaceId: string): Promise<ReplyTime | null> {
  const [row] = await sql<{ count: number; minutes: number; hour: number; day: number }[]>`
    select coalesce(sum(answers), 0)::int as count, coalesce(sum(within_five_minutes), 0)::int as minutes,
      coalesce(sum(within_one_hour), 0)::int as hour, coalesce(sum(within_one_day), 0)::int as day
    from ${countedPeriods(sql, workspaceId)} p
    where channel = 'web' and at > now() - make_interval(days => ${days}::int)`
  if (!row || row.count < minReplies) return null
  const spans = ['minutes', 'hour', 'day'] as const
  return spans.find((span) => row[span] * 2 >= row.count) ?? null
}
