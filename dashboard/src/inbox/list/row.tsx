/** A conversation in the list: contact, last message, unread count and assignee. Memoized, so only changed rows render. */
import { type MouseEvent, memo, type ReactNode } from 'react'
import { Link } from 'wouter'
import { Avatar } from '../../../../ui/display.tsx'
import { Icon } from '../../../../ui/icon.tsx'
import { isAutomated } from '../../lib/conversation-lists.ts'
import { useMinute, useNow } from '../../lib/hooks.ts'
import { useLiveState } from '../../lib/live.tsx'
import { memberName, nameOf } from '../../lib/people.ts'
import { useCanWrite, useSession } from '../../lib/session.tsx'
import { formatBrief, formatTime, formatWait } from '../../lib/time.ts'
import type { Uploaded } from '../../lib/upload.ts'
import { ChannelAvatar } from '../../ui/channel.tsx'
import { LabelChip } from '../../ui/label.tsx'
import { Time } from '../../ui/time.tsx'
import { words } from '../../words/words.ts'
import { type Conversation, type Message, prefetchThread, sortedAt, typeLabelOf } from '../model/data.ts'
import { DueClock } from '../model/due-clock.tsx'
import type { Filters } from '../model/filters.ts'
import { isWaiting } from '../model/outbox.ts'
import { RowPresence } from '../model/presence.tsx'
import { readDraftFiles, useDraftText, useLateFiles } from '../model/reply-drafts.ts'
import { selectUpTo, toggleSelected, useIsSelected } from '../model/selection.ts'
import { useUnsent } from '../model/unconfirmed.ts'
import { StatusIcon } from '../thread/status-icon.tsx'
import { HasFormatting, Preview } from '../thread/text.tsx'

const { list, flow } = words.inbox

type Props = {
  conversation: Conversation
  href: string
  isOpen: boolean
  /** The workspace has several connections of the channel. */
  namesConnection: boolean
  /** The order of the list: the row shows the time by which it is sorted. Undefined: a search result, which cannot be selected. */
  sort?: Filters['sort']
}

export const Row = memo(function Row({ conversation, href, isOpen, namesConnection, sort }: Props) {
  const { id, channel, contact, status, unread_count: unread, assigned_agent: agent, snoozed_until } = conversation
  const team = conversation.assigned_team
  // Who is with the bot does not wait for a member.
  const waitingSince = conversation.handled_by === 'bot' ? null : conversation.waiting_since
  const name = nameOf(contact)
  const isSelected = useIsSelected(id)
  const canSelect = useCanWrite() && sort !== undefined
  const statusText = snoozed_until ? flow.snoozedUntil(formatTime(snoozed_until)) : words.statuses[status]
  const select = (event: MouseEvent) => {
    if (!event.shiftKey || !canSelect) return
    event.preventDefault()
    selectUpTo(id)
  }
  const prefetch = () => prefetchThread(id)
  return (
    <li className="inbox-item" data-selected={isSelected ? '' : undefined}>
      {canSelect && (
        <input
          type="checkbox"
          className="inbox-select"
          aria-label={flow.select(name)}
          checked={isSelected}
          onChange={(event) =>
            event.nativeEvent instanceof PointerEvent && event.nativeEvent.shiftKey
              ? selectUpTo(id)
              : toggleSelected(id)
          }
        />
      )}
      <Link
        href={href}
        className="line inbox-row"
        data-row={id}
        data-unread={unread > 0 && !isOpen ? '' : undefined}
        aria-current={isOpen ? 'true' : undefined}
        onMouseEnter={prefetch}
        onFocus={prefetch}
        onClick={select}
      >
        <ChannelAvatar name={name} channel={channel} />
        <span className="column inbox-row-text">
          <span className="inbox-row-top">
            <span className="inbox-row-name cut">{name}</span>
            {namesConnection && conversation.connection && (
              <span className="inbox-row-connection cut soft" title={list.onConnection(conversation.connection.name)}>
                <span className="offscreen">{list.connection} </span>
                {conversation.connection.name}
              </span>
            )}
            {isAutomated(conversation) ? (
              <small className="soft" title={words.automatedHint}>
                {words.automatedStatus}
              </small>
            ) : (
              status !== 'open' && (
                <span className="inbox-status" data-status={status} title={statusText}>
                  <span className="offscreen">{statusText}</span>
                </span>
              )
            )}
            {conversation.due_at ? (
              <DueClock at={conversation.due_at} kind={conversation.due_kind} isShort />
            ) : (
              status !== 'closed' && waitingSince && <Wait since={waitingSince} />
            )}
            <Time at={sortedAt(conversation, sort)} format={formatBrief} />
          </span>
          <span className="inbox-row-under">
            <RowNote conversationId={id} isOpen={isOpen}>
              <LastMessage conversation={conversation} />
            </RowNote>
            <RowLabels labels={conversation.labels} />
            <RowPresence conversationId={id} />
            {unread > 0 && !isOpen && (
              <span className="inbox-unread">
                {list.atMost(unread)}
                <span className="offscreen"> {list.unread}</span>
              </span>
            )}
            {team && (
              <span className="inbox-label-dot" style={{ background: team.color }} title={list.ofTeam(team.name)}>
                <span className="offscreen">{list.ofTeam(team.name)}</span>
              </span>
            )}
            {agent && (
              <span className="inbox-agent" title={list.assignedTo(memberName(agent))}>
                <Avatar name={memberName(agent)} size="small" />
                <span className="offscreen">{list.assignedTo(memberName(agent))}</span>
              </span>
            )}
          </span>
        </span>
      </Link>
    </li>
  )
})

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** How long the customer has waited for a reply: amber from an hour, red from a day. */
function Wait({ since }: { since: string }) {
  const ms = useMinute() * 60_000 - Date.parse(since)
  return (
    <span
      title={flow.waitingSince(formatTime(since))}
      className="inbox-wait"
      data-tone={ms >= dayMs ? 'red' : ms >= hourMs ? 'amber' : undefined}
    >
      <span>{flow.waiting} </span>
      <span>{formatWait(ms)}</span>
    </span>
  )
}

