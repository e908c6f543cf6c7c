/** The result of an import or of its dry run: counts that add up to the lines of the file, and the skipped lines. */

import { Note } from '../../../ui/display.tsx'
import { formatNumber } from '../lib/time.ts'
import { Table } from '../ui/table.tsx'
import { words } from '../words/words.ts'
import type { ImportReport } from './import-request.ts'

const texts = words.contacts.importing

export function ImportResult({ report }: { report: ImportReport }) {
  const { failures, failed, ignored_columns: ignored } = report
  const counts = ['total', 'created', 'updated', 'unchanged', 'failed'] as const
  return (
    <>
      <dl className="contacts-counts">
        {counts.map((name) => (
          <div key={name} data-name={name}>
            <dt className="soft small">{texts[name]}</dt>
            <dd className="numeric">{formatNumber(report[name])}</dd>
          </div>
        ))}
      </dl>
      {ignored.length > 0 && (
        <Note tone="amber" icon="info">
          {texts.ignored(ignored.join(', '))}
        </Note>
      )}
      {failures.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
        <section className="contacts-failures" aria-label={texts.failed} tabIndex={0}>
          <Table
            rows={failures}
            keyOf={({ line }) => line}
            columns={[
              {
                label: texts.line,
                cellClassName: 'numeric',
                cellProps: () => ({ 'data-label': texts.line }),
                cell: ({ line }) => line,
              },
              { label: texts.reason, cell: ({ reason }) => reason },
              { label: texts.text, cellClassName: 'mono', cell: ({ text }) => text },
            ]}
          />
          {failed > failures.length && <p className="soft small">{texts.first(failures.length)}</p>}
        </section>
      )}
    </>
  )
}
