/** The HTTP status of a request. */
import { Badge, type Tone } from '../../../ui/display.tsx'
import { words } from '../words/words.ts'

export function StatusBadge({ status }: { status: number | null }) {
  return <Badge tone={toneOf(status)}>{status ?? words.developers.requests.closed}</Badge>
}

function toneOf(status: number | null): Tone {
  if (status === null || (status >= 400 && status < 500)) return 'amber'
  return status >= 500 ? 'red' : 'green'
}
