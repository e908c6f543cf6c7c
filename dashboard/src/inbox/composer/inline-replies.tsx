/**
 * Canned replies that match while their shortcut is typed: `/ship` in an empty reply box. The focus stays in the box, and the
 * highlighted reply is its active descendant. A shortcut that matches none is not sent; a text with a space after it is.
 */
import { type KeyboardEvent, type ReactNode, useId, useState } from 'react'
import { describeError, useCall } from '../../lib/api.ts'
import { words } from '../../words/words.ts'
import type { Conversation } from '../model/data.ts'
import { CannedFoot, CannedOption } from './canned-option.tsx'
import { type CannedReply, findReplies, readReplyQuery } from './canned-replies.ts'
import { OptionList, optionId } from './picker-popup.tsx'

const { canned: labels } = words.inbox

type Options = {
  contact: Conversation['contact']
  /** The text of the reply box. */
  text: string
  onPick: (reply: CannedReply) => void
  /** Escape: removes the shortcut from the box. */
  onCancel: () => void
}

export function useInlineReplies({ contact, text, onPick, onCancel }: Options) {
  const [focus, setFocus] = useState<'never' | 'in' | 'out'>('never')
  const [active, setActive] = useState({ text: '', index: 0 })
  const listId = useId()
  const query = readReplyQuery(text)
  // From the first focus on, so that they are there when the member types the slash.
  const { data, error } = useCall('GET /canned-replies', {}, { live: true, enabled: focus !== 'never' })
  const found = query === undefined ? [] : findReplies(data ?? [], query)
  const isOpen = focus === 'in' && query !== undefined && (found.length > 0 || !/\s/.test(query))
  const index = active.text === text ? Math.min(active.index, found.length - 1) : 0

  /** Returns whether the list used the key. */
  const handleKey = (event: KeyboardEvent): boolean => {
    if (!isOpen || event.nativeEvent.isComposing) return false
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const reply = found[index]
    if (step) setActive({ text, index: Math.max(0, Math.min(found.length - 1, index + step)) })
    else if (event.key === 'Escape') onCancel()
    else if ((event.key === 'Enter' && !event.shiftKey) || (event.key === 'Tab' && reply)) reply && onPick(reply)
    else return false
    event.preventDefault()
    event.stopPropagation()
    return true
  }
  const list: ReactNode = isOpen && (
    // A press in the list must not move the focus out of the box.
    <div className="inbox-popup" onPointerDown={(event) => event.preventDefault()}>
      <OptionList
        id={listId}
        label={labels.title}
        items={found}
        index={index}
        keyOf={({ id }) => id}
        render={(reply) => <CannedOption reply={reply} contact={contact} />}
        onPick={onPick}
      />
      {found.length === 0 && (
        <p className="inbox-popup-empty" role="status">
          {!data
            ? error
              ? describeError(error)
              : words.common.loading
            : query
              ? labels.noShortcut(query)
              : labels.none}
        </p>
      )}
      <CannedFoot />
    </div>
  )
  const boxProps = {
    onFocus: () => setFocus('in'),
    onBlur: () => setFocus('out'),
    'aria-autocomplete': 'list' as const,
    'aria-controls': isOpen ? listId : undefined,
    'aria-activedescendant': isOpen && found.length > 0 ? optionId(listId, index) : undefined,
  }
  return { list, handleKey, boxProps }
}
