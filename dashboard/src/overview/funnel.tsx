/** What became of the messages sent in the range: each bar is a part of the one above it; those that failed stand apart. */

import { Card } from '../../../ui/card.tsx'
import { formatNumber, formatShare } from '../lib/time.ts'
import { words } from '../words/words.ts'
import type { OverviewView } from './scale.ts'

const { funnel: said } = words.overview

export function Funnel({ funnel: { sent, delivered, read, failed } }: { funnel: OverviewView['funnel'] }) {
  const rows = [
    { name: 'sent', value: sent, whole: sent },
    { name: 'delivered', value: delivered, whole: sent },
    { name: 'read', value: read, whole: sent },
    { name: 'failed', value: failed, whole: sent + failed },
  ] as const
  return (
    <Card title={said.title}>
      {sent + failed === 0 ? (
        <p className="soft">{said.none}</p>
      ) : (
        <ul className="overview-funnel">
          {rows.map(({ name, value, whole }) => (
            <li key={name} data-name={name}>
              <div className="row spread">
                <span>
                  <strong>{said[name]}</strong> <small>{said.hints[name]}</small>
                </span>
                <span className="numeric nowrap">
                  {formatNumber(value)} <small>{formatShare(value, whole)}</small>
                </span>
              </div>
              <div className="overview-bar" aria-hidden="true">
                <span style={{ width: `${whole > 0 ? (value / whole) * 100 : 0}%` }} />
              </div>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}
