/** The page: the top bar, the phones of the simulated customers, and the test tools. */
import { useCallback, useEffect, useId, useRef, useState } from 'react'
import { Button, Select } from '../../../ui/controls.tsx'
import { Badge, EmptyState } from '../../../ui/display.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { useToast } from '../../../ui/overlays.tsx'
import type { Customer } from './api.ts'
import { hasNumber, isEmpty, keyOf, titleOf } from './board.ts'
import { AddCustomer, AllCustomers, CustomerBar } from './customers.tsx'
import { Handset } from './handset.tsx'
import icon from './icon.svg'
import { firstCustomer } from './samples.ts'
import { TestTools, useFaults } from './test-tools.tsx'
import { useBoard } from './use-board.ts'

/** The workspace is in the address; choosing another one starts the page anew. */
export function App() {
  const [workspaceId, setWorkspaceId] = useState(
    () => new URLSearchParams(location.search).get('workspace_id') ?? undefined,
  )
  const choose = (id: string) => {
    history.replaceState(null, '', `?${new URLSearchParams({ workspace_id: id })}`)
    setWorkspaceId(id)
  }
  return <PhonePage key={workspaceId} workspaceId={workspaceId} onWorkspace={choose} />
}

type PhonePageProps = { workspaceId: string | undefined; onWorkspace: (id: string) => void }

