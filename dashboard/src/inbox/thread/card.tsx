/** A card inside a message: icon, title and lines of text. */
import type { ReactNode } from 'react'
import { Icon, type IconName } from '../../../../ui/icon.tsx'

type CardProps = {
  icon: IconName
  title: string
  lines?: readonly (string | undefined)[]
  children?: ReactNode
}

export const Card = ({ icon, title, lines = [], children }: CardProps) => (
  <div className="line inbox-card">
    <span className="mark inbox-card-mark">
      <Icon name={icon} />
    </span>
    <div>
      <strong>{title}</strong>
      {lines.map((line) => line && <span key={line}>{line}</span>)}
      {children}
    </div>
  </div>
)
