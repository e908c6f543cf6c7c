/** Links that look like buttons. */
import type { ComponentProps, ReactNode } from 'react'
import { Link } from 'wouter'
import type { ButtonStyle } from '../../../ui/controls.tsx'
import { Icon } from '../../../ui/icon.tsx'

type LinkProps = ButtonStyle & { label: ReactNode; href: string }
type LinkButtonProps = LinkProps & { title?: string; 'aria-label'?: string }

export const LinkButton = ({ variant, size, icon, label, ...rest }: LinkButtonProps) => (
  <Link {...rest} className="button" data-variant={variant} data-size={size}>
    {icon && <Icon name={icon} />}
    {label}
  </Link>
)

/** To a file or a site outside the dashboard. */
export const AnchorButton = ({ variant, size, icon, label, ...rest }: LinkProps & ComponentProps<'a'>) => (
  <a {...rest} className="button" data-variant={variant} data-size={size}>
    {icon && <Icon name={icon} />}
    {label}
  </a>
)
