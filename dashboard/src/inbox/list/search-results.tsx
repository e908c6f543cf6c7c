/** Search results: conversations by contact name and number, and messages by text. */

import { Link, useSearch } from 'wouter'
import { type ItemOf, usePages } from '../../lib/api.ts'
import { nameOf } from '../../lib/people.ts'
import { formatBrief } from '../../lib/time.ts'
import { ChannelAvatar } from '../../ui/channel.tsx'
import { PagedList, QueryView } from '../../ui/page.tsx'
import { Time } from '../../ui/time.tsx'
import { words } from '../../words/words.ts'
import { hrefOf } from '../model/filters.ts'
import { useConversations } from '../model/live-pages.ts'
import { HighlightedText } from './highlighted-text.tsx'
import { Row } from './row.tsx'

const { search: labels } = words.inbox

export function SearchResults({ query, openId }: { query: string; openId: string }) {
  const search = useSearch()
  const hasQuery = query !== ''
  const contacts = useConversations({ search: query }, hasQuery)
  const messages = usePages(
    'GET /search',
    { query: { q: query, limit: 20 } },
    { enabled: hasQuery, keepPrevious: true },
  )
  return (
    <div className="inbox-scroll">
      <section aria-labelledby="inbox-people">
        <h2 className="inbox-group" id="inbox-people">
          {labels.contacts}
        </h2>
        <QueryView query={contacts} lines={3}>
          {() =>
            contacts.items.length === 0 ? (
              <p className="inbox-group-none">{labels.noContacts(query)}</p>
            ) : (
              <ul>
                {contacts.items.slice(0, 20).map((conversation) => (
                  <Row
                    key={conversation.id}
                    conversation={conversation}
                    href={hrefOf(search, conversation.id)}
                    showsWait={false}
                    isOpen={conversation.id === openId}
                  />
                ))}
              </ul>
            )
          }
        </QueryView>
      </section>
      <section aria-labelledby="inbox-messages">
        <h2 className="inbox-group" id="inbox-messages">
          {labels.messages}
        </h2>
        <PagedList pages={messages} empty={<p className="inbox-group-none">{labels.noMessages(query)}</p>}>
          {(items) => (
            <ul>
              {items.map((item) => (
                <MessageResult key={item.message.id} item={item} query={query} search={search} />
              ))}
            </ul>
          )}
        </PagedList>
      </section>
    </div>
  )
}

type MessageResultProps = { item: ItemOf<'GET /search'>; query: string; search: string }

function MessageResult({ item: { message, snippet, conversation }, query, search }: MessageResultProps) {
  const name = nameOf(conversation.contact)
  const isOpen = new URLSearchParams(search).get('message') === message.id
  return (
    <li className="inbox-item">
      <Link
        href={hrefOf(search, conversation.id, message.id)}
        className="inbox-row"
        data-row={message.id}
        aria-current={isOpen ? 'true' : undefined}
      >
        <ChannelAvatar name={name} channel={conversation.channel} />
        <span className="inbox-row-text">
          <span className="inbox-row-top">
            <span className="inbox-row-name cut">{name}</span>
            <Time at={message.created_at} format={formatBrief} />
          </span>
          <span className="clamp snippet">
            {message.direction === 'outbound' && <span className="soft">{words.inbox.list.you}</span>}
            <HighlightedText text={snippet} query={query} />
          </span>
        </span>
      </Link>
    </li>
  )
}
