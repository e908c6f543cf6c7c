/** The navigation: links to all sections with a marker for the current one, or the results of the search box. */
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { Icon } from '../../ui/icon.tsx'
import { MethodBadge } from './code.tsx'
import { type Entry, maxResults, type Result, search as searchIndex } from './search.ts'

type NavigationItem = { id: string; title: string; method?: string }
export type NavigationGroup = { id?: string; title: string; items: NavigationItem[] }

type NavigationProps = {
  groups: NavigationGroup[]
  /** Makes the index of the search, when it is first used. */
  createIndex: () => Entry[]
  onSearchKey: () => void
}

/** `onSearchKey` is called before `/` or Ctrl+K focuses the search box, so that a closed drawer can open. */
export function Navigation({ groups, createIndex, onSearchKey }: NavigationProps) {
  const search = useRef<HTMLInputElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const [query, setQuery] = useState('')
  const current = useCurrentSection(groups)
  const isSearching = query.trim() !== ''
  const index = useMemo(() => (isSearching ? createIndex() : []), [isSearching, createIndex])
  const { results, count } = useMemo(() => searchIndex(index, query), [index, query])

  // A section that is opened by its address or by a link, and that the search has not found, is shown in the list of all sections.
  useEffect(() => {
    const onHash = () => {
      if (!results.some(({ entry }) => `#${entry.id}` === location.hash)) setQuery('')
    }
    addEventListener('hashchange', onHash)
    return () => removeEventListener('hashchange', onHash)
  }, [results])

  // In a layout effect, so that the keys work as soon as the page is visible.
  useLayoutEffect(() => {
    const onKeydown = (event: globalThis.KeyboardEvent) => {
      const isTyping = event.target instanceof Element && event.target.closest('input, textarea, select')
      const hasModifier = event.metaKey || event.ctrlKey || event.altKey
      const isSlash = event.key === '/' && !isTyping && !hasModifier
      if (!isSlash && !(event.key === 'k' && (event.metaKey || event.ctrlKey))) return
      event.preventDefault()
      // The drawer opens and the box is focused within this event: the next key must not be lost.
      flushSync(onSearchKey)
      search.current?.select()
    }
    document.addEventListener('keydown', onKeydown)
    return () => document.removeEventListener('keydown', onKeydown)
  }, [onSearchKey])

  useEffect(() => {
    const link = current && list.current?.querySelector(`a[href="#${CSS.escape(current)}"]`)
    if (link) revealInSidebar(link)
  }, [current])

  const links = () => [...(list.current?.querySelectorAll<HTMLElement>('li a') ?? [])]
  const onSearchKeydown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') links()[0]?.click()
    else if (event.key === 'ArrowDown') links()[0]?.focus()
    else if (event.key === 'Escape' && query) {
      setQuery('')
      event.stopPropagation()
    } else return
    event.preventDefault()
  }
  const onListKeydown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (!step) return
    event.preventDefault()
    const next = links().indexOf(document.activeElement as HTMLElement) + step
    if (next < 0) search.current?.focus()
    else links()[next]?.focus()
  }
  return (
    <nav className="sidebar" id="sidebar" aria-label="Reference">
      <search className="search">
        <Icon name="search" />
        <input
          ref={search}
          className="input"
          type="search"
          placeholder="Search"
          aria-label="Search the reference"
          aria-describedby="search-state"
          autoComplete="off"
          spellCheck={false}
          value={query}
          onChange={({ target }) => setQuery(target.value)}
          onKeyDown={onSearchKeydown}
        />
        <span className="kbd" aria-hidden="true">
          /
        </span>
      </search>
      <p className="search-state" id="search-state" role="status">
        {isSearching && describeCount(count, query)}
      </p>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the arrow keys move between the links inside. */}
      <div id="links" ref={list} onKeyDown={onListKeydown}>
        {isSearching ? (
          <Results results={results} current={current} />
        ) : (
          groups.map((group) => <Group key={group.title} group={group} current={current} />)
        )}
      </div>
    </nav>
  )
}

function describeCount(count: number, query: string): string {
  if (count === 0) return `No results for “${query.trim()}”`
  return count > maxResults ? `${count} found, the best ${maxResults} shown` : `${count} found`
}

const Results = ({ results, current }: { results: Result[]; current: string | undefined }) => (
  <ul className="results" aria-label="Search results">
    {results.map(({ entry: { id, kind, title, method, context }, snippet }) => (
      <li key={`${kind} ${id} ${title} ${context}`}>
        <a className="nav-link result" href={`#${id}`} aria-current={id === current ? 'location' : undefined}>
          <span className="result-head">
            <span className="result-title">{title}</span>
            {method ? <MethodBadge method={method} /> : <span className="result-kind">{kind}</span>}
          </span>
          {context && <small className="result-context">{context}</small>}
          <small className="result-text">
            {snippet.map((part, index) =>
              // biome-ignore lint/suspicious/noArrayIndexKey: the parts keep their order.
              index % 2 === 1 ? <mark key={index}>{part}</mark> : part,
            )}
          </small>
        </a>
      </li>
    ))}
  </ul>
)

function Group({ group: { id, title, items }, current }: { group: NavigationGroup; current: string | undefined }) {
  const titleId = useId()
  const currentIf = (itemId: string | undefined) => (itemId === current && current ? 'location' : undefined)
  return (
    <div className="nav-group">
      <p className="nav-title" id={titleId}>
        {id ? (
          <a href={`#${id}`} aria-current={currentIf(id)}>
            {title}
          </a>
        ) : (
          title
        )}
      </p>
      <ul aria-labelledby={titleId}>
        {items.map((item) => (
          <li key={item.id}>
            <a className="nav-link" href={`#${item.id}`} aria-current={currentIf(item.id)}>
              <span>{item.title}</span>
              {item.method && <MethodBadge method={item.method} />}
            </a>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Returns the id of the first section in the upper part of the window. */
function useCurrentSection(groups: NavigationGroup[]): string | undefined {
  const [current, setCurrent] = useState<string>()
  useEffect(() => {
    const ids = groups.flatMap(({ id, items }) => [...(id ? [id] : []), ...items.map((item) => item.id)])
    const visible = new Set<Element>()
    // A group contains its operations, so its head stands for it.
    const targets = ids.flatMap((id) => {
      const section = document.getElementById(id)
      return section ? [{ id, element: section.querySelector(':scope > .group-head') ?? section }] : []
    })
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          if (isIntersecting) visible.add(target)
          else visible.delete(target)
        }
        const first = targets.find(({ element }) => visible.has(element))
        if (first) setCurrent(first.id)
      },
      { rootMargin: '-104px 0px -65% 0px' },
    )
    for (const { element } of targets) observer.observe(element)
    return () => observer.disconnect()
  }, [groups])
  return current
}

/** Scrolls only the sidebar: `scrollIntoView` would interrupt the scrolling of the page. */
function revealInSidebar(link: Element): void {
  const sidebar = link.closest('.sidebar')
  if (!sidebar) return
  const { top, bottom } = link.getBoundingClientRect()
  const box = sidebar.getBoundingClientRect()
  if (top < box.top + 80) sidebar.scrollTop += top - box.top - 80
  else if (bottom > box.bottom - 40) sidebar.scrollTop += bottom - box.bottom + 40
}
