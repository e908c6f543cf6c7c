/**
 * The command palette: finds people, conversations, pages, actions and messages while the member types. Pages and actions match
 * at once; the others come from the search of the service. Items opened last come first. Messages are last: they arrive late,
 * and must not move the item that the member is about to open.
 *
 * A name must not run an action that has it in its label, such as "Assign to Sam". So actions come after people and conversations, and
 * Enter waits for these. The first word of an action, such as "assign", puts it first, unless a person has that name.
 *
 * The input is a combobox: focus stays in it, and the arrow keys move through the list.
 */
import './palette.css'
import { type KeyboardEvent, useDeferredValue, useEffect, useId, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { Icon, type IconName } from '../../../ui/icon.tsx'
import { Modal } from '../../../ui/overlays.tsx'
import { usePages } from '../lib/api.ts'
import { useDebounced } from '../lib/hooks.ts'
import { type Command, listRecent, type RecentItem, rememberRecent, usePageCommands } from '../lib/palette.ts'
import { handleOf, nameOf } from '../lib/people.ts'
import { withoutMarks } from '../templates/formatted-text.tsx'
import { words } from '../words/words.ts'

const { palette: texts } = words.shell

type Item = { id: string; label: string; detail?: string; icon: IconName; keys?: readonly string[]; run: () => void }
type Group = { title: string; items: Item[] }

type PaletteProps = {
  pages: readonly { href: string; label: string; icon: IconName }[]
  commands: readonly Command[]
  onClose: () => void
}

const maxFound = 6

export default function Palette({ pages, commands, onClose }: PaletteProps) {
  const [typed, setTyped] = useState('')
  /** The item that the member moved to. By default the first one. */
  const [activeId, setActiveId] = useState<string>()
  const [isEntered, setEntered] = useState(false)
  const [, navigate] = useLocation()
  const list = useRef<HTMLDivElement>(null)
  const listId = useId()
  const text = typed.trim()
  const found = useSearch(text)
  const own = usePageCommands()
  const [recent] = useState(listRecent)

  const toItem = (item: RecentItem): Item => ({
    ...item,
    id: item.href,
    run: () => {
      rememberRecent(item)
      navigate(item.href)
    },
  })
  const pageItems = pages.map(({ href, label, icon }) => toItem({ href, label, icon, detail: '' }))
  const matching = (items: readonly Item[]) =>
    text ? items.filter(({ label, detail }) => matches(text, label, detail)) : [...items]
  const recentItems = matching(recent.map(toItem))
  const isNew = ({ id }: Item) => !recentItems.some((item) => item.id === id)
  const people = found.people.map(toItem).filter(isNew)
  const actionItems = matching(own.filter(({ isHidden }) => !isHidden?.()))
  const isByName =
    actionItems.some(({ label }) => isNamed(text, label)) &&
    ![...recentItems, ...people].some(({ label }) => matches(text, label))
  const actions = {
    title: texts.actions,
    items: actionItems.sort((one, other) => Number(isNamed(text, other.label)) - Number(isNamed(text, one.label))),
  }
  const groups: Group[] = [
    ...(isByName ? [actions] : []),
    { title: texts.recent, items: recentItems },
    ...(text ? [] : [actions]),
    { title: texts.people, items: people },
    { title: texts.conversations, items: found.conversations.map(toItem).filter(isNew) },
    { title: texts.pages, items: matching(pageItems).filter(isNew) },
    ...(text && !isByName ? [actions] : []),
    { title: texts.more, items: text ? matching(commands) : [...commands] },
    { title: texts.messages, items: found.messages.map(toItem).filter(isNew) },
  ].filter(({ items }) => items.length > 0)
  const items = groups.flatMap((group) => group.items)
  const isAction = ({ id }: Item) => actions.items.some((action) => action.id === id)
  const movedTo = items.findIndex(({ id }) => id === activeId)
  const [first] = items
  // The default only opens something, unless the member began to type the label of an action.
  const hasDefault = first && (!isAction(first) || (text && beginsWith(text, first.label)))
  const activeIndex = movedTo >= 0 ? movedTo : hasDefault ? 0 : -1
  const isFinal = movedTo >= 0 || (recentItems.length > 0 && !isByName) || !found.isSearchingPeople
  const idOf = (index: number) => `${listId}-${index}`

  // biome-ignore lint/correctness/useExhaustiveDependencies: the active option changes with the index and the text.
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [activeIndex, typed])

  const choose = (item: Item | undefined) => {
    if (!item) return
    onClose()
    // After the dialog is closed: an action may open another one or move the focus.
    setTimeout(item.run)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: the item is that of the same render.
  useEffect(() => {
    if (!isEntered || !isFinal) return
    setEntered(false)
    choose(items[activeIndex])
  }, [isEntered, isFinal])
  const keys = (event: KeyboardEvent) => {
    const last = items.length - 1
    const next = {
      ArrowDown: activeIndex >= last ? 0 : activeIndex + 1,
      ArrowUp: activeIndex <= 0 ? last : activeIndex - 1,
    }
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      setActiveId(items[next[event.key]]?.id)
    }
    if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
      event.preventDefault()
      setEntered(true)
    }
  }
  let index = -1
  return (
    <Modal className="dialog palette" aria-label={texts.label} onDismiss={onClose}>
      <div className="line palette-input">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          autoComplete="off"
          spellCheck={false}
          maxLength={200}
          placeholder={texts.placeholder}
          aria-label={texts.label}
          aria-expanded={items.length > 0}
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={activeIndex >= 0 ? idOf(activeIndex) : undefined}
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value)
            setActiveId(undefined)
            setEntered(false)
          }}
          onKeyDown={keys}
        />
      </div>
      <div className="palette-list" id={listId} ref={list} role="listbox" aria-label={texts.results}>
        {groups.map(({ title, items: members }) => (
          // biome-ignore lint/a11y/useSemanticElements: a fieldset is no part of a listbox.
          <div key={title} role="group" aria-label={title}>
            <div className="palette-title soft" aria-hidden="true">
              {title}
            </div>
            {members.map((item) => {
              index++
              const at = index
              return (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the input has the focus and handles the keys.
                <div
                  key={item.id}
                  id={idOf(at)}
                  role="option"
                  tabIndex={-1}
                  aria-selected={at === activeIndex}
                  onMouseMove={() => setActiveId(item.id)}
                  onClick={() => choose(item)}
                >
                  <Icon name={item.icon} />
                  <span className="cut">{item.label}</span>
                  {item.detail && <bdi className="cut soft">{item.detail}</bdi>}
                  {item.keys && (
                    <span className="palette-keys">
                      {item.keys.map((key) => (
                        <kbd key={key} className="kbd">
                          {key}
                        </kbd>
                      ))}
                    </span>
                  )}
                </div>
              )
            })}
          </div>
        ))}
      </div>
      <p className="palette-foot soft small" role="status">
        {items.length === 0
          ? found.isSearching
            ? texts.searching
            : texts.none(text)
          : text && texts.count(items.length)}
      </p>
    </Modal>
  )
}

