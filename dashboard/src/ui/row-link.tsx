/** The link of a table's row that opens its dialog. A parameter of the URL names the row. */
import type { ReactNode } from 'react'
import { Link, useLocation, useSearch } from 'wouter'

type Props = { param: string; id: string; className?: string; title?: string; children: ReactNode }

export function RowLink({ param, id, className = '', children, ...props }: Props) {
  const [path] = useLocation()
  const search = new URLSearchParams(useSearch())
  search.set(param, id)
  return (
    <Link {...props} href={`${path}?${search}`} className={`row-link mono ${className}`.trim()}>
      {children}
    </Link>
  )
}
