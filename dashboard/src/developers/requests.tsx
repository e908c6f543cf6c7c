/** The request log, newest first. A row opens the request. */
import { SearchInput, Select } from '../../../ui/controls.tsx'
import { Badge, Code, CopyButton, EmptyState, Note, type Tone } from '../../../ui/display.tsx'
import { type DataOf, type ItemOf, restartPages, useCall, usePages } from '../lib/api.ts'
import { toCurl } from '../lib/curl.ts'
import { useSearchParam, useUrlFilters } from '../lib/hooks.ts'
import { formatExact } from '../lib/time.ts'
import { Detail, type Steps } from '../ui/detail.tsx'
import { CopyableCode, Facts, Headers } from '../ui/facts.tsx'
import { LinkButton } from '../ui/link-button.tsx'
import { QueryView } from '../ui/page.tsx'
import { type Column, RowLink } from '../ui/table.tsx'
import { prettyJson } from '../webhooks/pretty-json.ts'
import { words } from '../words/words.ts'
import { LogPage, newestLimit, newestRows, stillRows } from './log-page.tsx'

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
      action={<LinkButton label={text.toKeys} href="/developers/keys" />}
      open={open}
      onOpen={setOpen}
    >
      {(steps) => <RequestDetail id={open} steps={steps} onClose={() => setOpen('')} />}
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
    narrow: 'plain',
    cell: ({ status, error }) => (
      <span className="dev-status">
        <StatusBadge status={status} />
        {error && <span className="soft small mono">{error.code}</span>}
      </span>
    ),
  },
  {
    label: text.columns.key,
    narrow: 'plain',
    className: 'split-hidden',
    cellClassName: 'dev-key',
    cellProps: ({ key }) => ({ title: key?.prefix }),
    cell: ({ key }) => (key ? key.name : <span className="soft">{text.deletedKey}</span>),
  },
  {
    label: text.columns.duration,
    narrow: 'plain',
    className: 'end split-hidden',
    cellClassName: 'numeric nowrap',
    cell: ({ duration_ms }) => developers.milliseconds(duration_ms),
  },
  {
    label: text.columns.at,
    narrow: 'plain',
    className: 'end',
    cellClassName: 'nowrap soft',
    cell: ({ at }) => <time dateTime={at}>{formatExact(at)}</time>,
  },
]

/** The HTTP status of a request. */
function StatusBadge({ status }: { status: number | null }) {
  return <Badge tone={toneOf(status)}>{status ?? words.developers.requests.closed}</Badge>
}

function toneOf(status: number | null): Tone {
  if (status === null || (status >= 400 && status < 500)) return 'amber'
  return status >= 500 ? 'red' : 'green'
}

const { detail, columns: labels } = text

const jsonHeader = { name: 'Content-Type', value: 'application/json' }
const bodyFile = { file: 'body.json' }

type RequestWithBody = DataOf<'GET /requests/{id}'>

/** A request: its facts and, if it failed, its error, the body of a write and the response. */
function RequestDetail({ id, steps, onClose }: { id: string; steps: Steps; onClose: () => void }) {
  const request = useCall('GET /requests/{id}', { params: { id } })
  const title = request.data ? `${request.data.method} ${request.data.path.replace(/\?.*/s, '')}` : detail.facts
  const notFound = <EmptyState icon="search" title={detail.gone} text={detail.goneText} />
  return (
    <Detail id={id} title={title} steps={steps} onClose={onClose}>
      <QueryView query={request} notFound={notFound}>
        {(loaded) => <Details request={loaded} />}
      </QueryView>
    </Detail>
  )
}

function Details({ request }: { request: RequestWithBody }) {
  const { method, path, status, at, duration_ms, key, request_id, error, body, response } = request
  const lacksBody = body === null && ['POST', 'PUT', 'PATCH'].includes(method)
  const curl = toCurl({
    method,
    url: `${location.origin}${path}`,
    hasKey: true,
    headers: body !== null || lacksBody ? [jsonHeader] : [],
    body: body ?? (lacksBody ? bodyFile : undefined),
  })
  return (
    <>
      {status === null && <Note tone="amber">{text.closedText}</Note>}
      {error && (
        <Note tone="red">
          <p className="dev-message">
            <code>{error.code}</code>: {error.message}
          </p>
        </Note>
      )}
      <Facts
        label={detail.facts}
        facts={{
          [labels.status]: <StatusBadge status={status} />,
          [labels.at]: (
            <div className="mono">
              <time dateTime={at}>{at}</time>
            </div>
          ),
          [labels.duration]: <span className="numeric">{developers.milliseconds(duration_ms)}</span>,
          [labels.key]: key ? `${key.name} (${key.prefix}…)` : text.deletedKey,
          [detail.path]: <div className="mono">{`${method} ${path}`}</div>,
          [text.requestId]: <CopyableCode text={request_id} label={detail.copyId} />,
        }}
      />
      <div className="stack stack-tight">
        <div>
          <CopyButton text={curl} label={detail.curl} size="small" />
        </div>
        {lacksBody && <p className="soft small">{detail.curlBody}</p>}
      </div>
      {response ? (
        <section className="stack stack-tight">
          <h3>{detail.response}</h3>
          {response.body !== null && <Code text={prettyJson(response.body)} />}
          <Headers label={detail.responseHeaders} headers={response.headers} />
        </section>
      ) : (
        status !== null && <p className="soft small">{detail.noResponse}</p>
      )}
      {body !== null && (
        <section className="stack stack-tight">
          <h3>{detail.body}</h3>
          <Code text={prettyJson(body)} />
          <p className="soft small">{detail.redacted}</p>
        </section>
      )}
    </>
  )
}
