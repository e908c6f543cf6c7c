/** The key figures of a period: each opens what is behind it and says how it differs from the period before. */
import type { ReactNode } from 'react'
import { reportWords } from '../words/reports.ts'
import { Figure } from './figure.tsx'
import type { Opened } from './opened.ts'

export const Tiles = ({ columns, children }: { columns?: 3; children: ReactNode }) => (
  <ul className="reports-tiles" data-columns={columns} aria-label={reportWords.headline}>
    {children}
  </ul>
)

type TileProps = { label: string; hint: string; children: ReactNode; isWide?: boolean }

export const Tile = ({ label, hint, children, isWide = false }: TileProps) => (
  <li className="card reports-tile" data-wide={isWide ? '' : undefined}>
    <span className="reports-tile-label">{label}</span>
    {children}
    <span className="reports-tile-hint soft">{hint}</span>
  </li>
)

type TileFigureProps = {
  /** Of a tile with several figures. */
  name?: string
  value: string
  label: string
  opens: Opened | undefined
  children?: ReactNode
}

export const TileFigure = ({ name, children, ...figure }: TileFigureProps) => (
  <div className="reports-tile-figure">
    {name && <span className="soft small">{name}</span>}
    <strong>
      <Figure {...figure} />
    </strong>
    {children}
  </div>
)
