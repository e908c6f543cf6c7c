/** The audience of a new broadcast: all contacts or segments, without others, or phone numbers that are pasted or uploaded. */

import { useState } from 'react'
import { Button, FilePicker, SegmentedControl, TextAreaField } from '../../../ui/controls.tsx'
import { Note } from '../../../ui/display.tsx'
import { useCall } from '../lib/api.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { broadcastWords } from '../words/broadcasts.ts'
import { maxFileBytes, maxRecipients, type RecipientList } from './parse-recipients.ts'
import { SegmentPicker, useSegments } from './segment-picker.tsx'
import type { Change, Draft } from './use-draft.ts'

const { compose: text } = broadcastWords

type AudienceProps = { draft: Draft; numbers: RecipientList; error: string | undefined; onChange: Change }

export function Audience({ draft, numbers, error, onChange }: AudienceProps) {
  return (
    <>
      <div>
        <SegmentedControl
          label={text.source}
          value={draft.source}
          options={[
            { value: 'all', label: text.sources.all },
            { value: 'segments', label: text.sources.segments },
            { value: 'numbers', label: text.sources.numbers },
          ]}
          onChange={(source) => onChange({ source })}
        />
      </div>
      {draft.source === 'all' && <p className="soft">{text.allContacts}</p>}
      {draft.source === 'segments' && <SegmentSelect draft={draft} error={error} onChange={onChange} />}
      {draft.source === 'numbers' ? (
        <NumberInput draft={draft} numbers={numbers} error={error} onChange={onChange} />
      ) : (
        <SegmentPicker
          label={text.exclude}
          placeholder={text.chooseExcluded}
          hint={text.excludeHint}
          error={draft.source === 'all' ? error : undefined}
          ids={draft.excluded_segment_ids}
          without={draft.source === 'segments' ? draft.segment_ids : []}
          onChange={(excluded_segment_ids) => onChange({ excluded_segment_ids })}
        />
      )}
    </>
  )
}

/** The audience in words: "Wholesale, Retail without Staff". */
export function useAudienceText({ source, segment_ids, excluded_segment_ids }: Draft): string {
  const { items } = useSegments()
  const namesOf = (ids: readonly string[]) =>
    ids.map((id) => items.find((segment) => segment.id === id)?.name ?? text.segment).join(', ')
  if (source === 'numbers') return text.sources.numbers
  const included = source === 'all' ? text.sources.all : namesOf(segment_ids)
  return excluded_segment_ids.length > 0 ? `${included} ${text.without(namesOf(excluded_segment_ids))}` : included
}

function SegmentSelect({ draft, error, onChange }: Omit<AudienceProps, 'numbers'>) {
  const { segment_ids: ids, excluded_segment_ids: excluded } = draft
  const [id = ''] = ids
  // With several segments the review has the number.
  const isOne = ids.length === 1 && excluded.length === 0
  const segment = useCall('GET /segments/{id}', { params: { id } }, { enabled: isOne })
  const pages = useSegments()
  if (pages.data && pages.items.length === 0) {
    return (
      <div className="row">
        <p className="soft grow">{text.noSegments}</p>
        <LinkButton label={text.makeSegment} href="/segments" />
      </div>
    )
  }
  const count = segment.data && text.members(segment.data.member_count)
  return (
    <SegmentPicker
      label={text.segment}
      placeholder={ids.length === 0 ? text.chooseSegment : text.addSegment}
      hint={isOne ? (count ?? text.counting) : undefined}
      error={error}
      ids={ids}
      without={excluded}
      onChange={(segment_ids) => onChange({ segment_ids })}
    />
  )
}

function NumberInput({ draft, numbers, error, onChange }: AudienceProps) {
  const { recipients, invalid, duplicateCount } = numbers
  const [uploadError, setUploadError] = useState<string>()
  const write = (numbers: string) => {
    setUploadError(undefined)
    onChange({ numbers })
  }
  const isTooMany = recipients.length > maxRecipients
  return (
    <>
      <TextAreaField
        label={text.numbers}
        hint={text.numbersHint}
        error={isTooMany ? text.tooMany(recipients.length) : (uploadError ?? error)}
        rows={6}
        spellCheck={false}
        placeholder={text.numbersPlaceholder}
        value={draft.numbers}
        onChange={(event) => write(event.target.value)}
      />
      <div className="row spread">
        <Upload onRead={write} onTooLarge={() => setUploadError(text.tooLarge)} />
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
  const read = async (file: File | undefined) => {
    if (!file) return
    if (file.size > maxFileBytes) onTooLarge()
    else onRead(await file.text())
  }
  return (
    <FilePicker
      label={text.upload}
      button={(open) => <Button label={text.upload} size="small" icon="upload" onClick={open} />}
      accept=".csv,.txt,text/csv,text/plain"
      onFiles={([file]) => void read(file)}
    />
  )
}

const maxShown = 5

function InvalidLines({ invalid }: { invalid: RecipientList['invalid'] }) {
  return (
    <Note tone="amber">
      <p>{text.invalidLines(invalid.length)}</p>
      <ul className="broadcasts-lines small">
        {invalid.slice(0, maxShown).map(({ line, text: content }) => (
          <li key={line}>{text.invalidLine(line, content)}</li>
        ))}
        {invalid.length > maxShown && <li>{text.andMore(invalid.length - maxShown)}</li>}
      </ul>
    </Note>
  )
}
