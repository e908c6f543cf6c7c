/** The frame of the pages in front of the door. Whoever opens one can type at once. */
import './door.css'
import { type ReactNode, useEffect, useRef } from 'react'
import { useTitle } from '../ui/page.tsx'

type DoorProps = { title: string; lead?: ReactNode; children: ReactNode; foot?: ReactNode }

export function Door({ title, lead, children, foot }: DoorProps) {
  const card = useRef<HTMLDivElement>(null)
  useTitle(title)
  useEffect(() => {
    card.current?.querySelector<HTMLElement>('input:not([readonly], [type="hidden"])')?.focus()
  }, [])
  return (
    <main className="door">
      <div className="door-card" ref={card}>
        <img src="/icon.svg" alt="" width="44" height="44" />
        <h1>{title}</h1>
        {lead && <p className="soft">{lead}</p>}
        {children}
      </div>
      {foot && <p className="door-foot soft small">{foot}</p>}
    </main>
  )
}
