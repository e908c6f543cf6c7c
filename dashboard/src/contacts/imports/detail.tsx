/** The page of an import: what it shows follows from the state. It has its own address, so a reload continues where it was. */
import './imports.css'
import { useEffect, useState } from 'react'
import { Button } from '../../../../ui/controls.tsx'
import { Card, EmptyState, ErrorNote } from '../../../../ui/display.tsx'
import { capitalize, describeError, isNotFound, useCall, useChange } from '../../lib/api.ts'
import { useIsManager } from '../../lib/session.tsx'
import { NotFound } from '../../shell/errors.tsx'
import { LinkButton } from '../../ui/link-button.tsx'
import { Page, QueryView } from '../../ui/page.tsx'
import { importWords } from '../../words/imports.ts'
import { ManagersOnly } from './imports.tsx'
import { MappingForm } from './mapping.tsx'
import { ImportProgress } from './progress.tsx'
import { Counts, Reasons, RejectedLink } from './result.tsx'
import { type Import, isRunning, StateBadge, Steps } from './state.tsx'
import { UndoCard, UndoneCard } from './undo.tsx'

const text = importWords
const back = { href: '/contacts/import', label: text.backToImports }

const pollMs = 1_000

export function ImportDetail({ id }: { id: string }) {
  const isManager = useIsManager()
  const [isPolled, setPolled] = useState(true)
  const query = useCall(
    'GET /imports/{id}',
    { params: { id } },
    { enabled: isManager, live: true, pollMs: isPolled && pollMs },
  )
  const state = query.data?.state
  useEffect(() => setPolled(state !== undefined && isRunning(state)), [state])
  if (!isManager) return <ManagersOnly />
  if (isNotFound(query.error)) return <NotFound />
  return (
    <Page
      title={query.data?.filename ?? text.list.noName}
      lead={query.data && <StateBadge state={query.data.state} />}
      back={back}
    >
      <QueryView query={query}>
        {(value) => (
          <>
            <Steps value={value} />
            <Content value={value} />
          </>
        )}
      </QueryView>
    </Page>
  )
}

function Content({ value }: { value: Import }) {
  const { state, started_at, error } = value
  const [isMapping, setMapping] = useState(false)
  useEffect(() => {
    if (state !== 'checked') setMapping(false)
  }, [state])
  if (isRunning(state)) return <ImportProgress value={value} />
  if (state === 'undone') return <UndoneCard value={value} />
  if (started_at !== null) return <Result value={value} />
  return (
    <>
      {error && <ErrorNote>{capitalize(error)}</ErrorNote>}
      {state === 'checked' && !isMapping ? (
        <Review value={value} onChangeMapping={() => setMapping(true)} />
      ) : (
        <MappingForm key={`${value.delimiter} ${value.columns.length}`} value={value} />
      )}
    </>
  )
}

/** What the import would do, before it starts. */
function Review({ value, onChangeMapping }: { value: Import; onChangeMapping: () => void }) {
  const { id, check } = value
  const start = useChange('POST /imports/{id}/start', { stale: ['GET /imports/{id}', 'GET /imports'] })
  if (!check) return null
  const count = check.created + check.changed
  return (
    <Card title={text.result.checkTitle}>
      <Counts result={check} />
      <Reasons result={check} />
      {start.error && <ErrorNote>{describeError(start.error)}</ErrorNote>}
      <div className="row">
        <Button
          label={count > 0 ? text.result.start(count) : text.result.nothing}
          variant="primary"
          icon="upload"
          disabled={count === 0}
          busy={start.isPending}
          onClick={() => start.mutate({ params: { id } })}
        />
        <Button label={text.result.changeMapping} onClick={onChangeMapping} />
        <RejectedLink id={id} result={check} />
      </div>
    </Card>
  )
}

/** What the import has done, with the differences from its check. */
function Result({ value }: { value: Import }) {
  const { id, state, error, check, result } = value
  const keys = ['created', 'changed', 'unchanged', 'rejected'] as const
  const isDifferent = state === 'done' && check && result && keys.some((key) => check[key] !== result[key])
  return (
    <>
      {error && <ErrorNote>{capitalize(error)}</ErrorNote>}
      <Card title={text.result.doneTitle}>
        {state === 'canceled' && <p>{text.result.canceled}</p>}
        {isDifferent && <p role="status">{text.result.difference}</p>}
        {result ? (
          <>
            <Counts result={result} expected={isDifferent ? check : null} />
            <Reasons result={result} />
          </>
        ) : (
          <EmptyState icon="info" title={text.result.nothing} />
        )}
        <div className="row">
          <LinkButton label={text.result.toContacts} variant="primary" href="/contacts" />
          <LinkButton label={text.result.another} href="/contacts/import" />
          {result && <RejectedLink id={id} result={result} />}
        </div>
      </Card>
      <UndoCard value={value} />
    </>
  )
}
