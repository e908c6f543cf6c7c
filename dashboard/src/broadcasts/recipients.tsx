/** The recipients of a broadcast with status and reason, filtered by status. */
import { Link } from 'wouter'
import { Badge } from '../../../ui/badge.tsx'
import { Card } from '../../../ui/card.tsx'
import { Select } from '../../../ui/form.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { EmptyState, Skeleton } from '../../../ui/state.tsx'
import { type ItemOf, pathOf, usePages } from '../lib/api.ts'
import { useSearchParam } from '../lib/hooks.ts'
import { useIsManager } from '../lib/session.tsx'
import { formatNumber } from '../lib/time.ts'
import { LoadMore } from '../ui/load-more.tsx'
import { ErrorState } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { type Broadcast, countsOf, reasonText, recipientStatuses, recipientTones } from './status.tsx'

const { recipients: text, detail } = words.broadcasts

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
    <Select aria-label={text.filter} value={status ?? ''} onChange={(event) => setStatus(event.target.value)}>
      <option value="">{text.withCount(text.all, formatNumber(total))}</option>
      {recipientStatuses.map((each) => (
        <option key={each} value={each}>
          {text.withCount(detail.counts[each], formatNumber(counts[each]))}
        </option>
      ))}
    </Select>
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
                <a className="button" href={pathOf('GET /broadcasts/{id}/recipients.csv', { params: { id } })} download>
                  <Icon name="download" />
                  {detail.download}
                </a>
              )}
            </>
          )
        }
      >
        {pages.error && !pages.data && <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />}
        {pages.isPending && <Skeleton />}
        {pages.isSuccess && pages.items.length === 0 && !pages.hasNextPage && (
          <EmptyState icon="contacts" title={text.none}>
            {total === 0 ? text.noneYet : text.noneText}
          </EmptyState>
        )}
        {pages.items.length > 0 && (
          <table className="table">
            <thead>
              <tr>
                <th>{text.columns.person}</th>
                <th>{text.columns.status}</th>
                <th>{text.columns.reason}</th>
                <th className="end">{text.columns.links}</th>
              </tr>
            </thead>
            <tbody>
              {pages.items.map((recipient) => (
                <Row key={recipient.place} recipient={recipient} />
              ))}
            </tbody>
          </table>
        )}
        <LoadMore pages={pages} />
      </Card>
    </div>
  )
}

function Row({ recipient }: { recipient: ItemOf<'GET /broadcasts/{id}/recipients'> }) {
  const { phone, name, status, reason, contact_id, conversation_id } = recipient
  const displayName = name ?? phone ?? text.erased
  return (
    <tr>
      <td>
        <div className="broadcasts-name">
          <span>{displayName}</span>
          {name && phone && <span className="soft small numeric">{phone}</span>}
        </div>
      </td>
      <td data-label={text.columns.status}>
        <Badge tone={recipientTones[status]}>{detail.counts[status]}</Badge>
      </td>
      <td data-label={reason ? text.columns.reason : undefined} title={reason ?? undefined}>
        {reason && reasonText(reason)}
      </td>
      <td className="end" data-label={conversation_id || contact_id ? text.columns.links : undefined}>
        <span className="broadcasts-links">
          {conversation_id && (
            <Link href={`/inbox/${conversation_id}`} aria-label={text.conversationOf(displayName)}>
              {text.conversation}
            </Link>
          )}
          {contact_id && (
            <Link href={`/contacts/${contact_id}`} aria-label={text.contactOf(displayName)}>
              {text.contact}
            </Link>
          )}
        </span>
      </td>
    </tr>
  )
}
