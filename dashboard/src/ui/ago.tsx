/** A relative time ("5 min ago") that stays current. Its tooltip has the full date and time. */

import { formatAgo, formatTime } from '../lib/time.ts'
import { useNow } from '../lib/use.ts'

export function Ago({ at }: { at: string }) {
  const now = useNow(30_000)
  return (
    <time dateTime={at} title={formatTime(at)} className="nowrap">
      {formatAgo(at, now)}
    </time>
  )
}
