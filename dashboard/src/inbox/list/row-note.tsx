/** What a row of the list shows instead of its last message: a message that was not sent, or the member's draft. */
import type { ReactNode } from 'react'
import { words } from '../../words/words.ts'
import { useDraftText } from '../model/reply-drafts.ts'
import { useHasUnsent } from '../model/unconfirmed.ts'

const { list } = words.inbox

type Props = {
  conversationId: string
  /** The draft of the open conversation is in the reply box. */
  isOpen: boolean
  /** The last message. */
  children: ReactNode
}

export function RowNote({ conversationId, isOpen, children }: Props) {
  const hasUnsent = useHasUnsent(conversationId)
  const draft = useDraftText(conversationId).trim()
  const isDraft = draft !== '' && !isOpen
  if (!hasUnsent && !isDraft) return children
  return (
    <>
      <span className="inbox-row-note" data-tone={hasUnsent ? 'red' : 'amber'}>
        {hasUnsent ? list.notSent : list.draft}
      </span>
      {isDraft ? (
        <span className="inbox-row-message cut">
          <bdi>{draft.slice(0, 200)}</bdi>
        </span>
      ) : (
        children
      )}
    </>
  )
}
