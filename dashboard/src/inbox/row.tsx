/** A conversation in the list: contact, last message, unread count and assignee. Memoized, so only changed rows render. */
import { memo } from 'react'
import { Link } from 'wouter'
import { Avatar } from '../../../ui/avatar.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { memberName, nameOf } from '../lib/people.ts'
import { prefetchPages } from '../lib/prefetch.ts'
import { formatBrief, formatTime } from '../lib/time.ts'
import { ChannelAvatar } from '../ui/channel.tsx'
import { words } from '../words/words.ts'
import { activityOf, type Conversation, threadInput, typeLabelOf } from './data.ts'
import { RowPresence } from './presence.tsx'
import { RowNote } from './row-note.tsx'
import { StatusIcon } from './status-icon.tsx'

const { list } = words.inbox

export const Row = memo(function Row({
  conversation,
  href,
  isOpen,
}: {
  conversation: Conversation
  href: string
  isOpen: boolean
}) {
  const { id, channel, contact, status, unread_count: unread, assigned_agent: agent } = conversation
  const name = nameOf(contact)
  const at = activityOf(conversation)
  const prefetch = () => prefetchPages('GET /conversations/{id}/messages', threadInput(id))
  return (
    <li className="inbox-item">
      <Link
        href={href}
        className="inbox-row"
        data-row={id}
        data-unread={unread > 0 && !isOpen ? '' : undefined}
        aria-current={isOpen ? 'true' : undefined}
        onMouseEnter={prefetch}
        onFocus={prefetch}
      >
        <ChannelAvatar name={name} channel={channel} />
        <span className="inbox-row-text">
          <span className="inbox-row-top">
            <span className="inbox-row-name cut">{name}</span>
            {status !== 'open' && (
              <span className="inbox-status" data-status={status} title={words.statuses[status]}>
                <span className="offscreen">{words.statuses[status]}</span>
              </span>
            )}
            <time dateTime={at} title={formatTime(at)}>
              {formatBrief(at)}
            </time>
          </span>
          <span className="inbox-row-under">
            <RowNote conversationId={id} isOpen={isOpen}>
              <LastMessage conversation={conversation} />
            </RowNote>
            <RowPresence conversationId={id} />
            {unread > 0 && !isOpen && (
              <span className="inbox-unread">
                {list.atMost(unread)}
                <span className="offscreen"> {list.unread}</span>
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

function LastMessage({
  conversation: { last_message: last, last_message_text: text },
}: {
  conversation: Conversation
}) {
  const line = text || (last ? typeLabelOf(last) : list.noMessages)
  const isOutbound = last?.direction === 'outbound'
  return (
    <span className="inbox-row-message cut" data-failed={last?.status === 'failed' ? '' : undefined}>
      {isOutbound && <StatusIcon status={last.status} />}
      {!text && last && <Icon name={iconOf(last.content_type)} />}
      <bdi>{line}</bdi>
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
