/** The actions of the inbox for the command palette: of the open conversation, and of the list. */
import { useCall } from '../lib/api.ts'
import { type Command, useCommands } from '../lib/palette.ts'
import { memberName } from '../lib/people.ts'
import { useCanWrite, useSession } from '../lib/session.tsx'
import { words } from '../words/words.ts'
import type { InboxActions } from './actions/actions.ts'
import { openDialog } from './actions/dialogs.tsx'
import { findConversation } from './model/conversations.ts'

const { commands: texts } = words.inbox

export function useInboxCommands(openId: string, actions: InboxActions): void {
  const { member } = useSession()
  const canWrite = useCanWrite()
  const members = useCall('GET /members', {}, { enabled: canWrite && openId !== '' }).data ?? []
  const ids = [openId]
  const isClosed = findConversation(openId)?.status === 'closed'
  const ofConversation: Command[] = [
    {
      id: 'close',
      label: isClosed ? texts.reopen : texts.close,
      icon: isClosed ? 'refresh' : 'check',
      keys: ['e'],
      run: () => actions.toggleClosed(ids),
    },
    { id: 'snooze', label: texts.snooze, icon: 'clock', keys: ['s'], run: () => actions.chooseSnooze(ids) },
    { id: 'label', label: texts.label, icon: 'tag', keys: ['l'], run: () => actions.chooseLabels(ids) },
    { id: 'assign-me', label: texts.assignMe, icon: 'person', keys: ['a'], run: () => actions.assign(ids, member) },
    { id: 'unassign', label: texts.unassign, icon: 'person', run: () => actions.assign(ids, null) },
    ...members
      .filter(({ id, state, role }) => state === 'active' && role !== 'viewer' && id !== member.id)
      .map((agent) => ({
        id: `assign-${agent.id}`,
        label: texts.assign(memberName(agent)),
        icon: 'person' as const,
        run: () => actions.assign(ids, agent),
      })),
  ]
  const ofList: Command[] = [
    { id: 'unread', label: texts.nextUnread, icon: 'inbox', keys: ['o'], run: () => void actions.openUnread() },
    { id: 'waiting', label: texts.nextWaiting, icon: 'clock', keys: ['w'], run: () => void actions.openWaiting() },
    { id: 'filters', label: texts.filters, icon: 'filter', keys: ['f'], run: () => openDialog({ kind: 'filters' }) },
    { id: 'views', label: texts.views, icon: 'inbox', keys: ['v'], run: () => openDialog({ kind: 'views' }) },
  ]
  useCommands('inbox', [...(openId && canWrite ? ofConversation : []), ...ofList])
}
