/** The request log, newest first, with filters in the URL. A row opens the request. */
import type { ReactNode } from 'react'
import { Link, useSearch } from 'wouter'
import { Button } from '../../../ui/button.tsx'
import { SearchInput, Select } from '../../../ui/form.tsx'
import { EmptyState } from '../../../ui/state.tsx'
import { type ItemOf, restartPages, useCall, usePages } from '../lib/api.ts'
import { useDebounced, useSearchParam } from '../lib/hooks.ts'
import { formatExact } from '../lib/time.ts'
import { DeveloperTabs } from '../ui/developer-tabs.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { Page } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { newItemsPollMs } from './new-items.ts'
import { RequestDialog } from './request.tsx'
import { StatusBadge } from './status.tsx'
import { StillList } from './still-list.tsx'

const { developers } = words
const { requests: text } = developers
const { columns } = text

type LoggedRequest = ItemOf<'GET /requests'>

const exactStatuses = ['200', '201', '202', '304', '400', '402', '403', '404', '429', '500', '502']

export function Requests() {
  const [keyId, setKeyId] = useSearchParam('key')
  const [status, setStatus] = useSearchParam('status')
  const [path, setPath] = useSearchParam('path')
  const [requestId, setRequestId] = useSearchParam('request_id')
  const [open, setOpen] = useSearchParam('request')
  const keys = useCall('GET /keys', {})
  const wantedPath = useDebounced(path.trim())
  const wantedId = useDebounced(requestId.trim())
  const query = {
    ...(keyId ? { key_id: keyId } : {}),
    ...(status ? { status } : {}),
    ...(wantedPath ? { path: wantedPath } : {}),
    ...(wantedId ? { request_id: wantedId } : {}),
  }
  const isFiltered = Object.keys(query).length > 0
  const clear = () => {
    for (const set of [setKeyId, setStatus, setPath, setRequestId]) set('')
  }
  return (
    <Page title={text.title} lead={text.lead}>
      <DeveloperTabs />
      <search className="toolbar dev-filters" aria-label={text.filters}>
        <SearchInput label={text.path} value={path} maxLength={200} onChange={(event) => setPath(event.target.value)} />
        <SearchInput
          label={text.requestId}
          value={requestId}
          maxLength={128}
          onChange={(event) => setRequestId(event.target.value)}
        />
        <Select aria-label={text.status} value={status} onChange={(event) => setStatus(event.target.value)}>
          <option value="">{text.allStatuses}</option>
          <option value="succeeded">{text.succeeded}</option>
          <option value="failed">{text.failed}</option>
          <optgroup label={text.exact}>
            {exactStatuses.map((code) => (
              <option key={code}>{code}</option>
            ))}
          </optgroup>
        </Select>
        <Select aria-label={text.key} value={keyId} onChange={(event) => setKeyId(event.target.value)}>
          <option value="">{text.allKeys}</option>
          {keys.data?.map(({ id, name, prefix }) => (
            <option key={id} value={id}>
              {name} ({prefix}…)
            </option>
          ))}
        </Select>
        {isFiltered && (
          <Button variant="quiet" icon="close" onClick={clear}>
            {text.clear}
          </Button>
        )}
      </search>
      <RequestList query={query} empty={<Nothing isFiltered={isFiltered} />} />
      {open && <RequestDialog id={open} onClose={() => setOpen('')} />}
    </Page>
  )
}

function RequestList({ query, empty }: { query: Record<string, string>; empty: ReactNode }) {
  const pages = usePages('GET /requests', { query }, { keepPrevious: true, isStill: true })
  const newest = useCall('GET /requests', { query: { ...query, limit: 50 } }, { pollMs: newItemsPollMs })
  return (
    <StillList
      pages={pages}
      newest={newest}
      showNewText={text.showNew}
      onShowNew={() => void restartPages('GET /requests', { query })}
      empty={empty}
    >
      <Table requests={pages.items} />
    </StillList>
  )
}

function Table({ requests }: { requests: readonly LoggedRequest[] }) {
  return (
    <table className="table dev-log" aria-label={text.list}>
      <thead>
        <tr>
          <th scope="col">{columns.request}</th>
          <th scope="col">{columns.status}</th>
          <th scope="col">{columns.key}</th>
          <th scope="col" className="end">
            {columns.duration}
          </th>
          <th scope="col" className="end">
            {columns.at}
          </th>
        </tr>
      </thead>
      <tbody>
        {requests.map((request) => (
          <Row key={request.id} request={request} />
        ))}
      </tbody>
    </table>
  )
}

function Row({ request: { id, at, method, path, status, key, duration_ms, error } }: { request: LoggedRequest }) {
  const search = new URLSearchParams(useSearch())
  search.set('request', id)
  return (
    <tr data-link="">
      <td>
        <Link href={`/developers/requests?${search}`} className="row-link mono dev-path" title={`${method} ${path}`}>
          <span className="dev-method">{method}</span> {path}
        </Link>
      </td>
      <td data-label={columns.status}>
        <span className="dev-status">
          <StatusBadge status={status} />
          {error && <span className="soft small mono">{error.code}</span>}
        </span>
      </td>
      <td data-label={columns.key} className="dev-key" title={key?.prefix}>
        {key ? key.name : <span className="soft">{text.deletedKey}</span>}
      </td>
      <td data-label={columns.duration} className="end numeric nowrap">
        {developers.milliseconds(duration_ms)}
      </td>
      <td data-label={columns.at} className="end nowrap soft">
        <time dateTime={at}>{formatExact(at)}</time>
      </td>
    </tr>
  )
}

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <EmptyState icon="search" title={text.noneSuch}>
        {text.noneSuchText}
      </EmptyState>
    )
  }
  return (
    <EmptyState
      icon="developers"
      title={text.empty}
      action={<LinkButton href="/settings/keys">{text.toKeys}</LinkButton>}
    >
      {text.emptyText}
    </EmptyState>
  )
}
