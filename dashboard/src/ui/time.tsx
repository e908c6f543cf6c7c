/** Times whose tooltip has the full date and time. */
import { useNow } from '../lib/hooks.ts'
import { formatAgo, formatTime } from '../lib/time.ts'
import { words } from '../words/words.ts'

/** A relative time ("5 min ago") that stays current. */
export function RelativeTime({ at }: { at: string }) {
  const now = useNow(30_000)
  return (
    <time dateTime={at} title={formatTime(at)} className="nowrap">
      {formatAgo(at, now)}
    </time>
  )
}

/** The same for a time that may be missing. */
export const LastTime = ({ at, none = words.common.never }: { at: string | null; none?: string }) =>
  at ? <RelativeTime at={at} /> : <span className="soft">{none}</span>

export const Time = ({ at, format }: { at: string; format: (at: string) => string }) => (
  <time dateTime={at} title={formatTime(at)}>
    {format(at)}
  </time>
)
