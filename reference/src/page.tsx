/** The page: top bar, navigation, guides, operations and events. All requests go to this page's own origin. */
import { useCallback, useEffect, useLayoutEffect, useMemo, useState } from 'react'
import { Button, IconButton } from '../../ui/controls.tsx'
import { Anchor, MethodBadge, PreferencesContext, Prose } from './code.tsx'
import { guides } from './guide-texts.ts'
import { Guides } from './guides.tsx'
import { Navigation, type NavigationGroup } from './navigation.tsx'
import { type ApiDocument, listEvents, listOperations, type Operation } from './openapi.ts'
import { type Api, EventSection, OperationSection } from './operation.tsx'
import { createIndex } from './search.ts'
import { themeKey, useStoredState } from './storage.ts'
import { useTemporaryKey } from './temporary-key.ts'

type Loaded = { state: 'loading' } | { state: 'ready'; document: ApiDocument } | { state: 'failed'; reason: string }

export function Page() {
  const { loaded, reload } = useApiDocument()
  const [language, setLanguage] = useStoredState('localStorage', 'parley.docs.language')
  const [apiKey, setApiKey] = useStoredState('sessionStorage', 'parley.docs.key')
  const temporaryKey = useTemporaryKey()
  const [isMenuOpen, setMenuOpen] = useMenu()
  const document = loaded.state === 'ready' ? loaded.document : undefined
  const content = useMemo(() => toContent(document), [document])
  const { baseUrl } = content.api
  const openMenu = useCallback(() => setMenuOpen(true), [setMenuOpen])
  return (
    <PreferencesContext value={{ language, setLanguage, apiKey: apiKey ?? '', setApiKey, temporaryKey }}>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <TopBar isMenuOpen={isMenuOpen} onMenu={() => setMenuOpen(!isMenuOpen)} />
      <Navigation groups={content.navigation} createIndex={content.createIndex} onSearchKey={openMenu} />
      <main id="main" tabIndex={-1} inert={isMenuOpen}>
        <div role="alert">
          {loaded.state === 'failed' && (
            <div className="load-error">
              <strong>The operations could not be loaded</strong>
              <p>
                Loading <code>/openapi.json</code> failed: {loaded.reason}.
              </p>
              <Button label="Try again" variant="primary" onClick={reload} />
            </div>
          )}
        </div>
        <Guides document={document} operations={content.operations} baseUrl={baseUrl} />
        {loaded.state === 'loading' && <p className="loading">Loading operations…</p>}
        {content.groups.map(({ id, tag, description, operations }) => (
          <section className="group" id={id} key={id}>
            <div className="group-head">
              <h2>
                {tag}
                <Anchor id={id} label={tag} />
              </h2>
              <Prose text={description} />
              <ul className="overview">
                {operations.map((operation) => (
                  <li key={operation.id}>
                    <a className="overview-link" href={`#${operation.id}`}>
                      <MethodBadge method={operation.method} />
                      <code>{operation.path}</code>
                    </a>
                  </li>
                ))}
              </ul>
            </div>
            {operations.map((operation) => (
              <OperationSection key={operation.id} operation={operation} api={content.api} />
            ))}
          </section>
        ))}
        {content.events.length > 0 && (
          <section className="group" id="events">
            <div className="group-head">
              <h2>
                Events
                <Anchor id="events" label="Events" />
              </h2>
              <p>The events that webhooks and the event stream deliver.</p>
            </div>
            {content.events.map((event) => (
              <EventSection key={event.id} event={event} schemas={content.api.schemas} />
            ))}
          </section>
        )}
        <footer>
          <p>
            Generated from <a href="/openapi.json">/openapi.json</a>
            {document && `, version ${document.info.version}`}
          </p>
        </footer>
      </main>
    </PreferencesContext>
  )
}

type Group = { id: string; tag: string; description: string | undefined; operations: Operation[] }

/** Everything that the page derives from the document. Without a document, only the guides remain. */
function toContent(document: ApiDocument | undefined) {
  const operations = document ? listOperations(document) : []
  const events = document ? listEvents(document) : []
  const baseUrl = (document?.servers?.[0]?.url ?? `${location.origin}/v1`).replace(/\/$/, '')
  const tryUrl = location.origin + new URL(baseUrl, location.href).pathname.replace(/\/$/, '')
  const api: Api = { schemas: document?.components?.schemas ?? {}, baseUrl, tryUrl }
  const tags = new Map(document?.tags?.map(({ name, description }) => [name, description]))
  const names = new Set([...tags.keys(), ...operations.map(({ tag }) => tag)])
  const groups = [...names]
    .map(
      (tag): Group => ({
        id: `tag-${tag.toLowerCase().replaceAll(/\W+/g, '-')}`,
        tag,
        description: tags.get(tag),
        operations: operations.filter((operation) => operation.tag === tag),
      }),
    )
    .filter((group) => group.operations.length > 0)
  const navigation: NavigationGroup[] = [
    { title: 'Guides', items: guides.map(({ id, title }) => ({ id, title })) },
    ...groups.map((group) => ({
      id: group.id,
      title: group.tag,
      items: group.operations.map(({ id, summary, method }) => ({ id, title: summary, method })),
    })),
    ...(events.length > 0
      ? [
          {
            ...{ id: 'events', title: 'Events' },
            items: events.map(({ id, name }) => ({ id, title: name })),
          },
        ]
      : []),
  ]
  return { operations, events, groups, api, navigation, createIndex: () => createIndex(document, operations, events) }
}

