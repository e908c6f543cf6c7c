/** An entry of the timeline in the thread: a note of a member, or a line about what happened to the conversation. */

import { memo } from 'react'
import { IconButton } from '../../../../ui/controls.tsx'
import { Icon, type IconName } from '../../../../ui/icon.tsx'
import { formatClock, formatTime } from '../../lib/time.ts'
import { ConfirmButton } from '../../ui/dialogs.tsx'
import { Time } from '../../ui/time.tsx'
import { words } from '../../words/words.ts'
import type { Entry } from '../model/data.ts'
import { splitAtMentions } from '../model/mention-query.ts'
import { isPending } from '../model/notes.ts'
import { RunLink } from './run-link.tsx'
import { Linked } from './text.tsx'

const { note: labels, activity, bot } = words.inbox

type Props = { entry: Entry; conversationId: string; memberId: string; isHighlighted: boolean }

export const TimelineEntry = memo(function TimelineEntry(props: Props) {
  return props.entry.kind === 'note' ? <Note {...props} /> : <ActivityLine {...props} />
})

function Note({ entry, conversationId, memberId, isHighlighted }: Props) {
  const { id, text, member, created_at: at, details } = entry
  const isOwn = member?.id === memberId
  const isByKey = details.by === 'api'
  const keyName = activity.api(details.key?.name ?? undefined)
  const isByBot = details.by === 'automation'
  const other = isByBot
    ? bot.automation(details.automation)
    : isByKey
      ? keyName
      : (member?.name ?? activity.formerMember)
  const author = isOwn ? words.inbox.message.you : other
  const names = details.mentions?.flatMap(({ name }) => name ?? []) ?? []
  const isForMe = details.mentions?.some((mention) => mention.id === memberId)
  return (
    <article
      className="inbox-note-entry"
      data-message={id}
      data-highlighted={isHighlighted ? '' : undefined}
      data-for-me={isForMe ? '' : undefined}
      data-pending={isPending(entry) ? '' : undefined}
      aria-label={labels.from(author, formatTime(at))}
    >
      <header>
        <Icon name="note" />
        <strong>
          <RunLink runId={details.run_id}>{author}</RunLink>
        </strong>
        <span className="inbox-note-private cut">{labels.private}</span>
        <Time at={at} format={formatClock} />
        {(isOwn || isByKey || isByBot) && !isPending(entry) && <DeleteNote id={id} conversationId={conversationId} />}
      </header>
      <p className="inbox-text" dir="auto">
        {splitAtMentions(text ?? '', names).map((part, index) =>
          part.isMention ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other identity.
            <mark key={index}>{part.text}</mark>
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: as above.
            <Linked key={index} text={part.text} />
          ),
        )}
      </p>
    </article>
  )
}

const DeleteNote = ({ id, conversationId }: { id: string; conversationId: string }) => (
  <ConfirmButton
    button={<IconButton label={labels.remove} icon="trash" />}
    title={labels.removeTitle}
    text={labels.removeText}
    action={labels.remove}
    danger
    call="DELETE /conversations/{id}/notes/{note_id}"
    input={{ params: { id: conversationId, note_id: id } }}
    stale={['GET /conversations/{id}/timeline']}
  />
)

const icons: Record<Exclude<Entry['kind'], 'note'>, IconName> = {
  status: 'check',
  assigned: 'person',
  labeled: 'tag',
  snoozed: 'clock',
  blocked: 'off',
  unblocked: 'check',
  rated: 'star',
}

function ActivityLine({ entry, memberId }: Props) {
  const { kind, created_at: at } = entry
  if (kind === 'note') return null
  return (
    <p className="line inbox-activity soft">
      <Icon name={icons[kind]} />
      <span>
        <RunLink runId={entry.details.run_id}>{describeActivity(entry, memberId)}</RunLink>
      </span>
      <Time at={at} format={formatClock} />
    </p>
  )
}

function describeActivity({ kind, member, details }: Entry, memberId: string): string {
  const { by, key, status, assignee, team, added = [], removed = [], until } = details
  const nameOf = (one: { id: string; name: string | null }) =>
    one.id === memberId ? activity.you : (one.name ?? activity.formerMember)
  const program = by === 'automation' ? bot.automation(details.automation) : activity.api(key?.name ?? undefined)
  const actor = member ? nameOf(member) : by === 'api' || by === 'automation' ? program : ''
  if (kind === 'status' && status) {
    if (by === 'customer') return activity.reopenedByCustomer
    if (by === 'timer') return activity.snoozeEnded
    return activity.statuses[status](actor)
  }
  if (kind === 'assigned') {
    if (details.policy) return describeAssignment(details, memberId)
    if (team !== undefined) return team ? activity.assignedTeam(actor, team.name) : activity.unassignedTeam(actor)
    if (!assignee) return activity.unassigned(actor)
    if (assignee.id === member?.id) return activity.assignedToSelf(actor, assignee.id === memberId)
    return activity.assigned(
      actor,
      assignee.id === memberId ? activity.youObject : (assignee.name ?? activity.formerMember),
    )
  }
  if (kind === 'rated') return activity.rated(details.rating ?? 0)
  if (kind === 'blocked' || kind === 'unblocked') return activity[kind](actor)
  if (kind === 'labeled') return activity.labeled(actor, added, removed)
  return until ? activity.snoozed(actor, formatTime(until)) : ''
}

/** What the policy of a team did, and why. */
function describeAssignment(
  { policy, assignee, from, open = 0, capacity = 0, minutes = 0 }: Entry['details'],
  memberId: string,
): string {
  const nameOf = (one: { id: string; name: string | null } | null | undefined) =>
    one?.id === memberId ? activity.youObject : (one?.name ?? activity.formerMember)
  if (policy === 'offline') return activity.returned(from?.name ?? activity.formerMember, minutes)
  return activity.assignedByPolicy(nameOf(assignee), policy ?? 'round_robin', open, capacity)
}
