/** Who gets it: the members of a segment, or a list of numbers that is pasted or uploaded. */
import { type ChangeEvent, useEffect, useRef, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Field, SegmentedControl, Select, TextArea } from '../../../ui/form.tsx'
import { Note } from '../../../ui/note.tsx'
import { Skeleton } from '../../../ui/state.tsx'
import { useCall, usePages } from '../lib/api.ts'
import { LinkButton } from '../ui/link-button.tsx'
import { ErrorState } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import type { Change, Draft } from './draft.ts'
import { mostBytes, mostPeople, type Numbers } from './numbers.ts'

const { compose: text } = words.broadcasts

type AudienceProps = { draft: Draft; numbers: Numbers; fault: string | undefined; onChange: Change }

export function Audience({ draft, numbers, fault, onChange }: AudienceProps) {
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
        <SegmentChoice draft={draft} fault={fault} onChange={onChange} />
      ) : (
        <NumberList draft={draft} numbers={numbers} fault={fault} onChange={onChange} />
      )}
    </>
  )
}

function SegmentChoice({ draft: { segment_id: id }, fault, onChange }: Omit<AudienceProps, 'numbers'>) {
  const pages = usePages('GET /segments', { query: { limit: 100 } })
  const counted = useCall('GET /segments/{id}', { params: { id } }, { enabled: id !== '' })
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
        <LinkButton href="/segments">{text.makeSegment}</LinkButton>
      </div>
    )
  }
  const count = counted.data && text.members(counted.data.member_count)
  return (
    <Field label={text.segment} hint={id && (count ?? text.counting)} fault={fault}>
      {(wiring) => (
        <Select {...wiring} value={id} onChange={(event) => onChange({ segment_id: event.target.value })}>
          <option value="">{text.chooseSegment}</option>
          {pages.items.map((segment) => (
            <option key={segment.id} value={segment.id}>
              {segment.name}
            </option>
          ))}
        </Select>
      )}
    </Field>
  )
}

function NumberList({ draft, numbers, fault, onChange }: AudienceProps) {
  const { people, bad, twice } = numbers
  const [uploadFault, setUploadFault] = useState<string>()
  const isTooMany = people.length > mostPeople
  return (
    <>
      <Field
        label={text.numbers}
        hint={text.numbersHint}
        fault={isTooMany ? text.tooMany(people.length) : (uploadFault ?? fault)}
      >
        {(wiring) => (
          <TextArea
            {...wiring}
            rows={6}
            spellCheck={false}
            placeholder={text.numbersPlaceholder}
            value={draft.numbers}
            onChange={(event) => {
              setUploadFault(undefined)
              onChange({ numbers: event.target.value })
            }}
          />
        )}
      </Field>
      <div className="row spread">
        <Upload
          onRead={(numbers) => {
            setUploadFault(undefined)
            onChange({ numbers })
          }}
          onTooLarge={() => setUploadFault(text.tooLarge)}
        />
        <span className="soft small" role="status">
          {people.length > 0 && text.read(people.length)}
          {twice > 0 && ` · ${text.twice(twice)}`}
        </span>
      </div>
      {bad.length > 0 && <BadLines bad={bad} />}
    </>
  )
}

function Upload({ onRead, onTooLarge }: { onRead: (text: string) => void; onTooLarge: () => void }) {
  const input = useRef<HTMLInputElement>(null)
  const read = async (event: ChangeEvent<HTMLInputElement>) => {
    const file = event.target.files?.[0]
    if (!file) return
    if (file.size > mostBytes) onTooLarge()
    else onRead(await file.text())
    if (input.current) input.current.value = ''
  }
  return (
    <>
      <Button size="small" icon="upload" onClick={() => input.current?.click()}>
        {text.upload}
      </Button>
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

const mostShown = 5

function BadLines({ bad }: { bad: Numbers['bad'] }) {
  return (
    <Note tone="amber" icon="alert">
      <p>{text.badLines(bad.length)}</p>
      <ul className="broadcasts-lines">
        {bad.slice(0, mostShown).map(({ line, text: said }) => (
          <li key={line}>{text.badLine(line, said)}</li>
        ))}
        {bad.length > mostShown && <li>{text.andMore(bad.length - mostShown)}</li>}
      </ul>
    </Note>
  )
}
