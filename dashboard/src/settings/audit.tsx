/** The audit log: actions of members in the dashboard, newest first. Calls with an API key are not recorded. */
import { Avatar, Card, EmptyState } from '../../../ui/display.tsx'
import { type ItemOf, usePages } from '../lib/api.ts'
import { formatTime } from '../lib/time.ts'
import { Page, PagedList } from '../ui/page.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { words } from '../words/words.ts'

const { audit: text } = words.settings

/** The summary of a channel action is the channel's identifier; this maps it to the display name. */
const channels: Record<string, string> = words.channels

export function AuditLog() {
  const pages = usePages('GET /audit', {}, { live: true })
  return (
    <Page title={text.title} lead={text.lead}>
      <Card flush>
        <PagedList pages={pages} empty={<EmptyState icon="shield" title={text.empty} text={text.emptyText} />}>
          {(entries) => <Table rows={entries} keyOf={({ id }) => id} columns={columns} />}
        </PagedList>
      </Card>
    </Page>
  )
}

const columns: Column<ItemOf<'GET /audit'>>[] = [
  {
    label: text.member,
    cell: ({ member }) => {
      const name = member ? (member.name ?? member.email) : text.formerMember
      return (
        <span className="settings-person" title={member?.email}>
          <Avatar name={name} size="small" />
          <strong className="cut">{name}</strong>
        </span>
      )
    },
  },
  {
    label: text.action,
    cellClassName: 'nowrap',
    cell: ({ action }) => text.actions[action] ?? text.otherAction(action),
  },
  {
    label: text.subject,
    cellProps: ({ subject_id: id }) => ({ title: id ?? undefined }),
    cell: ({ summary, subject_id: id }) =>
      summary ? (channels[summary] ?? summary) : <code className="soft">{id?.slice(0, 8)}</code>,
  },
  {
    label: text.when,
    cell: ({ at }) => (
      <time dateTime={at} className="nowrap soft">
        {formatTime(at)}
      </time>
    ),
  },
]
