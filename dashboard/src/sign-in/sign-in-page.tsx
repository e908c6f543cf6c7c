/** The layout of sign-in, setup and invitation. Focuses the first input, or the first choice. */
import './sign-in-page.css'
import { type ReactNode, useLayoutEffect, useRef } from 'react'
import { useTitle } from '../lib/title.ts'

type SignInPageProps = { title: string; lead?: ReactNode; children: ReactNode; foot?: ReactNode }

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
      <div className="sign-in-card" ref={card}>
        <img src="/icon.svg" alt="" width="44" height="44" />
        <h1>{title}</h1>
        {lead && <p className="soft">{lead}</p>}
        {children}
      </div>
      {foot && <p className="sign-in-foot soft small">{foot}</p>}
    </main>
  )
}
