/** The line below the title of the web chat: while it is closed when it opens, else how soon members usually reply. */
import { describeOpening, describeReplyTime, type ReplyTime } from '../../common/chat-hint.ts'
import { isOpen, nextOpening, type Schedule } from '../hours/hours.ts'
import { scheduleOf } from '../hours/schedules.ts'
import type { Sql } from '../lib/postgres/db.ts'

export type HintRequest = {
  language: string
  /** Of the visitor. Absent or unknown: that of the office hours. */
  timeZone: string | undefined
  acceptLanguage: string | undefined
}

/** `schedule`: undefined is always open. */
export function hintOf(
  schedule: Schedule | undefined,
  replyTime: ReplyTime | null,
  nowMs: number,
  { language, timeZone, acceptLanguage }: HintRequest,
): string | null {
  if (isOpen(schedule, nowMs)) return replyTime && describeReplyTime(replyTime, language)
  const opensMs = nextOpening(schedule, nowMs)
  if (!schedule || opensMs === undefined) return null
  const locale = localeOf(acceptLanguage) ?? language
  const visitorZone = timeZone && isTimeZone(timeZone) ? timeZone : schedule.time_zone
  return describeOpening(opensMs, nowMs, { language, locale, timeZone: visitorZone })
}

/** The office hours of the members who answer at a site: of the team that serves it, else of the site. */
export async function readSiteHours(
  sql: Sql,
  workspaceId: string,
  connectionId: string,
): Promise<Schedule | undefined> {
  const [serving] = await sql<{ teamId: string }[]>`
    select t.team_id as "teamId" from team_connections t
    where t.workspace_id = ${workspaceId} and t.connection_id = ${connectionId}`
  return scheduleOf(sql, workspaceId, { teamId: serving?.teamId, connectionId })
}

/** The first language that a browser accepts, as it is: such as en-GB. */
function localeOf(acceptLanguage: string | undefined): string | undefined {
  const [locale] = /^[a-z]{2,3}(?:-[a-z\d]{2,8})*/i.exec(acceptLanguage?.slice(0, 50) ?? '') ?? []
  return locale && attempt(() => new Intl.DateTimeFormat(locale)) ? locale : undefined
}

const isTimeZone = (timeZone: string): boolean => attempt(() => new Intl.DateTimeFormat('en', { timeZone }))

function attempt(create: () => unknown): boolean {
  try {
    create()
    return true
  } catch {
    return false
  }
}
