/** The history of a contact on all channels, newest first: messages, broadcasts, notes, changes of conversations and of the contact. */
import { Link } from 'wouter'
import { Button } from '../../../ui/controls.tsx'
import { Icon, type IconName } from '../../../ui/icon.tsx'
import { type ItemOf, usePages } from '../lib/api.ts'
import { useSeesAll } from '../lib/session.tsx'
import { formatBrief } from '../lib/time.ts'
import { ChannelMark } from '../ui/channel.tsx'
import { QueryView } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { words } from '../words/words.ts'

const { history: texts } = words.contactPanel
const { kinds } = words.inbox.message

type Entry = ItemOf<'GET /contacts/{id}/history'>

export function History({ contactId }: { contactId: string }) {
  const seesAll = useSeesAll()
  const pages = usePages('GET /contacts/{id}/history', { params: { id: contactId } }, { live: true })
  return (
    <QueryView query={pages} lines={6}>
      {() =>
        pages.items.length === 0 ? (
          <p className="card-body soft">{seesAll ? texts.none : texts.noneVisible}</p>
        ) : (
          <>
            <ol className="contact-history lined">
              {pages.items.map((entry) => (
                <HistoryEntry key={entry.id} entry={entry} />
              ))}
            </ol>
            {pages.hasNextPage && (
              <div className="card-body">
                <Button
                  label={texts.more}
                  size="small"
                  busy={pages.isFetchingNextPage}
                  onClick={() => pages.fetchNextPage()}
                />
              </div>
            )}
          </>
        )
      }
    </QueryView>
  )
}

function HistoryEntry({ entry }: { entry: Entry }) {
  const { id, kind, channel, conversation_id: conversationId, broadcast, created_at: at } = entry
  // A change of the conversation has no place of its own in the thread.
  const message = kind === 'conversation' ? '' : `?message=${id}`
  const href = conversationId && `/inbox/${conversationId}${message}`
  const title = titleOf(entry)
  return (
    <li>
      <Icon name={iconOf(entry)} />
      <div className="grow">
        <p>
          {href ? <Link href={href}>{title}</Link> : <strong>{title}</strong>}
          {broadcast && (
            <>
              {' '}
              <Link href={`/broadcasts/${broadcast.id}`}>{broadcast.name ?? texts.broadcast}</Link>
            </>
          )}
        </p>
        {textOf(entry) && <p className="soft small clamp">{textOf(entry)}</p>}
      </div>
      {channel && <ChannelMark channel={channel} />}
      <Time at={at} format={formatBrief} />
    </li>
  )
}

function iconOf({ kind, direction, action }: Entry): IconName {
  if (kind === 'message') return direction === 'inbound' ? 'chat' : 'reply'
  if (kind === 'broadcast') return 'broadcasts'
  if (kind === 'note') return 'note'
  if (kind === 'change') return 'edit'
  return action === 'labeled'
    ? 'label'
    : action === 'assigned'
      ? 'person'
      : action === 'snoozed'
        ? 'clock'
        : action === 'rated'
          ? 'star'
          : 'check'
}

function titleOf({ kind, direction, member, action, details }: Entry): string {
  const name = member?.name ?? null
  if (kind === 'message') return direction === 'inbound' ? texts.received : texts.sent(name)
  if (kind === 'broadcast') return texts.broadcast
  if (kind === 'note') return texts.note(name)
  if (kind === 'change') return texts.changed(name, texts.changes[action ?? ''] ?? texts.otherChange)
  const { by, status, added, removed } = details
  const causes: Record<string, string> = {
    ...{ customer: texts.customer, timer: texts.timer, policy: texts.policy },
    automation: texts.automation(String(details.automation ?? '')),
  }
  const actor = causes[String(by)] ?? name ?? texts.api
  const listOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])
  switch (action) {
    case 'status':
      return texts.status(actor, status === 'open' || status === 'pending' ? status : 'closed')
    case 'labeled':
      return texts.labeled(actor, listOf(added), listOf(removed))
    case 'assigned':
      return texts.assigned(actor)
    case 'rated':
      return texts.rated(Number(details.rating))
    case 'blocked':
      return texts.blocked(actor)
    case 'unblocked':
      return texts.unblocked(actor)
    default:
      return texts.snoozed(actor)
  }
}

/** A message without text shows its type, and a change of the contact the names of the fields. */
function textOf({ kind, action, text, content_type: type }: Entry): string {
  if (action === 'contact.changed') {
    const fields = text?.split(', ') ?? []
    return fields.map((field) => texts.fields[field] ?? field).join(', ')
  }
  // The summary of a merge is an id.
  if (action === 'contact.merged') return ''
  return text ?? ((kind === 'message' || kind === 'broadcast') && type ? kinds[type] : '')
}
