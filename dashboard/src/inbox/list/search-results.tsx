/** Search results: conversations by contact name and number, and messages and notes by text. */

import type { ReactNode } from 'react'
import { Link, useSearch } from 'wouter'
import { Avatar, EmptyState } from '../../../../ui/display.tsx'
import { Icon } from '../../../../ui/icon.tsx'
import { type ItemOf, usePages } from '../../lib/api.ts'
import { listSharedChannels, useConnections } from '../../lib/connections.ts'
import { nameOf } from '../../lib/people.ts'
import { formatBrief } from '../../lib/time.ts'
import { ChannelAvatar } from '../../ui/channel.tsx'
import { PagedList, QueryView } from '../../ui/page.tsx'
import { Time } from '../../ui/time.tsx'
import { words } from '../../words/words.ts'
import { hrefOf } from '../model/filters.ts'
import { useConversations } from '../model/live-pages.ts'
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
  const notes = usePages(
    'GET /search/notes',
    { query: { q: query, limit: 20 } },
    { enabled: hasQuery, keepPrevious: true },
  )
  const sharedChannels = listSharedChannels(useConnections())
  if ([contacts, messages, notes].every(({ data, items }) => data && items.length === 0)) {
    return <EmptyState icon="search" title={labels.none} text={labels.noneText(query)} />
  }
  const isEmpty = ({ data, items }: { data?: unknown; items: readonly unknown[] }) =>
    data !== undefined && items.length === 0
  const sections = [
    {
      ...{ key: 'people', title: labels.contacts, isNone: isEmpty(contacts) },
      content: (
        <QueryView query={contacts} lines={3}>
          {() =>
            contacts.items.length === 0 ? (
              <NoneFound text={labels.noContacts(query)} />
            ) : (
              <ul>
                {contacts.items.slice(0, 20).map((conversation) => (
                  <Row
                    key={conversation.id}
                    conversation={conversation}
                    href={hrefOf(search, conversation.id)}
                    isOpen={conversation.id === openId}
                    namesConnection={sharedChannels.includes(conversation.channel)}
                  />
                ))}
              </ul>
            )
          }
        </QueryView>
      ),
    },
    {
      ...{ key: 'messages', title: labels.messages, isNone: isEmpty(messages) },
      content: (
        <PagedList pages={messages} empty={<NoneFound text={labels.noMessages(query)} />}>
          {(items) => (
            <ul>
              {items.map((item) => (
                <MessageResult key={item.message.id} item={item} query={query} search={search} />
              ))}
            </ul>
          )}
        </PagedList>
      ),
    },
    {
      ...{ key: 'notes', title: labels.notes, isNone: isEmpty(notes) },
      content: (
        <PagedList pages={notes} empty={<NoneFound text={labels.noNotes(query)} />}>
          {(items) => (
            <ul>
              {items.map((note) => (
                <NoteResult key={note.id} note={note} query={query} search={search} />
              ))}
            </ul>
          )}
        </PagedList>
      ),
    },
  ]
  return (
    <div className="inbox-scroll">
      {sections
        .toSorted((one, other) => Number(one.isNone) - Number(other.isNone))
        .map(({ key, title, content }) => (
          <section key={key} aria-labelledby={`inbox-${key}`}>
            <h2 className="inbox-group soft" id={`inbox-${key}`}>
              {title}
            </h2>
            {content}
          </section>
        ))}
    </div>
  )
}

const NoneFound = ({ text }: { text: string }) => <p className="inbox-group-none soft">{text}</p>

type NoteResultProps = { note: ItemOf<'GET /search/notes'>; query: string; search: string }

/** A note in a thread opens there, a note about the contact on the contact's page. */
function NoteResult({
  note: { id, snippet, author, contact, conversation, created_at },
  query,
  search,
}: NoteResultProps) {
  const name = nameOf(contact)
  const isOpen = new URLSearchParams(search).get('message') === id
  return (
    <li className="inbox-item">
      <Link
        href={conversation ? hrefOf(search, conversation.id, id) : `/contacts/${contact.id}`}
        className="line inbox-row"
        data-row={id}
        aria-current={isOpen ? 'true' : undefined}
      >
        {conversation ? <ChannelAvatar name={name} channel={conversation.channel} /> : <Avatar name={name} />}
        <span className="column inbox-row-text">
          <span className="inbox-row-top">
            <span className="inbox-row-name cut">{name}</span>
            <Time at={created_at} format={formatBrief} />
          </span>
          <span className="clamp snippet">
            <Icon name="note" />
            <span className="offscreen">{conversation ? labels.notes : labels.aboutContact}</span>
            <span className="soft"> {labels.noteBy(author.name)}</span>
            <HighlightedText text={snippet} query={query} />
          </span>
        </span>
      </Link>
    </li>
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
        className="line inbox-row"
        data-row={message.id}
        aria-current={isOpen ? 'true' : undefined}
      >
        <ChannelAvatar name={name} channel={conversation.channel} />
        <span className="column inbox-row-text">
          <span className="inbox-row-top">
            <span className="inbox-row-name cut">{name}</span>
            <Time at={message.created_at} format={formatBrief} />
          </span>
          <span className="clamp snippet">
            {message.direction === 'outbound' && <span className="soft">{labels.sent}</span>}
            <HighlightedText text={snippet} query={query} />
          </span>
        </span>
      </Link>
    </li>
  )
}

const wordPattern = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu
/** Scripts without spaces between words: a term can match anywhere. */
const unspacedScript = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

const fold = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

/** Text with the search terms highlighted, ignoring case and accents. */
function HighlightedText({ text, query }: { text: string; query: string }) {
  const terms = (query.match(wordPattern) ?? []).map(fold)
  const parts: ReactNode[] = []
  let end = 0
  for (const { 0: word, index } of text.matchAll(wordPattern)) {
    const match = matchOf(fold(word), terms, word)
    if (!match) continue
    const before = text.slice(end, index + match.from)
    parts.push(parts.length > 0 ? before : endOf(before), <mark key={index}>{word.slice(match.from, match.to)}</mark>)
    end = index + match.to
  }
  return (
    <>
      {parts}
      {text.slice(end)}
    </>
  )
}

/** The characters before the first match that leave it in the two lines of a result. */
const maxBefore = 32

function endOf(text: string): string {
  if (text.length <= maxBefore) return text
  const end = text.slice(-maxBefore)
  return `…${end.slice(end.indexOf(' ') + 1)}`
}

function matchOf(folded: string, terms: readonly string[], word: string): { from: number; to: number } | undefined {
  if (terms.some((term) => folded.startsWith(term))) return { from: 0, to: word.length }
  if (!unspacedScript.test(word)) return undefined
  const term = terms.find((one) => folded.includes(one))
  if (!term) return undefined
  const from = folded.indexOf(term)
  return { from, to: from + term.length }
}
