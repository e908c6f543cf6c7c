/** The actions for the selected conversations. */
import { Button, IconButton } from '../../../../ui/controls.tsx'
import { Menu } from '../../../../ui/menu.tsx'
import { useCall } from '../../lib/api.ts'
import { memberName } from '../../lib/people.ts'
import { useSession } from '../../lib/session.tsx'
import { useShortcuts } from '../../lib/shortcuts.ts'
import { words } from '../../words/words.ts'
import type { InboxActions } from '../actions/actions.ts'
import { useMacros } from '../actions/macros.ts'
import { areClosed, findConversation } from '../model/conversations.ts'
import { useModeration } from '../model/moderation.ts'
import { clearSelection, selectAll, useSelected } from '../model/selection.ts'

const { flow, thread, macros: macroTexts } = words.inbox

export default function BulkBar({ actions }: { actions: InboxActions }) {
  const ids = [...useSelected()]
  const { member } = useSession()
  const { mark } = useModeration()
  const isUnread = ids.some((id) => findConversation(id)?.unread_count === 0)
  const { macros, start } = useMacros()
  useShortcuts({ Escape: clearSelection })
  const teams = useCall('GET /teams', {}).data ?? []
  const members = (useCall('GET /members', {}).data ?? []).filter(({ state }) => state === 'active')
  return (
    <div className="stack inbox-bulk" role="toolbar" aria-label={flow.selection}>
      <div className="inbox-bulk-count">
        <strong role="status">{flow.selected(ids.length)}</strong>
        <Button label={flow.selectAll} size="small" onClick={selectAll} />
        <IconButton label={flow.clearSelection} icon="close" onClick={clearSelection} />
      </div>
      <div className="inbox-bulk-actions">
        <Menu
          label={flow.assign}
          align="start"
          button={<Button label={flow.assign} size="small" />}
          items={[
            { key: 'unassigned', label: thread.unassigned, onSelect: () => actions.assign(ids, null) },
            { kind: 'separator', key: 'line' },
            ...members.map((one) => ({
              key: one.id,
              label: one.id === member.id ? thread.me(memberName(one)) : memberName(one),
              onSelect: () => actions.assign(ids, one),
            })),
            ...(teams.length > 0 ? [{ kind: 'separator' as const, key: 'teams' }] : []),
            ...teams.map((one) => ({
              key: one.id,
              label: words.inbox.list.ofTeam(one.name),
              onSelect: () => actions.assignTeam(ids, one),
            })),
            ...(teams.length > 0
              ? [{ key: 'no-team', label: flow.noTeam, onSelect: () => actions.assignTeam(ids, null) }]
              : []),
          ]}
        />
        <Button
          label={areClosed(ids) ? flow.reopen : flow.close}
          size="small"
          onClick={() => actions.toggleClosed(ids)}
        />
        <Button label={flow.labels} size="small" data-opens="labels" onClick={() => actions.chooseLabels(ids)} />
        <Button label={flow.snooze} size="small" data-opens="snooze" onClick={() => actions.chooseSnooze(ids)} />
        <Menu
          label={flow.moreActions}
          button={<IconButton label={flow.moreActions} icon="more" />}
          items={[
            {
              key: 'mark',
              label: words.inbox.contact.mark(isUnread),
              onSelect: () => {
                void mark(ids, isUnread)
                clearSelection()
              },
            },
            ...(macros.length > 0 ? [{ kind: 'separator' as const, key: 'line' }] : []),
            ...macros.map((macro) => ({
              key: macro.id,
              label: macroTexts.command(macro.name),
              onSelect: () => {
                start(macro, ids)
                clearSelection()
              },
            })),
          ]}
        />
      </div>
    </div>
  )
}