/** The name of the first label and the number of the others. Screen readers and the tooltip have all names. */
function RowLabels({ labels }: Pick<Conversation, 'labels'>) {
  const [first, ...others] = labels
  const names = flow.labeledWith(labels.map(({ name }) => name).join(', '))
  if (!first) return null
  return (
    <span className="inbox-row-labels soft" title={names}>
      <span className="inbox-row-label" aria-hidden="true">
        <LabelChip name={first.name} color={first.color} />
      </span>
      {others.length > 0 && <small aria-hidden="true">{list.more(others.length)}</small>}
      <span className="offscreen">{names}</span>
    </span>
  )
}

const minuteMs = 60_000

/**
 * The last message and who or what sent it, unless the customer did. While the customer waits, it is not an automated one. It may have been
 * refused. One that did not move the row has its own time: the time of the row is earlier.
 */
function LastMessage({ conversation }: { conversation: Conversation }) {
  const { channel, last_message: last } = conversation
  const at = last?.created_at
  const ownAt = at && Date.parse(at) - Date.parse(sortedAt(conversation)) > minuteMs ? at : null
  const text = last?.content_text?.slice(0, maxPreview)
  const isReaction = last?.content_type === 'reaction' && text
  const line = isReaction ? words.inbox.message.reacted(text) : text || (last ? typeLabelOf(last) : list.noMessages)
  const isOutbound = last?.direction === 'outbound'
  return (
    <span className="inbox-row-message cut" data-failed={last?.status === 'failed' ? '' : undefined}>
      {isOutbound && <StatusIcon status={last.status} />}
      {last?.sender && <Sender sender={last.sender} />}
      {(last?.automated_by || ownAt) && (
        <span className="inbox-row-you" title={ownAt ? formatTime(ownAt) : undefined}>
          {list.prefix(last?.automated_by && list.automated[last.automated_by], ownAt && formatBrief(ownAt))}
        </span>
      )}
      {!text && last && <Icon name={iconOf(last.content_type)} />}
      <bdi>
        <HasFormatting value={channel !== 'social'}>
          <Preview text={line} />
        </HasFormatting>
      </bdi>
    </span>
  )
}

const maxPreview = 200

/** "You:" before an own reply, the face of another member before theirs. */
function Sender({ sender: { id, name } }: { sender: { id: string; name: string } }) {
  const isMe = useSession().member.id === id
  if (isMe) return <span className="inbox-row-you">{list.you}</span>
  return (
    <span className="inbox-row-face" title={name}>
      <Avatar name={name} size="small" />
      <span className="offscreen">{list.from(name)}</span>
    </span>
  )
}

function iconOf(type: NonNullable<Conversation['last_message']>['content_type']) {
  const icons = {
    image: 'image',
    video: 'video',
    audio: 'audio',
    document: 'document',
    location: 'location',
    contacts: 'person',
    template: 'templates',
    sticker: 'smile',
    reaction: 'smile',
  } as const
  return type in icons ? icons[type as keyof typeof icons] : 'chat'
}

type RowNoteProps = {
  conversationId: string
  /** The draft of the open conversation is in the reply box. */
  isOpen: boolean
  /** The last message. */
  children: ReactNode
}

const nameOfFile = ({ filename, type }: Uploaded): string => filename ?? words.inbox.message.kinds[type]

function UnsentMark({ message }: { message: Message }) {
  const isLive = useLiveState() === 'live'
  const waits = isWaiting(message, isLive, useNow(60_000))
  return (
    <span className="inbox-row-note" data-tone={waits ? 'amber' : 'red'}>
      {waits ? list.sentLater : list.notSent}
    </span>
  )
}

/** What a row shows instead of its last message: a message that was not sent, or the member's draft. */
function RowNote({ conversationId, isOpen, children }: RowNoteProps) {
  const unsent = useUnsent(conversationId)
  const text = useDraftText(conversationId).trim()
  // A draft may have only files. They change while the conversation is open, and when an upload ends later.
  useLateFiles()
  const draft = isOpen ? '' : text || readDraftFiles(conversationId).map(nameOfFile).join(', ')
  const shown = unsent ? unsent.content_text || words.inbox.message.kinds[unsent.content_type] : draft
  if (!shown) return children
  return (
    <>
      {unsent ? (
        <UnsentMark message={unsent} />
      ) : (
        <span className="inbox-row-note" data-tone="amber">
          {list.draft}
        </span>
      )}
      <span className="inbox-row-message cut">
        <bdi>{shown.slice(0, maxPreview)}</bdi>
      </span>
    </>
  )
}
