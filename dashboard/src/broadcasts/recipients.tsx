/** The recipients of a broadcast with status and reason, filtered by status. */
import { Link } from 'wouter'
import { Select } from '../../../ui/controls.tsx'
import { Badge, Card, EmptyState } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { type ItemOf, pathOf, usePages } from '../lib/api.ts'
import { useSearchParam } from '../lib/hooks.ts'
import { useIsManager } from '../lib/session.tsx'
import { formatNumber } from '../lib/time.ts'
import { AnchorButton } from '../ui/link-button.tsx'
import { PagedList } from '../ui/page.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { broadcastWords } from '../words/broadcasts.ts'
import { type Broadcast, countsOf, reasonText, recipientStatuses, recipientTones } from './status.tsx'

const { recipients: text, detail } = broadcastWords

export function Recipients({ broadcast }: { broadcast: Broadcast }) {
  const { id, total_count: total } = broadcast
  const [statusInUrl, setStatus] = useSearchParam('status')
  const status = recipientStatuses.find((each) => each === statusInUrl)
  const query = { limit: 50, ...(status ? { status } : {}) }
  const pages = usePages(
    'GET /broadcasts/{id}/recipients',
    { params: { id }, query },
    { live: true, keepPrevious: true },
  )
  const counts = countsOf(broadcast)
  const isManager = useIsManager()
  const filter = (
    <Select
      aria-label={text.filter}
      value={status ?? ''}
      options={[
        ['', text.withCount(counts.skipped > 0 ? text.allWithSkipped : text.all, formatNumber(total))],
        ...recipientStatuses.map(
          (each) => [each, text.withCount(detail.parts[each], formatNumber(counts[each]))] as const,
        ),
      ]}
      onChange={(event) => setStatus(event.target.value)}
    />
  )
  return (
    <div className="broadcasts-recipients">
      <Card
        title={text.title}
        flush
        actions={
          total > 0 && (
            <>
              {filter}
              {isManager && (
                <AnchorButton
                  label={detail.download}
                  icon="download"
                  href={pathOf('GET /broadcasts/{id}/recipients.csv', { params: { id } })}
                  download
                />
              )}
            </>
          )
        }
      >
        <PagedList
          pages={pages}
          empty={
            total === 0 ? (
              <EmptyState icon="contacts" title={text.notYet} text={text.noneYet} />
            ) : (
              <EmptyState icon="contacts" title={text.none} text={text.noneText} />
            )
          }
        >
          {(recipients) => <Table isCompact rows={recipients} keyOf={({ place }) => place} columns={columns} />}
        </PagedList>
      </Card>
    </div>
  )
}

type Recipient = ItemOf<'GET /broadcasts/{id}/recipients'>

const nameOf = ({ name, phone, username }: Pick<Recipient, 'name' | 'phone' | 'username'>): string =>
  name ?? phone ?? (username ? `@${username}` : null) ?? text.erased

const columns: Column<Recipient>[] = [
  {
    label: text.columns.person,
    cell: (recipient) => (
      <div className="column">
        {recipient.contact_id ? (
          <Link href={`/contacts/${recipient.contact_id}`} className="broadcasts-recipient">
            {nameOf(recipient)}
          </Link>
        ) : (
          <span>{nameOf(recipient)}</span>
        )}
        {recipient.name && (recipient.phone || recipient.username) && (
          <span className="soft small numeric">{recipient.phone ?? `@${recipient.username}`}</span>
        )}
      </div>
    ),
  },
  {
    label: text.columns.status,
    narrow: 'status',
    cell: ({ status }) => <Badge tone={recipientTones[status]}>{detail.counts[status]}</Badge>,
  },
  {
    label: text.columns.reason,
    narrow: 'plain',
    cellProps: ({ reason }) => (reason ? { title: reason } : {}),
    cell: ({ reason }) => reason && reasonText(reason),
  },
  {
    label: text.columns.conversation,
    isLabelHidden: true,
    className: 'end',
    cell: ({ conversation_id, ...recipient }) =>
      conversation_id && (
        <Link
          href={`/inbox/${conversation_id}`}
          className="button"
          data-variant="quiet"
          data-size="small"
          data-icon-only=""
          aria-label={text.conversationOf(nameOf(recipient))}
          title={text.conversationOf(nameOf(recipient))}
        >
          <Icon name="chat" />
        </Link>
      ),
  },
]
