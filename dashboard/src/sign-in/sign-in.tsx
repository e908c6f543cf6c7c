/**
 * Sign-in, with further steps for members of several workspaces and for members with two-step sign-in. It offers single sign-on if the
 * service has it, and in a demo the demo account. After too many failed attempts the button is disabled until the limit ends.
 */

import { useState } from 'react'
import { Link, Redirect, useLocation, useSearch } from 'wouter'
import { Button, Field, Form, InputField, SubmitButton } from '../../../ui/controls.tsx'
import { ErrorNote, Note } from '../../../ui/display.tsx'
import { CallError, describeError, useCall, useChange } from '../lib/api.ts'
import { useFormFields } from '../lib/field-errors.ts'
import { useNow } from '../lib/hooks.ts'
import { formatSpan } from '../lib/time.ts'
import { CodeField } from '../ui/code-field.tsx'
import { AnchorButton } from '../ui/link-button.tsx'
import { PasswordInput } from '../ui/password-input.tsx'
import { words } from '../words/words.ts'
import { ChooseAfterProvider, ChooseWorkspace } from './choose-workspace.tsx'
import { SignInPage, startSession } from './sign-in-page.tsx'

const { signIn } = words

export default function SignIn() {
  const [, navigate] = useLocation()
  const search = new URLSearchParams(useSearch())
  const returnPath = search.get('to') ?? ''
  const { values, bind } = useFormFields({ email: '', password: '' }, null)
  const [code, setCode] = useState('')
  const [isCodeStep, setCodeStep] = useState(false)
  const [workspaces, setWorkspaces] = useState<{ id: string; name: string }[]>([])
  const [workspaceId, setWorkspaceId] = useState<string>()
  const [retryAt, setRetryAt] = useState(0)
  const setup = useCall('GET /setup', {})
  const demo = setup.data?.demo
  const provider = setup.data?.single_sign_on
  const hasAlternative = Boolean(provider || demo?.password)
  const enter = useChange('POST /session', {
    onDone: (session) => {
      startSession(session)
      // Redirects only to a path of the dashboard.
      navigate(/^\/[a-z]/.test(returnPath) ? returnPath : '/inbox', { replace: true })
    },
    onFailed: (error) => {
      setRetryAt(retryTimeOf(error))
      if (!(error instanceof CallError)) return
      if (error.details.second_factor) setCodeStep(true)
      if (error.details.workspaces) setWorkspaces(error.details.workspaces)
    },
  })
  const refusal = provider && !enter.error ? describeRefusal(search.get('error'), provider) : undefined
  const waitMs = retryAt - useNow()
  if (setup.data?.needed) return <Redirect to="/setup" replace />
  if (search.has('choose')) return <ChooseAfterProvider />

  const send = (workspace_id = workspaceId) =>
    enter.mutate({
      body: {
        ...values,
        ...(workspace_id ? { workspace_id } : { choose_workspace: true }),
        ...(isCodeStep ? { second_factor_code: code } : {}),
      },
    })
  const submit = () => send()
  /** To the first step. */
  const back = () => {
    setCodeStep(false)
    setCode('')
    setWorkspaces([])
    setWorkspaceId(undefined)
    setRetryAt(0)
    enter.reset()
  }
  const tooMany = retryAt > 0 && (
    <Note tone="amber" icon="clock">
      <p role="alert">{signIn.tooMany}</p>
      <p>{waitMs > 0 ? signIn.againIn(formatSpan(waitMs)) : signIn.againNow}</p>
    </Note>
  )
  const error = !enter.error ? undefined : retryAt === 0 ? describeError(enter.error) : undefined
  if (isCodeStep) {
    return (
      // A new key mounts the page again, which focuses the input.
      <SignInPage key="code" title={words.secondFactor.title} lead={signIn.codeLead}>
        <Form noValidate onSubmit={submit}>
          <CodeField
            value={code}
            onChange={setCode}
            hint={words.secondFactor.codeHint}
            error={enter.variables?.body.second_factor_code ? error : undefined}
          />
          {tooMany}
          <SubmitButton label={signIn.submit} busy={enter.isPending} disabled={waitMs > 0 || !code.trim()} />
          <Button label={signIn.back} disabled={enter.isPending} onClick={back} />
        </Form>
      </SignInPage>
    )
  }
  if (workspaces.length > 0) {
    const choose = (id: string) => {
      setWorkspaceId(id)
      send(id)
    }
    return (
      <ChooseWorkspace
        workspaces={workspaces}
        isBusy={enter.isPending}
        error={workspaceId ? enter.error : null}
        onChoose={choose}
        onBack={back}
      />
    )
  }
  return (
    <SignInPage
      title={signIn.title}
      lead={signIn.lead}
      foot={setup.data?.sends_email ? <Link href="/forgot-password">{signIn.forgot}</Link> : signIn.forgotten}
    >
      {demo && (
        <Note icon="bolt">
          <p>{demo.password ? signIn.demo : `${signIn.demo} ${signIn.demoEmail(demo.email)}`}</p>
        </Note>
      )}
      {demo?.password && (
        <Button
          label={signIn.demoEnter}
          variant="primary"
          icon="play"
          busy={enter.isPending}
          onClick={() => enter.mutate({ body: { email: demo.email, password: demo.password ?? '' } })}
        />
      )}
      {refusal && <ErrorNote>{refusal}</ErrorNote>}
      {provider && (
        // The service answers with a redirect to the provider, so this is no link of the router.
        <AnchorButton
          label={signIn.continueWith(provider)}
          variant={demo?.password ? undefined : 'primary'}
          href={`/app/api/oidc/start?to=${encodeURIComponent(returnPath)}`}
        />
      )}
      {hasAlternative && <p className="line sign-in-or soft small">{signIn.or}</p>}
      <Form noValidate onSubmit={submit}>
        <InputField
          label={signIn.email}
          type="email"
          name="email"
          autoComplete="username"
          required
          {...bind('email')}
        />
        <Field label={signIn.password} {...bind('password')} error={error}>
          {(wiring) => <PasswordInput {...wiring} name="password" autoComplete="current-password" required />}
        </Field>
        {tooMany}
        <Button
          label={signIn.submit}
          // A new key mounts it again, so that it does not fade from one style to the other.
          key={String(hasAlternative)}
          type="submit"
          variant={hasAlternative ? undefined : 'primary'}
          busy={enter.isPending}
          disabled={waitMs > 0}
        />
      </Form>
    </SignInPage>
  )
}

/** The sentence for the code with which the service returns from single sign-on. */
function describeRefusal(code: string | null, provider: string): string | undefined {
  const { singleSignOnErrors: sentences } = signIn
  if (!code) return undefined
  return Object.entries(sentences).find(([known]) => known === code)?.[1](provider) ?? sentences.failed(provider)
}

/** The time of the next allowed attempt, from the seconds in the service's message. 0 for other errors. */
function retryTimeOf(error: unknown): number {
  if (!(error instanceof CallError) || error.code !== 'rate_limited') return 0
  const [, seconds = '60'] = /(\d+) s\b/.exec(error.message) ?? []
  return Date.now() + Number(seconds) * 1_000
}
