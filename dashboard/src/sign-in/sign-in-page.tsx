/** What sign-in, setup and invitation share: the layout, the field for a new password, the start of the session. */
import './sign-in-page.css'
import { type ComponentProps, type ReactNode, useLayoutEffect, useRef } from 'react'
import { Field } from '../../../ui/controls.tsx'
import { queryClient } from '../lib/api.ts'
import type { SessionView } from '../lib/session.tsx'
import { useTitle } from '../lib/title.ts'
import { QueryState } from '../ui/page.tsx'
import { PasswordInput } from '../ui/password-input.tsx'
import { words } from '../words/words.ts'

type SignInPageProps = { title: string; lead?: ReactNode; children: ReactNode; foot?: ReactNode }

/** Focuses the first input, or the first choice. */
export function SignInPage({ title, lead, children, foot }: SignInPageProps) {
  const card = useRef<HTMLDivElement>(null)
  useTitle(title)
  // In a layout effect, so that the first letters are not lost.
  useLayoutEffect(() => {
    const first = 'input:not([readonly], [type="hidden"]), .sign-in-choices button'
    card.current?.querySelector<HTMLElement>(first)?.focus()
  }, [])
  return (
    <main className="sign-in">
      <div className="stack sign-in-card" ref={card}>
        <img src="/icon.svg" alt="" width="44" height="44" />
        <h1>{title}</h1>
        {lead && <p className="soft">{lead}</p>}
        {children}
      </div>
      {foot && <p className="sign-in-foot soft small">{foot}</p>}
    </main>
  )
}

type LoadingProps = ComponentProps<typeof QueryState> & { title: string }

/** The page while its query loads, or with the error of the query. */
export const LoadingPage = ({ title, ...state }: LoadingProps) => (
  <SignInPage title={title}>
    <QueryState {...state} />
  </SignInPage>
)

/** The field in which a person chooses a password. */
export const NewPasswordField = (props: Omit<ComponentProps<typeof Field>, 'hint' | 'children'>) => (
  <Field {...props} hint={words.signIn.passwordHint}>
    {(wiring) => <PasswordInput {...wiring} autoComplete="new-password" required minLength={8} />}
  </Field>
)

/** Starts a session in the browser. Clears the cache, which can hold data of another member. */
export function startSession(session: SessionView): void {
  queryClient.clear()
  queryClient.setQueryData(['GET /session', {}], session)
}
