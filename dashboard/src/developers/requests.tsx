/** The request log, newest first. A row opens the request. */
import { SearchInput, Select } from '../../../ui/controls.tsx'
import { type ItemOf, restartPages, useCall, usePages } from '../lib/api.ts'
import { useSearchParam, useUrlFilters } from '../lib/hooks.ts'
import { formatExact } from '../lib/time.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { type Column, RowLink } from '../ui/table.tsx'
import { words } from '../words/words.ts'
import { LogPage, newestLimit, newestRows, stillRows } from './log-page.tsx'
import { RequestDialog } from './request.tsx'
import { StatusBadge } from './status.tsx'

const { developers } = words
const { requests: text } = developers

const exactStatuses = ['200', '201', '202', '304', '400', '402', '403', '404', '429', '500', '502']

export function Requests() {
  const [open, setOpen] = useSearchParam('request')
  const filters = useUrlFilters(['key', 'status'], ['path', 'request_id'])
  const { key, ...others } = filters.query
  const query = { ...others, ...(key ? { key_id: key } : {}) }
  const keys = useCall('GET /keys', {})
  return (
    <LogPage
      text={text}
      filters={filters}
      controls={
        <>
          <SearchInput label={text.path} maxLength={200} {...filters.bind('path')} />
          <SearchInput label={text.requestId} maxLength={128} {...filters.bind('request_id')} />
          <Select aria-label={text.status} {...filters.bind('status')}>
            <option value="">{text.allStatuses}</option>
            <option value="succeeded">{text.succeeded}</option>
            <option value="failed">{text.failed}</option>
            <optgroup label={text.exact}>
              {exactStatuses.map((code) => (
                <option key={code}>{code}</option>
              ))}
            </optgroup>
          </Select>
          <Select
            aria-label={text.key}
            options={[
              ['', text.allKeys],
              ...(keys.data ?? []).map(({ id, name, prefix }) => [id, `${name} (${prefix}…)`] as const),
            ]}
            {...filters.bind('key')}
          />
        </>
      }
      pages={usePages('GET /requests', { query }, stillRows)}
      newest={useCall('GET /requests', { query: { ...query, limit: newestLimit } }, newestRows)}
      onShowNew={() => void restartPages('GET /requests', { query })}
      columns={columns}
      icon="developers"
      action={<LinkButton label={text.toKeys} href="/settings/keys" />}
    >
      {open && <RequestDialog id={open} onClose={() => setOpen('')} />}
    </LogPage>
  )
}

const columns: Column<ItemOf<'GET /requests'>>[] = [
  {
    label: text.columns.request,
    cell: ({ id, method, path }) => (
      <RowLink param="request" id={id} className="dev-path clamp" title={`${method} ${path}`}>
        <span className="dev-method">{method}</span> {path}
      </RowLink>
    ),
  },
  {
    label: text.columns.status,
    cell: ({ status, error }) => (
      <span className="dev-status">
        <StatusBadge status={status} />
        {error && <span className="soft small mono">{error.code}</span>}
      </span>
    ),
  },
  {
    label: text.columns.key,
    cellClassName: 'dev-key',
    cellProps: ({ key }) => ({ title: key?.prefix }),
    cell: ({ key }) => (key ? key.name : <span className="soft">{text.deletedKey}</span>),
  },
  {
    label: text.columns.duration,
    className: 'end',
    cellClassName: 'numeric nowrap',
    cell: ({ duration_ms }) => developers.milliseconds(duration_ms),
  },
  {
    label: text.columns.at,
    className: 'end',
    cellClassName: 'nowrap soft',
    cell: ({ at }) => <time dateTime={at}>{formatExact(at)}</time>,
  },
]
