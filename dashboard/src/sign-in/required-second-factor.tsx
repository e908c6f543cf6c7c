/** Shown instead of all pages while the workspace requires two-step sign-in and the member has not set it up. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { Button } from '../../../ui/controls.tsx'
import { ErrorNote } from '../../../ui/display.tsx'
import { describeError, invalidate, useChange } from '../lib/api.ts'
import { forgetMember } from '../lib/forget-member.ts'
import type { SessionView } from '../lib/session.tsx'
import { ConfirmSetup, RecoveryCodes } from '../ui/second-factor.tsx'
import { words } from '../words/words.ts'
import { SignInPage } from './sign-in-page.tsx'

const { secondFactor: text } = words

export default function RequiredSecondFactor({ session }: { session: SessionView }) {
  const [, navigate] = useLocation()
  const [codes, setCodes] = useState<string[]>()
  const start = useChange('POST /profile/second-factor')
  const leave = useChange('DELETE /session', {
    onDone: () => {
      forgetMember()
      navigate('/sign-in')
    },
  })
  const signOut = <Button label={text.signOut} busy={leave.isPending} onClick={() => leave.mutate({})} />
  return (
    <SignInPage
      title={codes ? text.recoveryCodes : text.title}
      lead={codes ? undefined : text.dueLead(session.workspace.name)}
    >
      {codes ? (
        <RecoveryCodes codes={codes} onDone={() => void invalidate({ queryKey: ['GET /session'] })} />
      ) : start.data ? (
        <ConfirmSetup setup={start.data} onConfirmed={setCodes}>
          {signOut}
        </ConfirmSetup>
      ) : (
        <>
          {start.error && <ErrorNote>{describeError(start.error)}</ErrorNote>}
          <Button
            label={text.begin}
            variant="primary"
            busy={start.isPending}
            onClick={() => start.mutate({ body: {} })}
          />
          {signOut}
        </>
      )}
    </SignInPage>
  )
}
