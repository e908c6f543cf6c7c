/** Buttons. */
import type { ComponentProps } from 'react'
import { Icon, type IconName } from './icon.tsx'

export type ButtonStyle = { variant?: 'primary' | 'danger' | 'quiet'; size?: 'small'; icon?: IconName }

/** `busy` shows a spinner and disables the button, so that an action is not started twice. */
type ButtonProps = ButtonStyle & ComponentProps<'button'> & { busy?: boolean }

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

/** A button that shows only an icon. `label` is its accessible name and its tooltip. */
export const IconButton = ({
  label,
  variant = 'quiet',
  ...rest
}: Omit<ButtonProps, 'children'> & { label: string; icon: IconName }) => (
  <Button {...rest} variant={variant} data-icon-only="" aria-label={label} title={label} />
)
