/** The numbers of a check or an import: rows by outcome, and the reasons of rejected ones. */

import { capitalize, pathOf } from '../../lib/api.ts'
import { formatNumber } from '../../lib/time.ts'
import { AnchorButton } from '../../ui/link-button.tsx'
import { Table } from '../../ui/table.tsx'
import { importWords } from '../../words/imports.ts'
import type { Import } from './state.tsx'

const { result: text } = importWords

type ImportResult = NonNullable<Import['check']>

const outcomes = ['created', 'changed', 'unchanged', 'rejected'] as const

/** `expected`: the numbers of the check, shown where they differ. */
export const Counts = ({ result, expected = null }: { result: ImportResult; expected?: ImportResult | null }) => (
  <dl className="imports-counts">
    {outcomes.map((name) => (
      <div key={name} data-name={name} data-none={result[name] === 0 ? '' : undefined}>
        <dt className="soft small">{text[name]}</dt>
        <dd>
          <strong className="numeric">{formatNumber(result[name])}</strong>
          {expected && expected[name] !== result[name] && (
            <span className="soft small numeric">{text.expected(expected[name])}</span>
          )}
        </dd>
      </div>
    ))}
  </dl>
)

export const Reasons = ({ result }: { result: ImportResult }) =>
  result.reasons.length > 0 && (
    <Table
      isCompact
      label={text.reasons}
      rows={result.reasons}
      keyOf={({ reason }) => reason}
      columns={[
        { label: text.reasons, cell: ({ reason }) => capitalize(reason) },
        { label: text.count, className: 'end', cellClassName: 'numeric', cell: ({ count }) => formatNumber(count) },
      ]}
    />
  )

export const RejectedLink = ({ id, result }: { id: string; result: ImportResult }) =>
  result.rejected > 0 && (
    <AnchorButton
      label={text.download}
      icon="download"
      href={pathOf('GET /imports/{id}/rejected.csv', { params: { id } })}
      download
    />
  )
