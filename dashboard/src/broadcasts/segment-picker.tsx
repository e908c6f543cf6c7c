/** Several segments: a list to add one, and the chosen ones with a button that removes each. */
import { useEffect, useRef } from 'react'
import { Field, Select } from '../../../ui/controls.tsx'
import { usePages } from '../lib/api.ts'
import { QueryState } from '../ui/page.tsx'
import { Tag } from '../ui/tag.tsx'
import { broadcastWords } from '../words/broadcasts.ts'

const { compose: text } = broadcastWords

/** All segments of the workspace, page after page. */
export function useSegments() {
  const pages = usePages('GET /segments', { query: { limit: 100 } })
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = pages
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage])
  return pages
}

type SegmentPickerProps = {
  label: string
  /** The first entry of the list. */
  placeholder: string
  hint?: string | undefined
  error?: string | undefined
  ids: readonly string[]
  /** Not offered. */
  without: readonly string[]
  onChange: (ids: string[]) => void
}

const maxSegments = 10

export function SegmentPicker({ label, placeholder, hint, error, ids, without, onChange }: SegmentPickerProps) {
  const pages = useSegments()
  const box = useRef<HTMLDivElement>(null)
  if (!pages.data) return <QueryState query={pages} lines={2} />
  // There is nothing to choose.
  if (pages.items.length === 0 && ids.length === 0) return null
  const byId = new Map(pages.items.map((segment) => [segment.id, segment]))
  const remove = (id: string) => {
    onChange(ids.filter((other) => other !== id))
    // The button is gone after the next render, and the list may be enabled then.
    requestAnimationFrame(() => box.current?.querySelector('select')?.focus())
  }
  const offered = pages.items.filter(({ id }) => !ids.includes(id) && !without.includes(id))
  return (
    <div ref={box}>
      <Field label={label} hint={hint} error={error}>
        {(wiring) => (
          <>
            <Select
              {...wiring}
              value=""
              disabled={offered.length === 0 || ids.length >= maxSegments}
              options={[['', placeholder], ...offered.map((each) => [each.id, each.name] as const)]}
              onChange={(event) => event.target.value && onChange([...ids, event.target.value])}
            />
            {ids.length > 0 && (
              <ul className="row broadcasts-chips" aria-label={text.chosen(label)}>
                {ids.map((id) => {
                  const { name, color } = byId.get(id) ?? gone
                  return (
                    <li key={id}>
                      <Tag
                        icon="segments"
                        name={name}
                        color={color}
                        removeLabel={text.removeSegment(name)}
                        onRemove={() => remove(id)}
                      />
                    </li>
                  )
                })}
              </ul>
            )}
          </>
        )}
      </Field>
    </div>
  )
}

const gone = { name: broadcastWords.detail.segmentGone, color: 'var(--soft)' }
