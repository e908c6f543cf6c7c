/** The member's two-step sign-in: set up, replace the recovery codes, turn off. */
import { useId, useState } from 'react'
import { Button, Field, Form } from '../../../ui/controls.tsx'
import { Badge, Card, Note } from '../../../ui/display.tsx'
import { Dialog, Modal, useToast } from '../../../ui/overlays.tsx'
import { type DataOf, useCall, useChange } from '../lib/api.ts'
import { fieldErrorOf } from '../lib/field-errors.ts'
import { useSession } from '../lib/session.tsx'
import { CodeField } from '../ui/code-field.tsx'
import { FormDialog } from '../ui/dialogs.tsx'
import { QueryView } from '../ui/page.tsx'
import { PasswordInput } from '../ui/password-input.tsx'
import { ConfirmSetup, RecoveryCodes } from '../ui/second-factor.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { words } from '../words/words.ts'

const { secondFactor: text } = words

type OpenDialog = 'set up' | 'renew' | 'turn off'

/** With fewer codes the card suggests new ones. */
const fewCodes = 3

export function SecondFactor() {
  const query = useCall('GET /profile/second-factor', {})
  const [dialog, setDialog] = useState<OpenDialog>()
  const close = () => {
    setDialog(undefined)
    void query.refetch()
  }
  return (
    <Card title={text.title}>
      <QueryView query={query} lines={2}>
        {(factor) => (
          <>
            <State factor={factor} onOpen={setDialog} />
            {dialog === 'set up' && <SetUp onClose={close} />}
            {dialog === 'renew' && <Renew onClose={close} />}
            {dialog === 'turn off' && <TurnOff isRequired={factor.is_required} onClose={close} />}
          </>
        )}
      </QueryView>
    </Card>
  )
}

type StateProps = { factor: DataOf<'GET /profile/second-factor'>; onOpen: (dialog: OpenDialog) => void }

function State({ factor, onOpen }: StateProps) {
  const { confirmed_at: since, recovery_codes_left: left, is_required: isRequired } = factor
  return (
    <div className="stack settings-form">
      <p className="soft">{text.lead}</p>
      <div className="row">
        <Badge tone={since ? 'green' : undefined}>{since ? text.on : text.off}</Badge>
        {isRequired && <Badge tone="accent">{text.required}</Badge>}
        {since && (
          <span className="soft small settings-dots">
            <span>
              {text.since} <RelativeTime at={since} />
            </span>
            <span>{text.codesLeft(left)}</span>
          </span>
        )}
      </div>
      {since && left < fewCodes && <Note tone="amber">{text.fewCodes}</Note>}
      <div className="row">
        {since ? (
          <>
            <Button label={text.renewCodes} onClick={() => onOpen('renew')} />
            <Button label={isRequired ? text.replace : text.turnOff} onClick={() => onOpen('turn off')} />
          </>
        ) : (
          <Button label={text.setUp} variant="primary" icon="shield" onClick={() => onOpen('set up')} />
        )}
      </div>
    </div>
  )
}

function SetUp({ onClose }: { onClose: () => void }) {
  const { member } = useSession()
  const toast = useToast()
  const [password, setPassword] = useState('')
  const [codes, setCodes] = useState<string[]>()
  const start = useChange('POST /profile/second-factor')
  const done = () => {
    toast.success(text.turnedOn)
    onClose()
  }
  const cancel = <Button label={words.common.cancel} onClick={onClose} />
  const submit = () => start.mutate({ body: { current_password: password } })
  if (codes) return <CodesDialog codes={codes} onDone={done} />
  return (
    <Dialog title={text.title} onClose={onClose}>
      {start.data ? (
        <ConfirmSetup setup={start.data} onConfirmed={setCodes}>
          {cancel}
        </ConfirmSetup>
      ) : (
        <Form className="second-factor stack" onSubmit={submit}>
          {/* For password managers: whose password it is. */}
          <input type="hidden" name="username" autoComplete="username" value={member.email} readOnly />
          <Field label={text.password} hint={text.passwordHint} error={fieldErrorOf(start.error, 'current_password')}>
            {(wiring) => (
              <PasswordInput
                {...wiring}
                required
                autoComplete="current-password"
                value={password}
                onChange={(event) => setPassword(event.target.value)}
              />
            )}
          </Field>
          <div className="dialog-foot">
            {cancel}
            <Button label={text.next} type="submit" variant="primary" busy={start.isPending} />
          </div>
        </Form>
      )}
    </Dialog>
  )
}

/** Only its button closes it: Escape and a press on the backdrop, which close other dialogs, would lose the codes. */
function CodesDialog({ codes, onDone }: { codes: readonly string[]; onDone: () => void }) {
  const id = useId()
  return (
    <Modal className="dialog" aria-labelledby={id}>
      <header>
        <h2 id={id}>{text.recoveryCodes}</h2>
      </header>
      <div className="dialog-body">
        <RecoveryCodes codes={codes} onDone={onDone} />
      </div>
    </Modal>
  )
}

function Renew({ onClose }: { onClose: () => void }) {
  const renew = useChange('POST /profile/second-factor/recovery-codes')
  if (renew.data) return <CodesDialog codes={renew.data.recovery_codes} onDone={onClose} />
  return (
    <CodeDialog
      title={text.renewTitle}
      text={text.renewText}
      action={text.renewAction}
      isBusy={renew.isPending}
      error={renew.error}
      onCode={(code) => renew.mutate({ body: { code } })}
      onClose={onClose}
    />
  )
}

function TurnOff({ isRequired, onClose }: { isRequired: boolean; onClose: () => void }) {
  const turnOff = useChange('DELETE /profile/second-factor', {
    stale: isRequired ? ['GET /session'] : ['GET /members'],
    done: isRequired ? undefined : text.turnedOff,
    onDone: onClose,
  })
  return (
    <CodeDialog
      title={isRequired ? text.replaceTitle : text.turnOffTitle}
      text={isRequired ? text.replaceText : text.turnOffText}
      action={isRequired ? text.replaceAction : text.turnOffAction}
      danger
      isBusy={turnOff.isPending}
      error={turnOff.error}
      onCode={(code) => turnOff.mutate({ body: { code } })}
      onClose={onClose}
    />
  )
}

type CodeDialogProps = {
  title: string
  text: string
  action: string
  danger?: boolean
  isBusy: boolean
  error: unknown
  onCode: (code: string) => void
  onClose: () => void
}

/** Asks for a code before a change. */
function CodeDialog({ text: lead, error, onCode, ...dialog }: CodeDialogProps) {
  const [code, setCode] = useState('')
  return (
    <FormDialog
      {...dialog}
      className="second-factor stack"
      noValidate
      isReady={code.trim() !== ''}
      onSubmit={() => onCode(code)}
    >
      <p>{lead}</p>
      <CodeField value={code} onChange={setCode} error={fieldErrorOf(error, 'code')} hint={text.codeHint} focus />
    </FormDialog>
  )
}
