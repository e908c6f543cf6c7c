/** Buttons, and links that look like one. */
import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { Link } from 'wouter'
import { Icon, type IconName } from './icon.tsx'

type Look = { variant?: 'primary' | 'danger' | 'quiet'; size?: 'small'; icon?: IconName }

type ButtonProps = Look & ButtonHTMLAttributes<HTMLButtonElement> & { busy?: boolean }

/** `busy`: under way, so that nobody presses it twice. */
export function Button({
  variant,
  size,
  icon,
  busy = false,
  disabled,
  children,
  type = 'button',
  ...rest
}: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      className="button"
      data-variant={variant}
      data-size={size}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
    >
      {busy ? <span className="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** A button that shows only an icon: `label` is what it is called and what its tooltip says. */
export function IconButton({
  label,
  icon,
  size,
  variant = 'quiet',
  busy,
  ...rest
}: ButtonProps & { label: string; icon: IconName }) {
  return (
    <button
      {...rest}
      type="button"
      className="button"
      data-variant={variant}
      data-size={size}
      data-icon-only=""
      aria-label={label}
      title={label}
      disabled={rest.disabled || busy}
    >
      {busy ? <span className="spinner" aria-hidden="true" /> : <Icon name={icon} />}
    </button>
  )
}

export function LinkButton({
  variant,
  size,
  icon,
  href,
  children,
  ...rest
}: Look & { href: string; children: ReactNode; title?: string }) {
  return (
    <Link {...rest} href={href} className="button" data-variant={variant} data-size={size}>
      {icon && <Icon name={icon} />}
      {children}
    </Link>
  )
}
