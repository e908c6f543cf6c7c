/** The start of an import: choose a file. Below it, the imports so far. */
import './imports.css'
import { useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { Button } from '../../../../ui/controls.tsx'
import { Card, EmptyState, ErrorNote, Progress } from '../../../../ui/display.tsx'
import { Icon } from '../../../../ui/icon.tsx'
import { describeError, type ItemOf, invalidate, queryClient, usePages } from '../../lib/api.ts'
import { useFileDrop } from '../../lib/hooks.ts'
import { useIsManager } from '../../lib/session.tsx'
import { formatBytes, formatNumber, formatTime } from '../../lib/time.ts'
import { Page, PagedList } from '../../ui/page.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { importWords } from '../../words/imports.ts'
import { StateBadge } from './state.tsx'
import { UploadCanceled, uploadImport } from './upload.ts'

const text = importWords

const sample = `data:text/csv;charset=utf-8,${encodeURIComponent('phone,name,email,company,tags\r\n+14155550100,Ann Okafor,ann@example.com,Acme,VIP;Newsletter\r\n')}`

export function ImportsPage() {
  if (!useIsManager()) return <ManagersOnly />
  return (
    <Page title={text.title} lead={text.lead} back={{ href: '/contacts', label: text.back }}>
      <ChooseFile />
      <EarlierImports />
    </Page>
  )
}

/** Instead of the pages of imports, for other members. */
export const ManagersOnly = () => <EmptyState icon="lock" title={text.managersTitle} text={text.managersText} isPage />

type Upload = { name: string; percent: number }

function ChooseFile() {
  const [, navigate] = useLocation()
  const [upload, setUpload] = useState<Upload>()
  const [error, setError] = useState<string>()
  const request = useRef<XMLHttpRequest>(undefined)
  useEffect(() => () => request.current?.abort(), [])

  const send = async (file: File) => {
    const sending = new XMLHttpRequest()
    request.current = sending
    setError(undefined)
    setUpload({ name: file.name, percent: 0 })
    try {
      const created = await uploadImport(sending, file, (percent) => setUpload({ name: file.name, percent }))
      queryClient.setQueryData(['GET /imports/{id}', { params: { id: created.id } }], created)
      void invalidate({ queryKey: ['GET /imports'] })
      navigate(`/contacts/import/${created.id}`)
    } catch (failure) {
      if (!(failure instanceof UploadCanceled)) setError(describeError(failure))
      setUpload(undefined)
    }
  }
  return (
    <Card title={text.choose.title}>
      {upload ? (
        <div className="stack" role="status">
          <p>{text.choose.uploading(upload.name)}</p>
          <Progress
            label={text.choose.uploading(upload.name)}
            total={100}
            parts={[{ value: Math.min(100, upload.percent) }]}
          />
          <p className="soft small numeric">
            {upload.percent < 100 ? text.choose.percent(upload.percent) : text.choose.reading}
          </p>
          <div className="row">
            <Button label={text.choose.cancel} onClick={() => request.current?.abort()} />
          </div>
        </div>
      ) : (
        <FileDrop onChoose={(file) => void send(file)} />
      )}
      <p className="soft small">
        {text.choose.rules}{' '}
        <a href={sample} download="contacts.csv">
          {text.choose.sample}
        </a>
      </p>
      {error && <ErrorNote>{error}</ErrorNote>}
    </Card>
  )
}

function FileDrop({ onChoose }: { onChoose: (file: File) => void }) {
  const drop = useFileDrop(([dropped]) => dropped && onChoose(dropped))
  return (
    <label className="stack imports-drop" {...drop}>
      <Icon name="upload" />
      <strong>{text.choose.action}</strong>
      <span className="soft">{text.choose.drop}</span>
      <input
        type="file"
        accept=".csv,.txt,.tsv,text/csv,text/plain,text/tab-separated-values"
        className="offscreen"
        onChange={(event) => {
          const [chosen] = event.target.files ?? []
          if (chosen) onChoose(chosen)
          // Allows choosing the same file again after it was edited.
          event.target.value = ''
        }}
      />
    </label>
  )
}

type ListedImport = ItemOf<'GET /imports'>

function EarlierImports() {
  const pages = usePages('GET /imports', { query: { limit: 20 } }, { live: true })
  return (
    <Card title={text.list.title} flush>
      <PagedList
        pages={pages}
        lines={3}
        empty={<EmptyState icon="upload" title={text.list.none} text={text.list.noneText} />}
      >
        {(rows) => <Table isLinked rows={rows} keyOf={({ id }) => id} columns={columns} />}
      </PagedList>
    </Card>
  )
}

/** The rows of the file, once they are counted. */
function countOf({ check, result, started_at }: ListedImport): string {
  const counts = started_at === null ? check : (check ?? result)
  if (!counts) return ''
  return formatNumber(counts.created + counts.changed + counts.unchanged + counts.rejected)
}

const columns: Column<ListedImport>[] = [
  {
    label: text.list.file,
    cell: ({ id, filename, size_bytes }) => (
      <div className="column">
        <Link className="row-link" href={`/contacts/import/${id}`}>
          {filename ?? text.list.noName}
        </Link>
        <span className="soft small">{formatBytes(size_bytes)}</span>
      </div>
    ),
  },
  { label: text.list.state, cell: ({ state }) => <StateBadge state={state} /> },
  { label: text.list.rows, className: 'end', cellClassName: 'numeric', cell: countOf },
  { label: text.list.author, className: 'minor', cell: ({ author }) => author.name },
  { label: text.list.when, cellClassName: 'soft', cell: ({ created_at }) => formatTime(created_at) },
]
