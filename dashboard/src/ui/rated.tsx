/** A rating from 1 to 5: the number, and as many filled stars. */
import { Icon } from '../../../ui/icon.tsx'
import { words } from '../words/words.ts'

const all = [1, 2, 3, 4, 5] as const

export const Rated = ({ rating }: { rating: number }) => (
  <span className="rated" data-low={rating <= 2 ? '' : undefined}>
    <span className="rated-stars" aria-hidden="true">
      {all.map((each) => (
        <span key={each} data-filled={each <= rating ? '' : undefined}>
          <Icon name="star" />
        </span>
      ))}
    </span>
    <strong>{words.contactPanel.ratings.of(rating)}</strong>
  </span>
)
