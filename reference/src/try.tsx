/**
 * "Try it": a form that calls the service and shows the response.
 *
 * The API key is shared by all forms, stored in `sessionStorage` and sent only to this page's origin, without cookies. A signed-in owner
 * or admin needs none: the page makes a temporary one.
 */
import { type ReactNode, useId, useState } from 'react'
import { Button } from '../../ui/controls.tsx'
import { CodeCard, Inline, StatusBadge, usePreferences } from './code.tsx'
import { errorMeanings } from './errors.ts'
import type { Operation, Parameter } from './openapi.ts'
import { type Draft, prettyJson, type SampleRequest } from './samples.ts'
import { resolve, type Schemas } from './schema.ts'
import type { TemporaryKey } from './temporary-key.ts'

type TryFormProps = {
  operation: Operation
  schemas: Schemas
  draft: Draft
  onChange: (draft: Draft) => void
  request: SampleRequest
}

const timeoutMs = 30_000
/** An event stream has no end, so the page reads it for this long. */
const streamMs = 5_000
const shownHeaders = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Retry-After',
  'Idempotent-Replayed',
]

export function TryForm({ operation, schemas, draft, onChange, request }: TryFormProps) {
  const id = useId()
  const { apiKey, temporaryKey } = usePreferences()
  const [isSending, setSending] = useState(false)
  const [wasSubmitted, setSubmitted] = useState(false)
  const [result, setResult] = useState<Result>()
  const { parameters, body, example, scope } = operation
  const missing = [
    ...(apiKey.trim() || temporaryKey.isOffered ? [] : [{ field: `${id}-key`, message: 'Enter an API key.' }]),
    ...parameters
      .filter(({ name, required }) => required && !draft.values[name]?.trim())
      .map(({ name }) => ({ field: `${id}-${name}`, message: `Enter ${name}.` })),
  ]
  const isInvalid = (field: string) => wasSubmitted && missing.some((each) => each.field === field)
  const submit = async () => {
    setSubmitted(true)
    const [first] = missing
    if (first) {
      setResult({ failed: first.message })
      document.getElementById(first.field)?.focus()
    }
    if (first || isSending) return
    setSending(true)
    try {
      setResult(
        await (apiKey.trim() ? call(request, apiKey.trim()) : callWithTemporaryKey(request, temporaryKey, scope)),
      )
    } catch (error) {
      setResult({ failed: error instanceof Error ? error.message : String(error) })
    }
    setSending(false)
  }
  return (
    <>
      <form
        className="try-form"
        noValidate
        autoComplete="off"
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        <KeyField id={`${id}-key`} scope={scope} isInvalid={isInvalid(`${id}-key`)} />
        {parameters.map((parameter) => (
          <ParameterField
            key={parameter.name}
            id={`${id}-${parameter.name}`}
            schemas={schemas}
            parameter={parameter}
            value={draft.values[parameter.name] ?? ''}
            isInvalid={isInvalid(`${id}-${parameter.name}`)}
            onChange={(value) => onChange({ ...draft, values: { ...draft.values, [parameter.name]: value } })}
          />
        ))}
        {body && (
          <BodyField
            id={`${id}-body`}
            value={draft.body ?? ''}
            onChange={(text) => onChange({ ...draft, body: text })}
            onReset={() => onChange({ ...draft, body: prettyJson(example) })}
          />
        )}
        <Button label={isSending ? 'Sending…' : 'Send request'} type="submit" variant="primary" aria-busy={isSending} />
      </form>
      <div role="status">{result && <Outcome result={result} />}</div>
      {result && 'status' in result && <ResponseDetails response={result} />}
    </>
  )
}

type FieldProps = { id: string; label: ReactNode; hint: string; action?: ReactNode; children: ReactNode }

const LabelledField = ({ id, label, hint, action, children }: FieldProps) => (
  <div className="form-row">
    <label htmlFor={id}>
      {label} <span className="hint">{hint}</span>
    </label>
    <div className="with-button">
      {children}
      {action}
    </div>
  </div>
)

