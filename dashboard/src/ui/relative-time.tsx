/** A relative time ("5 min ago") that stays current. Its tooltip has the full date and time. */

import { useNow } from '../lib/hooks.ts'
import { formatAgo, formatTime } from '../lib/time.ts'

export function RelativeTime({ at }: { at: string }) {
  const now = useNow(30_000)
  return (
    <time dateTime={at} title={formatTime(at)} className="nowrap">
      {formatAgo(at, now)}
    </time>
  )
}