type Found = {
  people: RecentItem[]
  conversations: RecentItem[]
  messages: RecentItem[]
  isSearching: boolean
  /** Whether people or conversations of the text are still missing. */
  isSearchingPeople: boolean
}

/** People, conversations and messages of a text. While the next results load, the last ones that match the text stay. */
function useSearch(typed: string): Found {
  const text = useDeferredValue(typed)
  const options = { enabled: text !== '', keepPrevious: true }
  const people = usePages('GET /contacts', { query: { search: text, limit: maxFound } }, options)
  const conversations = usePages('GET /conversations', { query: { search: text, limit: maxFound } }, options)
  // A search in all messages costs more than the others.
  const settledText = useDebounced(text)
  const messages = usePages(
    'GET /search',
    { query: { q: settledText, limit: maxFound } },
    { enabled: settledText !== '', keepPrevious: true },
  )
  if (text === '')
    return { people: [], conversations: [], messages: [], isSearching: false, isSearchingPeople: typed !== '' }
  // Enter must not open a result of another text.
  const fits = (isOutdated: boolean) => (item: RecentItem) => !isOutdated || matches(text, item.label, item.detail)
  return {
    people: people.items
      .slice(0, maxFound)
      .map(
        (contact): RecentItem => ({
          href: `/contacts/${contact.id}`,
          label: nameOf(contact),
          detail: contact.phone ?? contact.email ?? handleOf(contact),
          icon: 'person',
        }),
      )
      .filter(fits(people.isPlaceholderData)),
    conversations: conversations.items
      .slice(0, maxFound)
      .map(
        ({ id, channel, contact, last_message_text: last }): RecentItem => ({
          href: `/inbox/${id}`,
          label: nameOf(contact),
          detail: [words.channels[channel], last && (channel === 'social' ? last : withoutMarks(last))]
            .filter(Boolean)
            .join(' · '),
          icon: 'chat',
        }),
      )
      .filter(fits(conversations.isPlaceholderData)),
    messages: messages.items
      .slice(0, maxFound)
      .map(
        ({ message, snippet, conversation: { id, contact } }): RecentItem => ({
          href: `/inbox/${id}?message=${message.id}`,
          label: nameOf(contact),
          detail: snippet,
          icon: 'search',
        }),
      )
      .filter(fits(messages.isPlaceholderData || settledText !== text)),
    isSearchingPeople: typed !== text || people.isFetching || conversations.isFetching,
    isSearching: people.isFetching || conversations.isFetching || messages.isFetching || settledText !== text,
  }
}

/** Whether each word of the text begins a word of the label or the detail. */
function matches(text: string, label: string, detail = ''): boolean {
  const parts = `${label} ${detail}`.toLocaleLowerCase().split(/[\s·,.()]+/)
  return text
    .toLocaleLowerCase()
    .split(/\s+/)
    .every((word) => parts.some((part) => part.startsWith(word)))
}

const toWords = (text: string): string[] => text.toLocaleLowerCase().split(/\s+/)

/** Whether the text has the whole first word of the label, as in "assign sam". */
const isNamed = (text: string, label: string): boolean => toWords(text)[0] === toWords(label)[0]

/** Whether the text begins the first word of the label. */
const beginsWith = (text: string, label: string): boolean =>
  toWords(label)[0]?.startsWith(toWords(text)[0] ?? '') === true
