/** Asks before a label is deleted, with the number of conversations that lose it. */

import { Skeleton } from '../../../ui/display.tsx'
import { Confirm } from '../../../ui/overlays.tsx'
import type { Label } from '../inbox/model/changes.ts'
import { describeError, useCall, useChange } from '../lib/api.ts'
import { settingsWords } from '../words/settings.ts'

const { labels: texts } = settingsWords

/** The queries that show labels. */
export const labelQueries = [
  'GET /labels',
  'GET /labels/counts',
  'GET /conversations',
  'GET /conversations/{id}',
] as const

/** The service stops counting here. */
const maxCounted = 10_000
export const isMoreThanCounted = (count: number): boolean => count >= maxCounted

type Props = { label: Label; onClose: () => void }

export function DeleteLabel({ label: { id, name }, onClose }: Props) {
  const counts = useCall('GET /labels/counts', {})
  const remove = useChange('DELETE /labels/{id}', {
    stale: labelQueries,
    done: texts.removed(name),
    onDone: onClose,
  })
  const count = counts.data?.find((one) => one.id === id)?.conversation_count ?? 0
  const error = remove.error ?? counts.error
  return (
    <Confirm
      title={texts.removeTitle(name)}
      action={texts.removeAction}
      danger
      busy={remove.isPending || counts.isPending}
      error={error ? describeError(error) : undefined}
      onConfirm={() => remove.mutate({ params: { id } })}
      onClose={onClose}
    >
      {counts.isPending ? (
        <Skeleton lines={1} />
      ) : (
        <p>{count === 0 ? texts.removeUnused : texts.removeText(count, isMoreThanCounted(count))}</p>
      )}
    </Confirm>
  )
}
