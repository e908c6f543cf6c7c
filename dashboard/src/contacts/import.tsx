/** Imports contacts from a CSV file: a dry run shows the changes, then the member confirms. */
import { type DragEvent, useEffect, useRef, useState } from 'react'
import { Button } from '../../../ui/controls.tsx'
import { Progress as Bar, Card, ErrorNote } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { describeError, invalidate } from '../lib/api.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { Page } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { type ImportReport, importFile, type Progress } from './import-request.ts'
import { ImportResult } from './import-result.tsx'

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
  const [isDragOver, setDragOver] = useState(false)
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setDragOver(false)
    const [dropped] = event.dataTransfer.files
    if (dropped && !disabled) onChoose(dropped)
  }
  return (
    <label
      className="contacts-drop"
      data-over={isDragOver ? '' : undefined}
      onDragOver={(event) => {
        event.preventDefault()
        setDragOver(true)
      }}
      onDragLeave={() => setDragOver(false)}
      onDrop={drop}
    >
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
