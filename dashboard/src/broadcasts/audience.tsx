/** The audience of a new broadcast: a segment, or phone numbers that are pasted or uploaded. */
import { type ChangeEvent, useEffect, useRef, useState } from 'react'
import { Button, Field, SegmentedControl, Select, TextArea } from '../../../ui/controls.tsx'
import { Note, Skeleton } from '../../../ui/display.tsx'
import { useCall, usePages } from '../lib/api.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { ErrorState } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { maxFileBytes, maxRecipients, type RecipientList } from './parse-recipients.ts'
import type { Change, Draft } from './use-draft.ts'

const { compose: text } = words.broadcasts

type AudienceProps = { draft: Draft; numbers: RecipientList; error: string | undefined; onChange: Change }

export function Audience({ draft, numbers, error, onChange }: AudienceProps) {
  return (
    <>
      <div>
        <SegmentedControl
          label={text.source}
          value={draft.source}
          options={[
            { value: 'segment', label: text.sources.segment },
            { value: 'numbers', label: text.sources.numbers },
          ]}
          onChange={(source) => onChange({ source })}
        />
      </div>
      {draft.source === 'segment' ? (
        <SegmentSelect draft={draft} error={error} onChange={onChange} />
      ) : (
        <NumberInput draft={draft} numbers={numbers} error={error} onChange={onChange} />
      )}
    </>
  )
}

function SegmentSelect({ draft: { segment_id: id }, error, onChange }: Omit<AudienceProps, 'numbers'>) {
  const pages = usePages('GET /segments', { query: { limit: 100 } })
  const segment = useCall('GET /segments/{id}', { params: { id } }, { enabled: id !== '' })
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = pages
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage])
  if (pages.error && !pages.data) return <ErrorState error={pages.error} onRetry={() => void pages.refetch()} />
  if (!pages.data) return <Skeleton lines={2} />
  if (pages.items.length === 0) {
    return (
      <div className="row">
        <p className="soft grow">{text.noSegments}</p>
        <LinkButton label={text.makeSegment} href="/segments" />
      </div>
    )
  }
  const count = segment.data && text.members(segment.data.member_count)
  return (
    <Field label={text.segment} hint={id && (count ?? text.counting)} error={error}>
      {(wiring) => (
        <Select {...wiring} value={id} onChange={(event) => onChange({ segment_id: event.target.value })}>
          <option value="">{text.chooseSegment}</option>
          {pages.items.map((each) => (
            <option key={each.id} value={each.id}>
              {each.name}
            </option>
          ))}
        </Select>
      )}
    </Field>
  )
}

function NumberInput({ draft, numbers, error, onChange }: AudienceProps) {
  const { recipients, invalid, duplicateCount } = numbers
  const [uploadError, setUploadError] = useState<string>()
  const isTooMany = recipients.length > maxRecipients
  return (
    <>
      <Field
        label={text.numbers}
        hint={text.numbersHint}
        error={isTooMany ? text.tooMany(recipients.length) : (uploadError ?? error)}
      >
        {(wiring) => (
          <TextArea
            {...wiring}
            rows={6}
            spellCheck={false}
            placeholder={text.numbersPlaceholder}
            value={draft.numbers}
            onChange={(event) => {
              setUploadError(undefined)
              onChange({ numbers: event.target.value })
            }}
          />
        )}
      </Field>
      <div className="row spread">
        <Upload
          onRead={(numbers) => {
            setUploadError(undefined)
            onChange({ numbers })
          }}
          onTooLarge={() => setUploadError(text.tooLarge)}
        />
        <span className="soft small" role="status">
          {recipients.length > 0 && text.read(recipients.length)}
          {duplicateCount > 0 && ` · ${text.duplicates(duplicateCount)}`}
        </span>
      </div>
      {invalid.length > 0 && <InvalidLines invalid={invalid} />}
    </>
  )
}

function Upload({ onRead, onTooLarge }: { onRead: (text: string) => void; onTooLarge: () => void }) {
  const input = useRef<HTMLInputElement>(null)
  const read = async (event: ChangeEvent<HTMLInputElement>) => {
    const file = event.target.files?.[0]
    if (!file) return
    if (file.size > maxFileBytes) onTooLarge()
    else onRead(await file.text())
    if (input.current) input.current.value = ''
  }
  return (
    <>
      <Button label={text.upload} size="small" icon="upload" onClick={() => input.current?.click()} />
      <input
        ref={input}
        type="file"
        accept=".csv,.txt,text/csv,text/plain"
        aria-label={text.upload}
        hidden
        onChange={(event) => void read(event)}
      />
    </>
  )
}

const maxShown = 5

function InvalidLines({ invalid }: { invalid: RecipientList['invalid'] }) {
  return (
    <Note tone="amber" icon="alert">
      <p>{text.invalidLines(invalid.length)}</p>
      <ul className="broadcasts-lines">
        {invalid.slice(0, maxShown).map(({ line, text: content }) => (
          <li key={line}>{text.invalidLine(line, content)}</li>
        ))}
        {invalid.length > maxShown && <li>{text.andMore(invalid.length - maxShown)}</li>}
      </ul>
    </Note>
  )
}
