/** Labeled values, and the headers of a request or response. Empty values are omitted. */
import { Fragment, type ReactNode } from 'react'
import { CopyButton } from '../../../ui/display.tsx'

type FactsProps = { facts: Record<string, ReactNode>; label?: string; className?: string }

export const Facts = ({ facts, label, className = '' }: FactsProps) => (
  <dl className={`facts ${className}`.trim()} aria-label={label}>
    {Object.entries(facts)
      .filter(([, value]) => value || value === 0)
      .map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
  </dl>
)

/** The headers of a request or response, folded. */
export const Headers = ({ label, headers }: { label: string; headers: readonly { name: string; value: string }[] }) => (
  <details className="hooks-fold">
    <summary>{label}</summary>
    <dl className="facts hooks-headers small">
      {headers.map(({ name, value }) => (
        <Fragment key={name}>
          <dt className="mono">{name}</dt>
          <dd className="mono">{value}</dd>
        </Fragment>
      ))}
    </dl>
  </details>
)

/** An identifier with a button that copies it. */
export const CopyableCode = ({ text, label }: { text: string; label: string }) => (
  <div className="row">
    <code>{text}</code>
    <CopyButton text={text} size="small" label={label} />
  </div>
)
