/** A link that looks like a button. */
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { ButtonStyle } from '../../../ui/controls.tsx'
import { Icon } from '../../../ui/icon.tsx'

type LinkButtonProps = ButtonStyle & { href: string; children: ReactNode; title?: string }

export function LinkButton({ variant, size, icon, href, children, ...rest }: LinkButtonProps) {
  return (
    <Link {...rest} href={href} className="button" data-variant={variant} data-size={size}>
      {icon && <Icon name={icon} />}
      {children}
    </Link>
  )
}
