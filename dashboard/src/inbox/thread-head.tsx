/** The header of a conversation: contact, assignee, status and the contact panel button. */
import { Avatar } from '../../../ui/avatar.tsx'
import { IconButton } from '../../../ui/button.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { useToast } from '../../../ui/toast.tsx'
import { useCall, useChange } from '../lib/api.ts'
import { handleOf, memberName, nameOf } from '../lib/people.ts'
import { useCanWrite, useSession } from '../lib/session.tsx'
import { useShortcuts } from '../lib/shortcuts.ts'
import { ChannelAvatar } from '../ui/channel.tsx'
import { WriteAccess } from '../ui/write-access.tsx'
import { words } from '../words/words.ts'
import { type Conversation, patchConversation, reloadConversation } from './data.ts'
import { ThreadPresence } from './presence.tsx'
import type { ContactPanelState } from './use-contact-panel.ts'

const { thread } = words.inbox

type Props = { conversation: Conversation; onBack: () => void; contactPanel: ContactPanelState }

export function ThreadHead({ conversation, onBack, contactPanel }: Props) {
  const { contact, channel, status } = conversation
  const { setStatus, assign } = useActions(conversation)
  const { member } = useSession()
  const isShown = contactPanel.isDocked || contactPanel.isDrawerOpen
  const canWrite = useCanWrite()
  useShortcuts({
    ...(canWrite && {
      e: () => setStatus(status === 'closed' ? 'open' : 'closed'),
      a: () => assign({ id: member.id, name: member.name, email: member.email }),
    }),
  })
  return (
    <header className="inbox-thread-head">
      <span className="inbox-back">
        <IconButton label={thread.back} icon="back" onClick={onBack} />
      </span>
      <ChannelAvatar name={nameOf(contact)} channel={channel} />
      <div className="inbox-thread-contact">
        <h2 className="cut">{nameOf(contact)}</h2>
        <p className="cut">
          {[words.channels[channel], contact.name ? handleOf(contact) : null, contact.company]
            .filter(Boolean)
            .join(' · ')}
        </p>
      </div>
      <ThreadPresence conversationId={conversation.id} />
      <div className="inbox-thread-actions">
        <WriteAccess>
          <AssigneeMenu conversation={conversation} onAssign={assign} />
          <Menu
            label={thread.setStatus}
            button={
              <button
                type="button"
                className="inbox-choice"
                title={thread.status(words.statuses[status])}
                aria-label={thread.status(words.statuses[status])}
              >
                <span className="inbox-status" data-status={status} />
                <span className="inbox-choice-text">{words.statuses[status]}</span>
                <Icon name="chevron" />
              </button>
            }
            items={(['open', 'pending', 'closed'] as const).map((each) => ({
              key: each,
              label: (
                <>
                  <span className="inbox-status" data-status={each} />
                  {words.statuses[each]}
                </>
              ),
              checked: each === status,
              onSelect: () => setStatus(each),
            }))}
          />
        </WriteAccess>
        <IconButton
          label={isShown ? thread.hideContact : thread.showContact}
          icon="person"
          aria-pressed={isShown}
          onClick={contactPanel.toggle}
        />
      </div>
    </header>
  )
}

type Agent = NonNullable<Conversation['assigned_agent']>

function AssigneeMenu({
  conversation: { assigned_agent: agent },
  onAssign,
}: {
  conversation: Conversation
  onAssign: (agent: Agent | null) => void
}) {
  const { member } = useSession()
  const members = useCall('GET /members', {}).data ?? []
  const others = members.filter(({ id, state, role }) => state === 'active' && role !== 'viewer' && id !== member.id)
  const name = agent ? memberName(agent) : thread.unassigned
  return (
    <Menu
      label={thread.assign}
      button={
        <button
          type="button"
          className="inbox-choice inbox-choice-who"
          title={thread.assignee(name)}
          aria-label={thread.assignee(name)}
        >
          {agent ? <Avatar name={name} size="small" /> : <Icon name="person" />}
          <span className="inbox-choice-text cut">{name}</span>
          <Icon name="chevron" />
        </button>
      }
      items={[
        {
          key: member.id,
          label: thread.me(memberName(member)),
          checked: agent?.id === member.id,
          onSelect: () => onAssign(member),
        },
        { key: 'unassigned', label: thread.unassigned, checked: agent === null, onSelect: () => onAssign(null) },
        ...(others.length > 0 ? [{ kind: 'separator' as const, key: 'line' }] : []),
        ...others.map((other) => ({
          key: other.id,
          label: memberName(other),
          checked: agent?.id === other.id,
          onSelect: () => onAssign(other),
        })),
      ]}
    />
  )
}

/** A change shows at once. If the service refuses it, the page shows the old state and the reason. */
function useActions({ id, status, assigned_agent, assigned_agent_id }: Conversation) {
  const toast = useToast()
  const { member } = useSession()
  const before = { status, assigned_agent, assigned_agent_id }
  const change = useChange('PATCH /conversations/{id}', {
    onDone: (done) => {
      patchConversation(id, done)
      void reloadConversation(id)
    },
    onFailed: (error) => {
      patchConversation(id, before)
      toast.error(error)
    },
  })
  const changeStatus = (next: Conversation['status']) => {
    patchConversation(id, { status: next })
    change.mutate({ params: { id }, body: { status: next } })
  }
  const changeAgent = (agent: Agent | null) => {
    patchConversation(id, { assigned_agent: agent, assigned_agent_id: agent?.id ?? null })
    change.mutate({ params: { id }, body: { assigned_agent_id: agent?.id ?? null } })
  }
  const setStatus = (next: Conversation['status']) => {
    if (next === status) return
    changeStatus(next)
    toast.success(thread.statusChanged[next], () => changeStatus(before.status))
  }
  const assign = (to: Agent | null) => {
    if ((to?.id ?? null) === assigned_agent_id) return
    changeAgent(to && { id: to.id, name: to.name, email: to.email })
    const text =
      to === null
        ? thread.unassignedDone
        : to.id === member.id
          ? thread.assignedToMe
          : thread.assignedTo(memberName(to))
    toast.success(text, () => changeAgent(before.assigned_agent))
  }
  return { setStatus, assign }
}
