/** The dialog of a request: its facts, its error and, for a write that failed, its body. */
import { Code, EmptyState, Note } from '../../../ui/display.tsx'
import { Dialog } from '../../../ui/overlays.tsx'
import { type DataOf, useCall } from '../lib/api.ts'
import { CopyableCode, Facts } from '../ui/facts.tsx'
import { QueryView } from '../ui/page.tsx'
import { prettyJson } from '../webhooks/pretty-json.ts'
import { words } from '../words/words.ts'
import { StatusBadge } from './status.tsx'

const { developers } = words
const { requests: text } = developers
const { detail, columns } = text

type RequestWithBody = DataOf<'GET /requests/{id}'>

export function RequestDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const request = useCall('GET /requests/{id}', { params: { id } })
  const title = request.data ? `${request.data.method} ${request.data.path.replace(/\?.*/s, '')}` : detail.facts
  const notFound = <EmptyState icon="search" title={detail.gone} text={detail.goneText} />
  return (
    <Dialog title={title} size="wide" onClose={onClose}>
      <QueryView query={request} notFound={notFound}>
        {(loaded) => <Details request={loaded} />}
      </QueryView>
    </Dialog>
  )
}

function Details({ request }: { request: RequestWithBody }) {
  const { method, path, status, at, duration_ms, key, request_id, error, body } = request
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
          [columns.status]: <StatusBadge status={status} />,
          [columns.at]: (
            <div className="mono">
              <time dateTime={at}>{at}</time>
            </div>
          ),
          [columns.duration]: <span className="numeric">{developers.milliseconds(duration_ms)}</span>,
          [columns.key]: key ? `${key.name} (${key.prefix}…)` : text.deletedKey,
          [detail.path]: <div className="mono">{`${method} ${path}`}</div>,
          [text.requestId]: <CopyableCode text={request_id} label={detail.copyId} />,
        }}
      />
      {body !== null && (
        <section className="stack-tight">
          <h3>{detail.body}</h3>
          <Code text={prettyJson(body)} />
          <p className="soft small">{detail.redacted}</p>
        </section>
      )}
    </>
  )
}
