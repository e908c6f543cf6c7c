/** The ratings of a contact, the newest first, with their comments. */
import './ratings.css'
import { Button } from '../../../ui/controls.tsx'
import { usePages } from '../lib/api.ts'
import { formatBrief } from '../lib/time.ts'
import { Rated } from '../ui/rated.tsx'
import { Time } from '../ui/time.tsx'
import { words } from '../words/words.ts'

const { ratings: texts } = words.contactPanel

export const useRatings = (contactId: string) =>
  usePages('GET /contacts/{id}/ratings', { params: { id: contactId } }, { live: true })

export function Ratings({ ratings }: { ratings: ReturnType<typeof useRatings> }) {
  const { items, hasNextPage, isFetchingNextPage, fetchNextPage } = ratings
  return (
    <>
      <ul className="ratings">
        {items.map(({ id, rating, comment, member, rated_at: at }) => (
          <li key={id}>
            <div className="row spread">
              <Rated rating={rating} />
              <Time at={at} format={formatBrief} />
            </div>
            {comment && (
              <p className="clamp" dir="auto">
                {comment}
              </p>
            )}
            {member && <p className="soft small">{texts.member(member.name)}</p>}
          </li>
        ))}
      </ul>
      {hasNextPage && (
        <Button label={texts.more} size="small" busy={isFetchingNextPage} onClick={() => void fetchNextPage()} />
      )}
    </>
  )
}
