/** The member's mentions, newest first, in place of the conversation list. A mention opens its conversation at the note. */

import { Link, useSearch } from 'wouter'
import { EmptyState } from '../../../../ui/display.tsx'
import { type ItemOf, usePages } from '../../lib/api.ts'
import { nameOf } from '../../lib/people.ts'
import { formatBrief } from '../../lib/time.ts'
import { ChannelAvatar } from '../../ui/channel.tsx'
import { PagedList } from '../../ui/page.tsx'
import { Time } from '../../ui/time.tsx'
import { words } from '../../words/words.ts'
import { hrefOf } from '../model/filters.ts'

const { mentions: labels } = words.inbox

export default function Mentions({ openId }: { openId: string }) {
  const search = useSearch()
  const pages = usePages('GET /mentions', {}, { live: 'member' })
  return (
    <div className="inbox-scroll">
      <PagedList
        pages={pages}
        lines={12}
        empty={<EmptyState icon="mention" title={labels.none} text={labels.noneText} />}
      >
        {(mentions) => (
          <ul aria-label={labels.label}>
            {mentions.map((mention) => (
              <MentionRow
                key={mention.id}
                mention={mention}
                href={hrefOf(search, mention.conversation_id, mention.id)}
                isOpen={mention.conversation_id === openId}
              />
            ))}
          </ul>
        )}
      </PagedList>
    </div>
  )
}

type RowProps = { mention: ItemOf<'GET /mentions'>; href: string; isOpen: boolean }

function MentionRow({ mention, href, isOpen }: RowProps) {
  const { conversation_id: id, contact, channel, author, text, read_at: readAt, created_at: at } = mention
  const isUnread = readAt === null
  const authorName = author.name ?? words.inbox.activity.formerMember
  return (
    <li className="inbox-item">
      <Link
        href={href}
        className="line inbox-row"
        data-row={id}
        data-unread={isUnread ? '' : undefined}
        aria-current={isOpen ? 'true' : undefined}
      >
        <ChannelAvatar name={nameOf(contact)} channel={channel} />
        <span className="column inbox-row-text">
          <span className="inbox-row-top">
            <span className="inbox-row-name cut">{nameOf(contact)}</span>
            <Time at={at} format={formatBrief} />
          </span>
          <span className="inbox-row-under">
            <span className="inbox-row-message cut">{labels.line(authorName, text)}</span>
            {isUnread && (
              <span className="inbox-mention-unread">
                <span className="offscreen">{words.inbox.list.unread}</span>
              </span>
            )}
          </span>
        </span>
      </Link>
    </li>
  )
}
