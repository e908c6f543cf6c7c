/** Imports contacts from a CSV file: a dry run shows the changes, then the member confirms. */
import { useEffect, useRef, useState } from 'react'
import { Button } from '../../../ui/controls.tsx'
import { Progress as Bar, Card, ErrorNote, Note } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { describeError, invalidate } from '../lib/api.ts'
import { useFileDrop } from '../lib/hooks.ts'
import { formatNumber } from '../lib/time.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { Page } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'
import { words } from '../words/words.ts'
import { type ImportReport, importFile, type Progress } from './import-request.ts'

const texts = words.contacts.importing

const sample = `data:text/csv;charset=utf-8,${encodeURIComponent('phone,name,email,company,tags\r\n+14155550100,Ann Okafor,ann@example.com,Acme,VIP;Newsletter\r\n')}`

type State = { isRunning: boolean; progress?: Progress; report?: ImportReport; error?: string }

export function ImportPage() {
  const [file, setFile] = useState<File>()
  const [state, setState] = useState<State>({ isRunning: false })
  const currentRequest = useRef(new AbortController())
  useEffect(() => () => currentRequest.current.abort(), [])

  const send = async (chosen: File, isDry: boolean) => {
    currentRequest.current.abort()
    const controller = new AbortController()
    currentRequest.current = controller
    setFile(chosen)
    setState({ isRunning: true })
    const onProgress = (progress: Progress) => setState((state) => ({ ...state, progress }))
    try {
      const report = await importFile(chosen, { isDry, onProgress, signal: controller.signal })
      setState({ isRunning: false, ...(report ? { report } : { error: texts.connectionLost }) })
    } catch (error) {
      if (!controller.signal.aborted) setState({ isRunning: false, error: describeError(error) })
    }
    if (!isDry) await Promise.all(['GET /contacts', 'GET /tags'].map((name) => invalidate({ queryKey: [name] })))
  }
  const { isRunning, progress, report, error } = state
  const isDone = report && !report.dry_run
  return (
    <Page title={texts.title} lead={texts.lead} back={{ href: '/contacts', label: texts.back }} narrow>
      {!isDone && (
        <Card title={texts.step1}>
          <FileDrop file={file} disabled={isRunning} onChoose={(chosen) => void send(chosen, true)} />
          <p className="soft small">
            {texts.columns} {texts.limits}{' '}
            <a href={sample} download="contacts.csv">
              {texts.sample}
            </a>
          </p>
          {error && <ErrorNote>{error}</ErrorNote>}
          {isRunning && (
            <div className="stack" role="status">
              <p>{progress ? texts.progress(progress.done, progress.total) : texts.checking}</p>
              <Bar label={texts.running} total={progress?.total ?? 1} parts={[{ value: progress?.done ?? 0 }]} />
            </div>
          )}
        </Card>
      )}
      {report && (
        <Card title={isDone ? texts.step3 : texts.step2}>
          <ImportResult report={report} />
          <div className="row">
            {isDone ? (
              <>
                <LinkButton label={texts.toContacts} variant="primary" href="/contacts" />
                <Button label={texts.other} onClick={() => setState({ isRunning: false })} />
              </>
            ) : (
              file && (
                <Button
                  label={
                    report.created + report.updated > 0 ? texts.start(report.created + report.updated) : texts.nothing
                  }
                  variant="primary"
                  icon="upload"
                  disabled={report.created + report.updated === 0}
                  onClick={() => void send(file, false)}
                />
              )
            )}
          </div>
        </Card>
      )}
    </Page>
  )
}

type FileDropProps = { file: File | undefined; disabled: boolean; onChoose: (file: File) => void }

function FileDrop({ file, disabled, onChoose }: FileDropProps) {
  const drop = useFileDrop(([dropped]) => dropped && !disabled && onChoose(dropped))
  return (
    <label className="stack contacts-drop" {...drop}>
      <Icon name="upload" />
      <strong>{file ? file.name : texts.choose}</strong>
      <span className="soft">{texts.drop}</span>
      <input
        type="file"
        accept=".csv,text/csv,text/plain"
        className="offscreen"
        disabled={disabled}
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

/** The result of an import or of its dry run: counts that add up to the lines of the file, and the skipped lines. */
function ImportResult({ report }: { report: ImportReport }) {
  const { failures, failed, ignored_columns: ignored } = report
  const counts = ['total', 'created', 'updated', 'unchanged', 'failed'] as const
  return (
    <>
      <dl className="contacts-counts">
        {counts.map((name) => (
          <div key={name} data-name={name}>
            <dt className="soft small">{texts[name]}</dt>
            <dd className="numeric">{formatNumber(report[name])}</dd>
          </div>
        ))}
      </dl>
      {ignored.length > 0 && (
        <Note tone="amber" icon="info">
          {texts.ignored(ignored.join(', '))}
        </Note>
      )}
      {failures.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
        <section className="contacts-failures" aria-label={texts.failed} tabIndex={0}>
          <Table
            rows={failures}
            keyOf={({ line }) => line}
            columns={[
              {
                label: texts.line,
                cellClassName: 'numeric',
                cellProps: () => ({ 'data-label': texts.line }),
                cell: ({ line }) => line,
              },
              { label: texts.reason, cell: ({ reason }) => reason },
              { label: texts.text, cellClassName: 'mono', cell: ({ text }) => text },
            ]}
          />
          {failed > failures.length && <p className="soft small">{texts.first(failures.length)}</p>}
        </section>
      )}
    </>
  )
}
