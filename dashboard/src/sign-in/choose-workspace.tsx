/** A person who is a member of several workspaces chooses the one to open. */
import { useLocation } from 'wouter'
import { Button } from '../../../ui/controls.tsx'
import { ErrorNote, Skeleton } from '../../../ui/display.tsx'
import { CallError, describeError, queryClient, useCall, useChange } from '../lib/api.ts'
import { words } from '../words/words.ts'
import { SignInPage } from './sign-in-page.tsx'

const { signIn } = words

type Props = {
  workspaces: readonly { id: string; name: string }[]
  isBusy: boolean
  error: Error | null
  onChoose: (workspaceId: string) => void
  onBack: () => void
}

export function ChooseWorkspace({ workspaces, isBusy, error, onChoose, onBack }: Props) {
  return (
    <SignInPage title={signIn.workspaces} lead={signIn.workspacesLead}>
      {error && <ErrorNote>{describeError(error)}</ErrorNote>}
      <ul className="sign-in-choices">
        {workspaces.map(({ id, name }) => (
          <li key={id}>
            <Button label={name} disabled={isBusy} onClick={() => onChoose(id)} />
          </li>
        ))}
      </ul>
      <Button label={signIn.back} variant="quiet" disabled={isBusy} onClick={onBack} />
    </SignInPage>
  )
}

/** The choice after single sign-on: the service knows the person from a cookie. */
export function ChooseAfterProvider() {
  const [, navigate] = useLocation()
  const refuse = (error: unknown) => {
    const refusal = error instanceof CallError ? (error.details.refusal ?? 'expired') : undefined
    if (refusal) navigate(`/sign-in?error=${refusal}`, { replace: true })
  }
  const choices = useCall('GET /oidc/workspaces', {}, { isKept: false })
  const enter = useChange('POST /oidc/session', {
    onDone: ({ to }) => {
      // The cache can hold data of another member.
      queryClient.clear()
      navigate(to, { replace: true })
    },
    onFailed: refuse,
  })
  const back = () => navigate('/sign-in', { replace: true })
  if (!choices.data) {
    return (
      <SignInPage title={signIn.workspaces}>
        {choices.error ? (
          <>
            <ErrorNote>
              {choices.error instanceof CallError ? signIn.singleSignOnErrors.expired() : describeError(choices.error)}
            </ErrorNote>
            <Button label={signIn.back} onClick={back} />
          </>
        ) : (
          <Skeleton lines={3} />
        )}
      </SignInPage>
    )
  }
  return (
    <ChooseWorkspace
      workspaces={choices.data}
      isBusy={enter.isPending}
      error={enter.error}
      onChoose={(workspace_id) => enter.mutate({ body: { workspace_id } })}
      onBack={back}
    />
  )
}
