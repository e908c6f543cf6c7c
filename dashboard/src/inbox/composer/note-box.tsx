/**
 * The note box: a note that only the team sees. `@` opens a list of members. A mentioned member finds the note under "Mentions".
 * The note shows in the thread at once; if the service refuses it, its text returns to the box.
 */
import { type KeyboardEvent, useId, useLayoutEffect, useRef, useState } from 'react'
import { Button } from '../../../../ui/controls.tsx'
import { Avatar } from '../../../../ui/display.tsx'
import { Icon } from '../../../../ui/icon.tsx'
import { useToast } from '../../../../ui/overlays.tsx'
import { useCall } from '../../lib/api.ts'
import { memberName } from '../../lib/people.ts'
import { reportTyping } from '../../lib/presence.ts'
import { words } from '../../words/words.ts'
import { completeMention, type Mentionable, matchMembers, readMentionQuery } from '../model/mention-query.ts'
import { type NoteDraft, readNoteDraft, saveNoteDraft, useAddNote } from '../model/notes.ts'
import { useAutoHeight, useUndoInEmptyBox } from './text-box.ts'

const { note: labels } = words.inbox

export function NoteBox({ conversationId }: { conversationId: string }) {
  const [draft, setDraft] = useState(() => readNoteDraft(conversationId))
  const [caret, setCaret] = useState(draft.text.length)
  const [isDismissed, setDismissed] = useState(false)
  const [active, setActive] = useState(0)
  const box = useRef<HTMLTextAreaElement>(null)
  const nextCaret = useRef<number>(undefined)
  const listId = useId()
  const toast = useToast()
  const { setTyped, handleUndo } = useUndoInEmptyBox()
  const addNote = useAddNote(conversationId)
  const members: Mentionable[] = (useCall('GET /members', {}).data ?? [])
    .filter(({ state }) => state === 'active')
    .map((member) => ({ id: member.id, email: member.email, name: memberName(member) }))
  const query = isDismissed ? undefined : readMentionQuery(draft.text, caret)
  const matches = query ? matchMembers(members, query.text) : []
  const isOpen = matches.length > 0
  const activeIndex = Math.min(active, matches.length - 1)
  useAutoHeight(box, draft.text)
  // React sets the caret to the end when the value changes.
  useLayoutEffect(() => {
    if (nextCaret.current === undefined) return
    box.current?.setSelectionRange(nextCaret.current, nextCaret.current)
    nextCaret.current = undefined
  })

  const write = (next: NoteDraft) => {
    setDraft(next)
    saveNoteDraft(conversationId, next)
    reportTyping(next.text ? 'note' : null)
  }
  const pick = (member: Mentionable) => {
    if (!query) return
    const completed = completeMention(draft.text, caret, query, member.name)
    nextCaret.current = completed.caret
    setCaret(completed.caret)
    setActive(0)
    write({ text: completed.text, mentioned: [...draft.mentioned.filter(({ id }) => id !== member.id), member] })
  }
  const add = () => {
    if (draft.text.trim() === '') return
    const unsent = draft
    write({ text: '', mentioned: [] })
    setTyped(false)
    box.current?.focus()
    addNote(unsent).catch((error: unknown) => {
      toast.error(error)
      // The member may have started another note.
      setDraft((current) => {
        const restored = current.text ? current : unsent
        saveNoteDraft(conversationId, restored)
        return restored
      })
    })
  }
  const handleKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing || handleUndo(event)) return
    const match = isOpen ? matches[activeIndex] : undefined
    if (match && handleListKey(event, match)) return
    if (event.key !== 'Enter' || event.shiftKey) return
    event.preventDefault()
    add()
  }
  /** Keys of the open list. Returns whether the list used the key. */
  const handleListKey = (event: KeyboardEvent, match: Mentionable): boolean => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) setActive((activeIndex + step + matches.length) % matches.length)
    else if (event.key === 'Enter' || event.key === 'Tab') pick(match)
    else if (event.key === 'Escape') setDismissed(true)
    else return false
    event.preventDefault()
    event.stopPropagation()
    return true
  }
  return (
    <div className="inbox-write inbox-write-note">
      {isOpen && (
        <div className="menu inbox-mention-list" role="listbox" id={listId} aria-label={labels.members}>
          {matches.map((member, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the focus stays in the text box, which handles the keys.
            <div
              key={member.id}
              id={`${listId}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === activeIndex}
              data-highlighted={index === activeIndex ? '' : undefined}
              // On press: a click would first move the focus out of the text box.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => pick(member)}
            >
              <Avatar name={member.name} size="small" />
              <span className="cut">{member.name}</span>
              <small className="soft cut">{member.email}</small>
            </div>
          ))}
        </div>
      )}
      <textarea
        ref={box}
        rows={1}
        value={draft.text}
        maxLength={10_000}
        aria-label={labels.label}
        placeholder={labels.placeholder}
        dir="auto"
        role="combobox"
        aria-autocomplete="list"
        aria-haspopup="listbox"
        aria-expanded={isOpen}
        aria-controls={listId}
        aria-activedescendant={isOpen ? `${listId}-${activeIndex}` : undefined}
        onChange={(event) => {
          setTyped(true)
          setCaret(event.target.selectionStart)
          setDismissed(false)
          setActive(0)
          write({ ...draft, text: event.target.value })
        }}
        onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
        onKeyDown={handleKeyDown}
      />
      <div className="line inbox-write-foot">
        <span className="inbox-note grow soft">
          <span className="inbox-note-private">
            <Icon name="lock" />
            {labels.private}
          </span>
        </span>
        <Button
          label={labels.add}
          variant="primary"
          size="small"
          icon="note"
          disabled={draft.text.trim() === ''}
          onClick={add}
        />
      </div>
    </div>
  )
}
