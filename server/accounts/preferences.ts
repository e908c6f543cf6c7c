/**
 * Preferences: what a member chose for the dashboard, on all devices. Stored as one object that has only the changed keys, so a
 * new preference needs no migration.
 */
import { requireRow, type Sql } from '../lib/postgres/db.ts'

/** About which customer messages a member is notified. `mine`: conversations assigned to the member. All but `none` include mentions. */
export const notificationLevels = ['all', 'mine', 'mentions', 'none'] as const
export type NotificationLevel = (typeof notificationLevels)[number]

export const densities = ['compact', 'comfortable'] as const

export type Preferences = {
  notifications: NotificationLevel
  sound: boolean
  /** Times of day as `HH:MM`, in the time zone of the browser that reads them. */
  quiet_hours: { from: string; to: string } | null
  density: (typeof densities)[number]
}

const defaults: Preferences = { notifications: 'all', sound: true, quiet_hours: null, density: 'compact' }

export async function requirePreferences(sql: Sql, workspaceId: string, memberId: string): Promise<Preferences> {
  const [row] = await sql<{ preferences: Partial<Preferences> }[]>`
    select preferences from members where workspace_id = ${workspaceId} and id = ${memberId}`
  return { ...defaults, ...requireRow(row, 'the signed-in member').preferences }
}

/** Keys that `changes` does not have keep their value. */
export async function updatePreferences(
  sql: Sql,
  workspaceId: string,
  memberId: string,
  changes: Partial<Preferences>,
): Promise<Preferences> {
  const [row] = await sql<{ preferences: Partial<Preferences> }[]>`
    update members set preferences = preferences || ${JSON.stringify(changes)}::text::jsonb
    where workspace_id = ${workspaceId} and id = ${memberId}
    returning preferences`
  return { ...defaults, ...requireRow(row, 'the signed-in member').preferences }
}
