/** A titled section on a surface of its own. `actions` are at the right of the title; `flush` removes the padding. */
import type { ReactNode } from 'react'

export function Card({
  title,
  actions,
  children,
  flush = false,
}: {
  title?: ReactNode
  actions?: ReactNode
  children: ReactNode
  flush?: boolean
}) {
  return (
    <section className="card">
      {(title || actions) && (
        <div className="card-head">
          <h2>{title}</h2>
          {actions && <div className="row">{actions}</div>}
        </div>
      )}
      {flush ? children : <div className="card-body">{children}</div>}
    </section>
  )
}