function PhonePage({ workspaceId, onWorkspace }: PhonePageProps) {
  const { board, dispatch, error, isLost, announcement, retry } = useBoard(workspaceId)
  const { phones, shown, current, workspace, workspaces, connections, hasDashboard, isLoaded } = board
  const toast = useToast()
  const panelId = useId()
  const [dialog, setDialog] = useState<'add' | 'all'>()
  const [hasPanel, setPanel] = useState(false)
  const [faults, refreshFaults] = useFaults()
  const [focusRequest, setFocusRequest] = useState<{ key: string }>()
  const main = useRef<HTMLElement>(null)
  const toolsButton = useRef<HTMLDivElement>(null)

  const open = useCallback(
    ({ channel, id, name, username }: Customer) => {
      dispatch({ type: 'show', customer: { channel, id, name, username } })
      setFocusRequest({ key: keyOf({ channel, id }) })
      setDialog(undefined)
      if (matchMedia('(max-width: 60rem)').matches) setPanel(false)
    },
    [dispatch],
  )
  const select = useCallback((key: string) => dispatch({ type: 'select', key }), [dispatch])
  const writeTo = useCallback(
    (key: string, connectionId: string) => dispatch({ type: 'write_to', key, connectionId }),
    [dispatch],
  )
  const hide = useCallback(
    (customer: Customer) => {
      dispatch({ type: 'hide', key: keyOf(customer) })
      toast.success(`The phone of ${titleOf(customer)} is hidden`, () => open(customer))
      main.current?.focus()
    },
    [dispatch, open, toast],
  )

  useEffect(() => {
    const key = focusRequest?.key
    const phone = [...(main.current?.children ?? [])].find((each) => each.getAttribute('data-key') === key)
    if (!(phone instanceof HTMLElement)) return
    phone.scrollIntoView({ inline: 'center', block: 'nearest' })
    // On a touch screen the keyboard would cover the conversation.
    const hasKeyboard = matchMedia('(hover: hover)').matches
    ;(hasKeyboard ? phone.querySelector('textarea') : phone)?.focus({ preventScroll: true })
  }, [focusRequest])

  // biome-ignore lint/correctness/useExhaustiveDependencies: the observer follows the phones that are shown.
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, intersectionRatio } of entries) {
          const key = target.getAttribute('data-key') ?? ''
          dispatch({ type: 'view', key, isVisible: intersectionRatio >= 0.6 })
        }
      },
      { root: main.current, threshold: [0, 0.6] },
    )
    for (const phone of main.current?.querySelectorAll('.phone') ?? []) observer.observe(phone)
    return () => observer.disconnect()
  }, [shown, isLoaded])

  const closePanel = () => {
    setPanel(false)
    toolsButton.current?.querySelector('button')?.focus()
  }
  const numbers = [...phones.values()].filter(hasNumber).map(({ id }) => id)
  const currentPhone = current ? phones.get(current) : undefined
  const recipient = currentPhone && hasNumber(currentPhone) ? currentPhone.id : (numbers[0] ?? firstCustomer.id)
  const hasMessages = [...phones.values()].some((phone) => !isEmpty(phone))
  return (
    <div className="page">
      <a className="skip" href="#phones">
        Skip to the phones
      </a>
      <header className="line top">
        {hasDashboard && (
          <a className="button" data-variant="quiet" href="/inbox" title="Back to the dashboard">
            <Icon name="back" />
            <span className="wide-only">Dashboard</span>
          </a>
        )}
        <h1>
          <img src={icon} alt="" /> Phones
        </h1>
        {workspaces.length > 1 && (
          <Select
            aria-label="Workspace"
            value={workspace.workspace_id}
            options={workspaces.map(({ workspace_id: id, business_name: name }) => [id, name || id])}
            onChange={(event) => onWorkspace(event.target.value)}
          />
        )}
        <CustomerBar board={board} onOpen={open} onShowAll={() => setDialog('all')} />
        <div className="row" ref={toolsButton}>
          <Button
            label={
              <>
                <span className="wide-only">Test tools</span>
                {faults.length > 0 && (
                  <Badge tone="red">
                    {faults.length}
                    <span className="offscreen"> active</span>
                  </Badge>
                )}
              </>
            }
            icon="bolt"
            aria-expanded={hasPanel}
            aria-controls={panelId}
            onClick={() => setPanel(!hasPanel)}
          />
          <Button
            label={<span className="wide-only">Add customer</span>}
            icon="plus"
            variant="primary"
            aria-haspopup="dialog"
            onClick={() => setDialog('add')}
          />
        </div>
      </header>
      <div className="below">
        <main
          className="phones"
          id="phones"
          tabIndex={-1}
          aria-label="Phones"
          aria-busy={!isLoaded && !error}
          ref={main}
        >
          {!isLoaded && error && (
            <EmptyState
              tone="red"
              icon="alert"
              title="The phones could not be loaded"
              text={`${error}.`}
              action={<Button label="Try again" variant="primary" onClick={retry} />}
            />
          )}
          {isLoaded && !hasMessages && <Welcome />}
          {shown.map((key) => {
            const phone = phones.get(key)
            return (
              phone && (
                <Handset
                  key={key}
                  {...{ phone, workspace, connections }}
                  onHide={hide}
                  onSelect={select}
                  onOpen={open}
                  onWriteTo={writeTo}
                />
              )
            )
          })}
        </main>
        {hasPanel && (
          <TestTools
            id={panelId}
            recipient={recipient}
            numbers={numbers}
            connections={connections}
            faults={faults}
            onFaults={refreshFaults}
            onOpen={open}
            onClose={closePanel}
          />
        )}
      </div>
      {dialog === 'add' && <AddCustomer onOpen={open} onClose={() => setDialog(undefined)} />}
      {dialog === 'all' && <AllCustomers phones={phones} onOpen={open} onClose={() => setDialog(undefined)} />}
      <p className="connection" role="status">
        {isLost && 'Connection lost. Reconnecting…'}
      </p>
      <div className="offscreen" id="announcer" aria-live="polite">
        {announcement}
      </div>
    </div>
  )
}

const Welcome = () => (
  <div className="stack welcome">
    <h2>Phones of simulated customers</h2>
    <p>
      Messages that you send through the API or the dashboard arrive here as the customer sees them. Write back, tap a
      button or send a picture: it reaches the service as from a real phone.
    </p>
    <p className="soft">No message leaves this machine.</p>
  </div>
)
