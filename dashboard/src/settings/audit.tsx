/** The audit log: actions of members in the dashboard, newest first. Calls with an API key are not recorded. */
import { Avatar } from '../../../ui/avatar.tsx'
import { Card } from '../../../ui/card.tsx'
import { EmptyState, Skeleton } from '../../../ui/state.tsx'
import { type ItemOf, usePages } from '../lib/api.ts'
import { formatTime } from '../lib/time.ts'
import { LoadMore } from '../ui/load-more.tsx'
import { ErrorState, Page } from '../ui/page.tsx'
import { words } from '../words/words.ts'

const { audit: text } = words.settings

/** The summary of a channel action is the channel's identifier; this maps it to the display name. */
const channels: Record<string, string> = words.channels

type Entry = ItemOf<'GET /audit'>

export function AuditLog() {
  const pages = usePages('GET /audit', {}, { live: true })
  return (
    <Page title={text.title} lead={text.lead}>
      <Card flush>
        {pages.error && !pages.data ? (
          <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />
        ) : !pages.data ? (
          <Skeleton />
        ) : pages.items.length === 0 ? (
          <EmptyState icon="shield" title={text.empty}>
            {text.emptyText}
          </EmptyState>
        ) : (
          <>
            <table className="table">
              <thead>
                <tr>
                  <th>{text.member}</th>
                  <th>{text.action}</th>
                  <th>{text.subject}</th>
                  <th>{text.when}</th>
                </tr>
              </thead>
              <tbody>
                {pages.items.map((entry) => (
                  <Row key={entry.id} entry={entry} />
                ))}
              </tbody>
            </table>
            <LoadMore pages={pages} />
          </>
        )}
      </Card>
    </Page>
  )
}

function Row({ entry: { at, action, member, summary, subject_id: subject } }: { entry: Entry }) {
  const name = member ? (member.name ?? member.email) : text.formerMember
  return (
    <tr>
      <td>
        <span className="settings-person" title={member?.email}>
          <Avatar name={name} size="small" />
          <strong>{name}</strong>
        </span>
      </td>
      <td data-label={text.action} className="nowrap">
        {text.actions[action] ?? text.otherAction(action)}
      </td>
      <td data-label={text.subject} title={subject ?? undefined}>
        {summary ? (channels[summary] ?? summary) : <code className="soft">{subject?.slice(0, 8)}</code>}
      </td>
      <td data-label={text.when}>
        <time dateTime={at} className="nowrap soft">
          {formatTime(at)}
        </time>
      </td>
    </tr>
  )
}