function useApiDocument(): { loaded: Loaded; reload: () => void } {
  const [loaded, setLoaded] = useState<Loaded>({ state: 'loading' })
  const reload = useCallback(() => void fetchDocument().then(setLoaded), [])
  useEffect(reload, [reload])
  // The section in the URL exists only after the first render with the document.
  useEffect(() => {
    if (loaded.state === 'ready') document.getElementById(location.hash.slice(1))?.scrollIntoView()
  }, [loaded])
  return { loaded, reload }
}

async function fetchDocument(): Promise<Loaded> {
  try {
    const response = await fetch('/openapi.json')
    if (!response.ok) return { state: 'failed', reason: `HTTP ${response.status}` }
    return { state: 'ready', document: await response.json() }
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'the response is not JSON' : 'the service does not respond'
    return { state: 'failed', reason }
  }
}

function TopBar({ isMenuOpen, onMenu }: { isMenuOpen: boolean; onMenu: () => void }) {
  const { isDark, toggle } = useTheme()
  return (
    <header className="top">
      <span className="menu-button">
        <IconButton
          size="medium"
          icon="menu"
          label="Menu"
          aria-expanded={isMenuOpen}
          aria-controls="sidebar"
          onClick={onMenu}
        />
      </span>
      <a className="wordmark" href="#introduction" aria-label="Parley API reference">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect className="ground" width="32" height="32" rx="9" />
          <path
            className="face"
            d="M9 11.5A3.5 3.5 0 0 1 12.5 8h7A3.5 3.5 0 0 1 23 11.5v4a3.5 3.5 0 0 1-3.5 3.5H16l-4.5 4v-4.2A3.5 3.5 0 0 1 9 15.5Z"
          />
          <g className="ground">
            <circle cx="13.2" cy="13.5" r="1.3" />
            <circle cx="18.8" cy="13.5" r="1.3" />
          </g>
        </svg>
        <span>Parley</span>
      </a>
      <span className="top-title">API reference</span>
      <a className="top-link" href="/">
        Dashboard
      </a>
      <a className="top-link" href="/openapi.json">
        OpenAPI
      </a>
      <IconButton
        size="medium"
        icon={isDark ? 'sun' : 'moon'}
        label={`Switch to ${isDark ? 'light' : 'dark'} theme`}
        onClick={toggle}
      />
    </header>
  )
}

/** Follows the system's color scheme until the reader selects one. */
function useTheme() {
  const [choice, setChoice] = useStoredState('localStorage', themeKey)
  const [isSystemDark, setSystemDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches)
  const isDark = choice ? choice === 'dark' : isSystemDark
  useEffect(() => {
    const system = matchMedia('(prefers-color-scheme: dark)')
    const onChange = () => setSystemDark(system.matches)
    system.addEventListener('change', onChange)
    return () => system.removeEventListener('change', onChange)
  }, [])
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light'
  }, [isDark])
  return { isDark, toggle: () => setChoice(isDark ? 'light' : 'dark') }
}

/** The navigation as a drawer on narrow screens. A link, a click outside, Escape or a wider window closes it. */
function useMenu() {
  const narrow = useMemo(() => matchMedia('(max-width: 819.98px)'), [])
  const [isOpen, setOpen] = useState(false)
  const set = useCallback((open: boolean) => setOpen(open && narrow.matches), [narrow])
  useEffect(() => {
    document.body.classList.toggle('menu-open', isOpen)
    if (!isOpen) return
    const abort = new AbortController()
    const { signal } = abort
    const onClick = ({ target }: MouseEvent) => {
      if (!(target instanceof Element) || target.closest('.menu-button')) return
      if (target.closest('a') || !target.closest('.sidebar')) setOpen(false)
    }
    const onKeydown = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape') return
      setOpen(false)
      document.querySelector<HTMLElement>('.menu-button > button')?.focus()
    }
    document.addEventListener('click', onClick, { signal })
    document.addEventListener('keydown', onKeydown, { signal })
    narrow.addEventListener('change', () => setOpen(false), { signal })
    return () => abort.abort()
  }, [isOpen, narrow])
  return [isOpen, set] as const
}
