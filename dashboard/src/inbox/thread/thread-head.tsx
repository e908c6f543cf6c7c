/** The header of a conversation: contact, labels, and one line of actions: assign, snooze, close, status, labels, contact panel. */

import { Button, IconButton } from '../../../../ui/controls.tsx'
import { Avatar } from '../../../../ui/display.tsx'
import { Icon } from '../../../../ui/icon.tsx'
import { Menu } from '../../../../ui/menu.tsx'
import { useCall } from '../../lib/api.ts'
import { useConnectionNames } from '../../lib/connections.ts'
import { isAutomated } from '../../lib/conversation-lists.ts'
import { handleOf, memberName, nameOf } from '../../lib/people.ts'
import { useSession } from '../../lib/session.tsx'
import { formatTime } from '../../lib/time.ts'
import { ChannelAvatar } from '../../ui/channel.tsx'
import { LabelChip } from '../../ui/label.tsx'
import { WriteAccess } from '../../ui/page.tsx'
import { words } from '../../words/words.ts'
import { useActions } from '../actions/actions.ts'
import type { Agent, Team } from '../model/changes.ts'
import type { Conversation } from '../model/data.ts'
import { DueClock } from '../model/due-clock.tsx'
import { useModeration } from '../model/moderation.ts'
import { ThreadPresence } from '../model/presence.tsx'
import type { ContactPanelState } from '../model/use-side-panel.ts'
import { QueuePosition } from './queue-position.tsx'

const { thread, flow, contact: text } = words.inbox

type Props = { conversation: Conversation; onBack: () => void; contactPanel: ContactPanelState }

export function ThreadHead({ conversation, onBack, contactPanel }: Props) {
  const { id, contact, channel, status, snoozed_until: snoozedUntil, blocked_at: blockedAt, labels } = conversation
  const connectionName = useConnectionNames()(conversation)
  // Without a name, the heading is the handle.
  const handle = contact.name && handleOf(contact)
  const actions = useActions(id)
  const { mark } = useModeration()
  const isShown = contactPanel.isDocked || contactPanel.isDrawerOpen
  const automated = isAutomated(conversation)
  const statusText = automated ? words.automatedStatus : snoozedUntil ? flow.snoozedStatus : words.statuses[status]
  const isClosed = status === 'closed'
  const isRead = conversation.unread_count === 0
  return (
    <header className="line inbox-thread-head">
      <span className="inbox-back">
        <IconButton size="medium" label={thread.back} icon="back" onClick={onBack} />
      </span>
      <ChannelAvatar name={nameOf(contact)} channel={channel} />
      <div className="inbox-thread-contact grow">
        <div className="line inbox-thread-name">
          <h2 className="cut">{nameOf(contact)}</h2>
          {conversation.due_at && <DueClock at={conversation.due_at} kind={conversation.due_kind} />}
          <QueuePosition conversation={conversation} />
        </div>
        <div className="line inbox-thread-about">
          {/* The customer first: the end is cut. The reply area has the connection, too. */}
          <p className={handle ? 'cut inbox-thread-handle' : 'cut'}>
            {[blockedAt && text.isBlocked, handle, contact.company, words.channels[channel], connectionName]
              .filter(Boolean)
              .join(' · ')}
          </p>
          {labels.length > 0 && (
            <ul className="inbox-labels" aria-label={flow.labels}>
              {labels.map(({ id: labelId, name, color }) => (
                <li key={labelId}>
                  <LabelChip name={name} color={color} />
                </li>
              ))}
            </ul>
          )}
        </div>
      </div>
      <ThreadPresence conversationId={conversation.id} />
      <div className="line inbox-thread-actions">
        <WriteAccess>
          <AssigneeMenu
            agent={conversation.assigned_agent}
            team={conversation.assigned_team}
            onAssign={(agent) => actions.assign([id], agent)}
            onAssignTeam={(team) => actions.assignTeam([id], team)}
          />
          <Button
            label={<span className="inbox-action-text">{snoozedUntil ? flow.snoozedStatus : flow.snooze}</span>}
            size="small"
            icon="clock"
            title={snoozedUntil ? flow.snoozedUntil(formatTime(snoozedUntil)) : flow.snooze}
            aria-pressed={snoozedUntil !== null}
            data-opens="snooze"
            onClick={() => actions.chooseSnooze([id])}
          />
          <Button
            label={<span className="inbox-action-text">{isClosed ? flow.reopen : flow.close}</span>}
            size="small"
            icon={isClosed ? 'refresh' : 'check'}
            title={isClosed ? flow.reopen : flow.close}
            onClick={() => actions.toggleClosed([id])}
          />
          <Menu
            label={thread.setStatus}
            button={
              <button
                type="button"
                className="inbox-choice small"
                title={automated ? words.automatedHint : thread.status(statusText)}
                aria-label={thread.status(statusText)}
              >
                <span className="inbox-status" data-status={automated ? 'automated' : status} />
                <span className="inbox-choice-text">{statusText}</span>
                <Icon name="chevron" />
              </button>
            }
            items={[
              ...(['open', 'pending', 'closed'] as const).map((each) => ({
                key: each,
                label: (
                  <>
                    <span className="inbox-status" data-status={each} />
                    {words.statuses[each]}
                  </>
                ),
                checked: each === status && !automated,
                onSelect: () => actions.setStatus([id], each),
              })),
              { kind: 'separator', key: 'line' },
              { key: 'labels', label: flow.chooseLabels, onSelect: () => actions.chooseLabels([id]) },
              { key: 'unread', label: text.mark(isRead), onSelect: () => void mark([id], isRead) },
            ]}
          />
          <IconButton
            size="medium"
            label={flow.labels}
            icon="label"
            data-opens="labels"
            onClick={() => actions.chooseLabels([id])}
          />
        </WriteAccess>
        <IconButton
          size="medium"
          label={isShown ? thread.hideContact : thread.showContact}
          icon="person"
          aria-pressed={isShown}
          onClick={contactPanel.toggle}
        />
      </div>
    </header>
  )
}

