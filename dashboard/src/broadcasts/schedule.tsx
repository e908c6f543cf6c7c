/** The start of a broadcast: now, or at a date and time in the browser's time zone. */
import { InputField, SegmentedControl } from '../../../ui/controls.tsx'
import { toDatetimeLocal } from '../lib/datetime-local.ts'
import { words } from '../words/words.ts'
import type { Change, Draft } from './use-draft.ts'

const { compose: text } = words.broadcasts

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
const minuteMs = 60_000

export function Schedule({ draft, error, onChange }: { draft: Draft; error: string | undefined; onChange: Change }) {
  return (
    <>
      <div>
        <SegmentedControl
          label={text.starts}
          value={draft.isLater ? 'later' : 'now'}
          options={[
            { value: 'now', label: text.startNow },
            { value: 'later', label: text.startLater },
          ]}
          onChange={(value) => onChange({ isLater: value === 'later', at: draft.at || nextHour() })}
        />
      </div>
      {draft.isLater && (
        <InputField
          label={text.at}
          hint={text.zone(zone)}
          error={error}
          type="datetime-local"
          min={toDatetimeLocal(Date.now())}
          value={draft.at}
          onChange={(event) => onChange({ at: event.target.value })}
        />
      )}
    </>
  )
}

const nextHour = (): string => toDatetimeLocal(Math.ceil((Date.now() + 5 * minuteMs) / (60 * minuteMs)) * 60 * minuteMs)