type KeyFieldProps = { id: string; scope: string | undefined; isInvalid: boolean }

function KeyField({ id, scope, isInvalid }: KeyFieldProps) {
  const { apiKey, setApiKey, temporaryKey } = usePreferences()
  const [isShown, setShown] = useState(false)
  return (
    <>
      <LabelledField
        id={id}
        label="API key"
        hint="stored in this tab only"
        action={
          <Button
            label={isShown ? 'Hide' : 'Show'}
            size="small"
            aria-pressed={isShown}
            onClick={() => setShown(!isShown)}
          />
        }
      >
        <input
          id={id}
          className="input"
          type={isShown ? 'text' : 'password'}
          placeholder="svc_live_…"
          autoComplete="off"
          spellCheck={false}
          aria-invalid={isInvalid}
          value={apiKey}
          onChange={({ target }) => setApiKey(target.value)}
        />
      </LabelledField>
      {temporaryKey.isOffered && !apiKey.trim() && <TemporaryKeyNote temporaryKey={temporaryKey} scope={scope} />}
    </>
  )
}

/** What happens without a key, or which key the page has made, with a button that revokes it. */
function TemporaryKeyNote({ temporaryKey, scope }: { temporaryKey: TemporaryKey; scope: string | undefined }) {
  const { current, revoke } = temporaryKey
  const [failure, setFailure] = useState('')
  if (!current) {
    return (
      <p className="key-note">
        You are signed in, so you need no key: the page makes a temporary one{' '}
        {scope ? (
          <>
            with the scope <code>{scope}</code>
          </>
        ) : (
          'without scopes'
        )}
        . It is revoked when you close the page, and ends after 15 minutes.
      </p>
    )
  }
  const end = new Date(current.expires_at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
  return (
    <div className="key-note">
      <p>
        Temporary key <code>{current.prefix}…</code>, valid until {end},{' '}
        {current.scopes.length > 0 ? `scopes: ${current.scopes.join(', ')}` : 'without scopes'}
      </p>
      <Button
        label="Revoke"
        size="small"
        aria-label="Revoke the temporary key"
        onClick={() => {
          setFailure('')
          revoke().catch((error: unknown) => setFailure(error instanceof Error ? error.message : String(error)))
        }}
      />
      {failure && <p role="alert">{failure}</p>}
    </div>
  )
}

type ParameterFieldProps = {
  id: string
  schemas: Schemas
  parameter: Parameter
  value: string
  isInvalid: boolean
  onChange: (value: string) => void
}

function ParameterField({ id, schemas, parameter, value, isInvalid, onChange }: ParameterFieldProps) {
  const { name, in: location, required, schema } = parameter
  const { enum: values, type } = resolve(schemas, schema)
  const choices = values ?? (type === 'boolean' ? [true, false] : undefined)
  const shared = { id, className: 'input', value, 'aria-invalid': isInvalid }
  return (
    <LabelledField
      id={id}
      label={<code>{name}</code>}
      hint={required ? 'required' : location}
      action={
        name === 'Idempotency-Key' && <Button label="New key" size="small" onClick={() => onChange(randomKey())} />
      }
    >
      {choices ? (
        <select {...shared} onChange={({ target }) => onChange(target.value)}>
          <option value="">any</option>
          {choices.map((choice) => (
            <option key={String(choice)} value={String(choice)}>
              {String(choice)}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...shared}
          type="text"
          autoComplete="off"
          spellCheck={false}
          placeholder={location === 'path' ? '01980a4e-7c1b-7f3a-9d52-3b6f0e8c4a17' : ''}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </LabelledField>
  )
}

/** `crypto.randomUUID` exists only on https and localhost. */
const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')

type BodyFieldProps = { id: string; value: string; onChange: (text: string) => void; onReset: () => void }

function BodyField({ id, value, onChange, onReset }: BodyFieldProps) {
  const error = jsonError(value)
  return (
    <div className="form-row">
      <div className="label-line">
        <label htmlFor={id}>
          Body <span className="hint">JSON</span>
        </label>
        <Button label="Reset" size="small" onClick={onReset} />
      </div>
      <textarea
        id={id}
        className="input"
        spellCheck={false}
        autoCapitalize="off"
        aria-describedby={`${id}-error`}
        aria-invalid={error !== ''}
        rows={Math.min(18, Math.max(4, value.split('\n').length))}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
      <p className="form-error" id={`${id}-error`}>
        {error}
      </p>
    </div>
  )
}

function jsonError(text: string): string {
  try {
    JSON.parse(text)
    return ''
  } catch (error) {
    return `Invalid JSON: ${error instanceof Error ? error.message : error}`
  }
}

type ApiResponse = { status: number; durationMs: number; bytes: number; headers: Headers; text: string }
type Result = ApiResponse | { failed: string }

async function call({ method, url, headers, body }: SampleRequest, key: string): Promise<Result> {
  const startedAt = performance.now()
  try {
    const response = await fetch(url, {
      method,
      headers: [['Authorization', `Bearer ${key}`], ...headers],
      ...(body === undefined ? {} : { body }),
      credentials: 'omit',
      cache: 'no-store',
      signal: AbortSignal.timeout(timeoutMs),
    })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    const text = isStream ? await readStream(response) : await response.text()
    const durationMs = Math.round(performance.now() - startedAt)
    return { status: response.status, durationMs, bytes: new Blob([text]).size, headers: response.headers, text }
  } catch (error) {
    if (error instanceof DOMException && error.name === 'TimeoutError') {
      return { failed: `No response within ${timeoutMs / 1000} seconds.` }
    }
    // The browser rejects header values outside Latin-1 before it sends anything.
    const isUnsendable = [key, ...headers.map(([, value]) => value)].some((value) => /[^\x20-\xff]/.test(value))
    return {
      failed: isUnsendable
        ? 'The API key or a header contains a character that cannot be sent.'
        : 'No response. Check that the service is running.',
    }
  }
}

/** A key that was revoked in the dashboard, or has expired, is replaced: the service has refused the call before it did anything. */
async function callWithTemporaryKey(
  request: SampleRequest,
  { obtain, forget }: TemporaryKey,
  scope: string | undefined,
): Promise<Result> {
  const key = await obtain(scope)
  const result = await call(request, key)
  if (!('status' in result) || result.status !== 401) return result
  forget(key)
  return call(request, await obtain(scope))
}

async function readStream(response: Response): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  const timer = setTimeout(() => reader?.cancel(), streamMs)
  let text = ''
  for (let chunk = await reader?.read(); chunk && !chunk.done; chunk = await reader?.read()) text += chunk.value
  clearTimeout(timer)
  return text
}

/** The part that screen readers announce: status, duration, size, and the meaning of an error. */
function Outcome({ result }: { result: Result }) {
  if ('failed' in result) return <p className="outcome-text">{result.failed}</p>
  const { status, durationMs, bytes, text } = result
  const error = status < 400 ? undefined : Object(Object(parseJson(text)).error)
  return (
    <>
      <p className="outcome">
        <StatusBadge status={status} /> <span>{durationMs} ms</span> <span>{bytes.toLocaleString('en-US')} bytes</span>
      </p>
      {error && (
        <>
          <p className="outcome-text">
            <strong>{error.message ?? 'The request failed.'}</strong>
          </p>
          <p className="outcome-text">
            <Inline text={errorMeanings[error.code]?.meaning ?? ''} />
          </p>
        </>
      )}
    </>
  )
}

function ResponseDetails({ response: { headers, text } }: { response: ApiResponse }) {
  const value = parseJson(text)
  return (
    <div className="answer">
      <dl className="headers">
        {shownHeaders
          .filter((name) => headers.has(name))
          .map((name) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{headers.get(name)}</dd>
            </div>
          ))}
      </dl>
      <CodeCard
        head="Response"
        label="Response"
        code={value === undefined ? text : prettyJson(value)}
        language={value === undefined ? 'text' : 'json'}
      />
    </div>
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