type AssigneeProps = {
  agent: Agent | null
  team: Team | null
  onAssign: (agent: Agent | null) => void
  onAssignTeam: (team: Team | null) => void
}

/** The member and the team of the conversation. */
function AssigneeMenu({ agent, team, onAssign, onAssignTeam }: AssigneeProps) {
  const teams = useCall('GET /teams', {}).data ?? []
  const { member } = useSession()
  const members = useCall('GET /members', {}).data ?? []
  const others = members.filter(({ id, state, role }) => state === 'active' && role !== 'viewer' && id !== member.id)
  const name = agent ? memberName(agent) : (team?.name ?? flow.assign)
  const assignee = agent ? thread.assignee(name) : thread.noAssignee
  const title = team ? `${assignee} · ${words.inbox.list.ofTeam(team.name)}` : assignee
  return (
    <Menu
      label={thread.assign}
      button={
        <button type="button" className="inbox-choice inbox-assignee small" title={title} aria-label={title}>
          {team && <span className="inbox-label-dot" style={{ background: team.color }} />}
          {agent ? <Avatar name={name} size="small" /> : <Icon name={team ? 'teams' : 'person'} />}
          <span className="inbox-action-text cut">{name}</span>
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
        ...(teams.length > 0 ? [{ kind: 'separator' as const, key: 'teams' }] : []),
        ...teams.map((one) => ({
          key: one.id,
          label: (
            <>
              <span className="inbox-label-dot" style={{ background: one.color }} />
              {words.inbox.list.ofTeam(one.name)}
            </>
          ),
          checked: team?.id === one.id,
          onSelect: () => onAssignTeam(one),
        })),
        ...(teams.length > 0
          ? [{ key: 'no-team', label: flow.noTeam, checked: team === null, onSelect: () => onAssignTeam(null) }]
          : []),
      ]}
    />
  )
}
