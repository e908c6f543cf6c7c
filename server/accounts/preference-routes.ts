/** `/preferences`: the member's own settings of the dashboard. A change reaches only the pages of this member. */

import type { Db } from '../lib/postgres/db.ts'
import { OneOf, Type } from '../lib/schema.ts'
import type { Signals } from '../signals/signals.ts'
import { roles } from './members.ts'
import {
  densities,
  notificationLevels,
  type Preferences,
  requirePreferences,
  updatePreferences,
} from './preferences.ts'
import { type Row, row } from './table.ts'

const timeOfDay = { type: 'string', pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$' }
export const QuietHours = Type.Unsafe<Preferences['quiet_hours']>({
  type: ['object', 'null'],
  properties: { from: timeOfDay, to: timeOfDay },
  required: ['from', 'to'],
  description: "From and to, as `HH:MM` in the browser's time zone.",
})
const fields = {
  notifications: OneOf(notificationLevels),
  sound: Type.Boolean(),
  quiet_hours: QuietHours,
  density: OneOf(densities),
}
const PreferencesView = Type.Object(fields, { title: 'Preferences' })
const PreferenceChanges = Type.Partial(Type.Object(fields))

export const preferenceTable = (db: Db, signals: Signals): readonly Row[] => [
  row({
    call: 'GET /preferences',
    members: roles,
    data: PreferencesView,
    run: ({ caller }) => requirePreferences(db, caller.workspaceId, caller.member.id),
  }),
  row({
    call: 'PATCH /preferences',
    members: roles,
    audit: false,
    isQuiet: true,
    body: PreferenceChanges,
    data: PreferencesView,
    run: async ({ caller: { workspaceId, member }, body }) => {
      const data = await updatePreferences(db, workspaceId, member.id, body)
      signals.memberChanged(member.id)
      return data
    },
  }),
]
