/** Who did what in the dashboard, newest first. What is done by a program with a key is not in it. */

import { Avatar } from '../../../ui/avatar.tsx'
import { Card } from '../../../ui/card.tsx'
import { Empty, Skeleton } from '../../../ui/state.tsx'
import { type ItemOf, usePages } from '../lib/api.ts'
import { formatTime } from '../lib/time.ts'
import { More } from '../ui/more.tsx'
import { Failure, Page } from '../ui/page.tsx'
import { words } from '../words/words.ts'

const { audit: text } = words.settings

/** Channels have names of their own here. */
const channels: Record<string, string> = words.channels

type Entry = ItemOf<'GET /audit'>

export function AuditLog() {
  const pages = usePages('GET /audit', {}, { live: true })
  return (
    <Page title={text.title} lead={text.lead}>
      <Card flush>
        {pages.error && !pages.data ? (
          <Failure error={pages.error} onRetry={() => void pages.refetch()} />
        ) : !pages.data ? (
          <Skeleton />
        ) : pages.items.length === 0 ? (
          <Empty icon="shield" title={text.empty}>
            {text.emptyText}
          </Empty>
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
                  <Row key={entry.id} of={entry} />
                ))}
              </tbody>
            </table>
            <More pages={pages} />
          </>
        )}
      </Card>
    </Page>
  )
}

function Row({ of: { at, action, member, summary, subject_id: subject } }: { of: Entry }) {
  const who = member ? (member.name ?? member.email) : text.formerMember
  return (
    <tr>
      <td>
        <span className="settings-person" title={member?.email}>
          <Avatar name={who} size="small" />
          <strong>{who}</strong>
        </span>
      </td>
      <td data-label={text.action}>{text.actions[action] ?? text.otherAction(action)}</td>
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
