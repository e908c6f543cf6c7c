/** The steps of setting up two-step sign-in: scan the code, confirm it, keep the recovery codes. */
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { encode } from 'uqr'
import { Button, Form, SubmitButton } from '../../../ui/controls.tsx'
import { CopyButton, Note, Secret } from '../../../ui/display.tsx'
import { type DataOf, useChange } from '../lib/api.ts'
import { fieldErrorOf } from '../lib/field-errors.ts'
import { words } from '../words/words.ts'
import { CodeField } from './code-field.tsx'
import { AnchorButton } from './link-button.tsx'

const { secondFactor: text } = words

type ConfirmProps = {
  setup: DataOf<'POST /profile/second-factor'>
  onConfirmed: (recoveryCodes: string[]) => void
  /** A button beside the confirming one. */
  children?: ReactNode
}

export function ConfirmSetup({ setup, onConfirmed, children }: ConfirmProps) {
  const [code, setCode] = useState('')
  const confirm = useChange('POST /profile/second-factor/confirm', {
    onDone: ({ recovery_codes }) => onConfirmed(recovery_codes),
  })
  const submit = () => confirm.mutate({ body: { code } })
  return (
    <Form className="second-factor stack" noValidate onSubmit={submit}>
      <p>{text.scan}</p>
      <QrCode text={setup.url} label={text.qrCode} />
      <details>
        <summary>{text.cannotScan}</summary>
        <p className="soft small">{text.typeKey}</p>
        <Secret text={setup.secret} />
      </details>
      <CodeField value={code} onChange={setCode} error={fieldErrorOf(confirm.error, 'code')} focus />
      <div className="dialog-foot">
        {children}
        <SubmitButton label={text.confirm} busy={confirm.isPending} disabled={!code.trim()} />
      </div>
    </Form>
  )
}

/** Shows the recovery codes. Only the button leaves the step: they are not shown again. */
export function RecoveryCodes({ codes, onDone }: { codes: readonly string[]; onDone: () => void }) {
  const heading = useRef<HTMLDivElement>(null)
  const all = codes.join('\n')
  useEffect(() => heading.current?.focus(), [])
  return (
    <div className="second-factor stack" ref={heading} tabIndex={-1}>
      <Note tone="amber">{text.keepCodes}</Note>
      <ul className="recovery-codes" aria-label={text.recoveryCodes}>
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div className="row">
        <CopyButton text={all} label={text.copyCodes} size="small" />
        <AnchorButton
          label={text.download}
          size="small"
          icon="download"
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(`${all}\n`)}`}
          download="parley-recovery-codes.txt"
        />
      </div>
      <div className="dialog-foot">
        <Button label={text.kept} variant="primary" onClick={onDone} />
      </div>
    </div>
  )
}

/** A QR code as one path, black on white in both themes: scanners read nothing else reliably. */
function QrCode({ text, label }: { text: string; label: string }) {
  const { data, size } = encode(text, { ecc: 'M', border: 3 })
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  return (
    <svg className="qr-code" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shapeRendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  )
}
