/** Delivery of the messages sent in the period. Each bar is a share of the sent messages; failed is a share of all attempts. */

import { Card } from '../../../ui/display.tsx'
import { formatNumber, formatShare } from '../lib/time.ts'
import { words } from '../words/words.ts'
import type { OverviewView } from './metrics.ts'

const { funnel: labels } = words.overview

export function Funnel({ funnel: { sent, delivered, read, failed } }: { funnel: OverviewView['funnel'] }) {
  const rows = [
    { name: 'sent', value: sent, whole: sent },
    { name: 'delivered', value: delivered, whole: sent },
    { name: 'read', value: read, whole: sent },
    { name: 'failed', value: failed, whole: sent + failed },
  ] as const
  return (
    <Card title={labels.title}>
      {sent + failed === 0 ? (
        <p className="soft">{labels.none}</p>
      ) : (
        <ul className="overview-funnel">
          {rows.map(({ name, value, whole }) => (
            <li key={name} data-name={name}>
              <div className="row spread">
                <span>
                  <strong>{labels[name]}</strong> <small>{labels.hints[name]}</small>
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
