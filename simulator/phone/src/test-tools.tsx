/** The panel "Test tools": API calls to copy, magic numbers, and faults of the channel. */
import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { Button, Form, IconButton, InputField, SelectField, SubmitButton } from '../../../ui/controls.tsx'
import { copyText } from '../../../ui/display.tsx'
import { useToast } from '../../../ui/overlays.tsx'
import { addFault, type Connection, type Customer, clearFaults, type Fault, listFaults } from './api.ts'
import { choicesOf, describeConnection } from './board.ts'
import { faultModes, magicNumbers, sampleCalls } from './samples.ts'

/** The active faults, and a function that reads them again. */
export function useFaults(): [faults: readonly Fault[], refresh: () => Promise<void>] {
  const [faults, setFaults] = useState<readonly Fault[]>([])
  const refresh = async () => {
    const answer = await listFaults()
    if (answer.ok) setFaults(answer.data)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: reads them once, at the start.
  useEffect(() => void refresh(), [])
  return [faults, refresh]
}

type TestToolsProps = {
  id: string
  /** The recipient of the sample calls. */
  recipient: string
  numbers: readonly string[]
  connections: readonly Connection[]
  faults: readonly Fault[]
  onFaults: () => Promise<void>
  onOpen: (customer: Customer) => void
  onClose: () => void
}

export function TestTools(props: TestToolsProps) {
  const { id, recipient, numbers, connections, faults, onFaults, onOpen, onClose } = props
  const toast = useToast()
  const panel = useRef<HTMLElement>(null)
  useEffect(() => panel.current?.focus(), [])
  const copy = (text: string, name: string) => copyText(text).then(() => toast.success(`${name} copied`), toast.error)
  async function clear() {
    const answer = await clearFaults()
    if (answer.ok) toast.success('All faults cleared')
    else toast.error(`The faults were not cleared: ${answer.message}`)
    await onFaults()
    // The button that has the focus disappears.
    panel.current?.focus()
  }
  return (
    <aside
      className="panel"
      id={id}
      aria-label="Test tools"
      tabIndex={-1}
      ref={panel}
      onKeyDown={(event) => event.key === 'Escape' && onClose()}
    >
      <header className="row spread">
        <h2>Test tools</h2>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </header>
      <div className="panel-body">
        <Section title="Sample calls">
          <p className="small soft">
            For the recipient <strong>{recipient}</strong>. <code>$KEY</code> is the api_key in{' '}
            <code>data/demo.json</code>.
          </p>
          <ul className="rows">
            {sampleCalls.map(({ title, description, call }) => (
              <li key={title}>
                <span className="grow">
                  <strong>{title}</strong>
                  <small>{description}</small>
                </span>
                <IconButton
                  icon="copy"
                  label={`Copy the call ${title}`}
                  onClick={() => copy(call(recipient), 'Call')}
                />
              </li>
            ))}
          </ul>
        </Section>
        <Section title="Magic numbers">
          <p className="small soft">
            Every message to them has the same outcome. All other numbers: sent, delivered, read.
          </p>
          <ul className="rows">
            {magicNumbers.map(({ number, title, effect, code }) => (
              <li key={number}>
                <span className="grow">
                  <strong>{title}</strong> {code && <code>{code}</code>}
                  <small>{effect}</small>
                  <small className="mono">{number}</small>
                </span>
                <IconButton icon="copy" label={`Copy ${number}`} onClick={() => copy(number, 'Number')} />
                <Button
                  label="Open"
                  size="small"
                  aria-label={`Open the phone ${title}, ${number}`}
                  onClick={() => onOpen({ channel: 'msgapp', id: number, name: title, username: null })}
                />
              </li>
            ))}
          </ul>
        </Section>
        <Section title="Faults">
          <p className="small soft">Make the channel fail, for one number or for all.</p>
          <FaultForm numbers={numbers} connections={connections} onAdded={onFaults} />
          {faults.length > 0 && (
            <>
              <ul className="faults" aria-label="Active faults">
                {faults.map((fault, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: faults have no id.
                  <li key={index}>
                    <strong>{faultModes[fault.mode]?.title ?? fault.mode}</strong>
                    <small>{describe(fault, connections)}</small>
                  </li>
                ))}
              </ul>
              <Button label="Clear faults" size="small" icon="trash" onClick={clear} />
            </>
          )}
        </Section>
      </div>
    </aside>
  )
}

const describe = (
  { to, connection_id: id, code, count, delay_ms }: Fault,
  connections: readonly Connection[],
): string =>
  [
    id && `from ${connections.find((each) => each.connection_id === id)?.name ?? id}`,
    to ? `to ${to}` : 'to all numbers',
    code && `code ${code}`,
    count ? `next ${count} sends` : 'until cleared',
    delay_ms && `after ${delay_ms} ms`,
  ]
    .filter(Boolean)
    .join(' · ')

type FaultFormProps = Pick<TestToolsProps, 'numbers' | 'connections'> & { onAdded: () => Promise<void> }

function FaultForm({ numbers, connections, onAdded }: FaultFormProps) {
  const toast = useToast()
  const listId = useId()
  const [values, setValues] = useState({ mode: 'reject', to: '', connection_id: '', code: '', count: '', delay_ms: '' })
  const [invalid, setInvalid] = useState<string>()
  const bind = (name: keyof typeof values) => ({
    value: values[name],
    autoComplete: 'off',
    onChange: (event: { target: { value: string } }) => setValues({ ...values, [name]: event.target.value }),
  })
  const number = (name: 'code' | 'count' | 'delay_ms', label: string, placeholder: string) => (
    <InputField
      label={label}
      error={invalid === name ? 'A whole number' : undefined}
      {...bind(name)}
      inputMode="numeric"
      placeholder={placeholder}
    />
  )
  async function submit() {
    const { mode, to, connection_id, code, count, delay_ms } = values
    const numeric = { ...(mode === 'reject' ? { code } : {}), count, delay_ms }
    const wrong = Object.entries(numeric).find(([, text]) => !/^\d*$/.test(text.trim()))
    setInvalid(wrong?.[0])
    if (wrong) return
    const recipient = to.replace(/[\s().-]/g, '')
    const given = Object.entries(numeric).filter(([, text]) => text.trim() !== '')
    const answer = await addFault({
      mode,
      ...(recipient ? { to: recipient } : {}),
      ...(connection_id ? { connection_id } : {}),
      ...Object.fromEntries(given.map(([name, text]) => [name, Number(text)])),
    })
    if (!answer.ok) return toast.error(`The fault was not added: ${answer.message}`)
    toast.success(`Fault added: ${faultModes[mode]?.title}`)
    await onAdded()
  }
  return (
    <Form className="stack" onSubmit={() => void submit()} noValidate>
      <SelectField
        label="Fault"
        hint={faultModes[values.mode]?.effect}
        options={Object.entries(faultModes).map(([mode, { title }]) => [mode, title])}
        {...bind('mode')}
      />
      {(['msgapp', 'social'] as const).some((channel) => choicesOf(connections, channel).length > 0) && (
        <SelectField
          label="Sender"
          options={[['', 'All'], ...connections.map((each) => [each.connection_id, describeConnection(each)] as const)]}
          {...bind('connection_id')}
        />
      )}
      <InputField
        label="Number"
        hint="Empty: all numbers"
        {...bind('to')}
        list={listId}
        inputMode="tel"
        placeholder="all"
      />
      <datalist id={listId}>
        {numbers.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <div className="fields">
        {values.mode === 'reject' && number('code', 'Error code', '131026')}
        {number('count', 'Sends', 'all')}
        {number('delay_ms', 'Delay in ms', 'none')}
      </div>
      <SubmitButton label="Add fault" />
    </Form>
  )
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  const id = useId()
  return (
    <section className="stack" aria-labelledby={id}>
      <h3 id={id}>{title}</h3>
      {children}
    </section>
  )
}
