/** The frame of all pages: navigation, account menu, connection status, shortcuts. On a phone the navigation is a tab bar. */
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { Avatar } from '../../../ui/display.tsx'
import { Icon, type IconName } from '../../../ui/icon.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { useCall, useChange } from '../lib/api.ts'
import {
  availabilityCommands,
  choiceIcons,
  choiceOf,
  choices,
  useAvailability,
  useChooseAvailability,
  useInputReports,
} from '../lib/availability.ts'
import { deferred } from '../lib/deferred.tsx'
import { forgetMember } from '../lib/forget-member.ts'
import { useLiveState } from '../lib/live.tsx'
import type { Command } from '../lib/palette.ts'
import { useDensity } from '../lib/preferences.ts'
import { leavePresence } from '../lib/presence.ts'
import { useCanWrite, useIsManager, useSeesAll, useSession } from '../lib/session.tsx'
import { modifierKey, useHeldShortcuts, useShortcuts } from '../lib/shortcuts.ts'
import { setTheme, themes, useTheme } from '../lib/theme.ts'
import { useUnreadBadge } from '../lib/title.ts'
import { PagePlaceholder } from '../ui/placeholder.tsx'
import { words } from '../words/words.ts'
import { NotificationHint, RestrictionBanner } from './banners.tsx'
import { useNotificationClicks } from './desktop-notification.ts'
import { startNotifying } from './notifier.ts'
import { useSoundForOtherTabs } from './sound.ts'

const { shell } = words

const Palette = deferred(() => import('./palette.tsx'))
const ShortcutSheet = deferred(() => import('./shortcut-sheet.tsx'))

/** The key of the command palette as this computer writes it. */
const paletteKeys = [modifierKey, 'K']
/** Switches between available and away. */
const availabilityKey = 'A'

/**
 * `key` is the second key of its shortcut, after `g`. `alsoAt` is the path of another page of the item. `needsAll`: it shows figures or
 * messages of all conversations, so a member who sees fewer does not have it.
 */
type NavItem = { href: string; label: string; icon: IconName; key: string; alsoAt?: string; needsAll?: true }

const allItems: readonly NavItem[] = [
  { href: '/inbox', label: shell.inbox, icon: 'inbox', key: 'i' },
  { href: '/overview', label: shell.overview, icon: 'overview', key: 'o', needsAll: true },
  { href: '/reports', label: shell.reports, icon: 'reports', key: 'p' },
  { href: '/contacts', label: shell.contacts, icon: 'contacts', key: 'c' },
  { href: '/segments', label: shell.segments, icon: 'segments', key: 's' },
  { href: '/broadcasts', label: shell.broadcasts, icon: 'broadcasts', key: 'b' },
  { href: '/automations', label: shell.automations, icon: 'automations', key: 'a' },
  { href: '/templates', label: shell.templates, icon: 'templates', key: 't' },
  { href: '/developers', label: shell.developers, icon: 'developers', key: 'd', alsoAt: '/webhooks', needsAll: true },
  { href: '/integrations', label: shell.integrations, icon: 'integrations', key: 'n' },
  { href: '/settings', label: shell.settings, icon: 'settings', key: ',' },
]
/** Pages below an item of the navigation that have a shortcut of their own. */
const subPages: readonly NavItem[] = [
  { href: '/developers/requests', label: shell.requests, icon: 'developers', key: 'r' },
  { href: '/developers/events', label: shell.events, icon: 'developers', key: 'e' },
  { href: '/webhooks', label: shell.webhooks, icon: 'webhooks', key: 'w' },
  { href: '/developers/keys', label: shell.keys, icon: 'key', key: 'k' },
]
/** The tabs of the tab bar on a phone. The other pages are in its "More" menu. */
const tabs = new Set(['/inbox', '/overview', '/contacts', '/broadcasts'])

export function Shell({ children }: { children: ReactNode }) {
  const [path, navigate] = useLocation()
  const [isHelpOpen, setHelpOpen] = useState(false)
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  const main = useRef<HTMLElement>(null)
  const page = path.split('/')[1]
  useBackground(path)
  const canWrite = useCanWrite()
  const isManager = useIsManager()
  const seesAll = useSeesAll()
  const navItems = allItems.filter(({ needsAll }) => seesAll || !needsAll)
  const allPages = seesAll ? [...navItems, ...subPages] : navItems
  const availability = useAvailability()
  const choose = useChooseAvailability()
  const commandTo = (href: string, label: string, icon: IconName): Command => ({
    id: href,
    label,
    icon,
    run: () => navigate(href),
  })
  useShortcuts({
    ...Object.fromEntries(allPages.map(({ href, key }) => [`g ${key}`, () => navigate(href)])),
    '?': () => setHelpOpen(true),
    ...(availability
      ? { [availabilityKey]: () => choose(choiceOf(availability) === 'away' ? 'available' : 'away') }
      : {}),
  })
  usePaletteKey(setPaletteOpen)
  useHeldShortcuts(isPaletteOpen || isHelpOpen)
  // A new page starts at its top.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it runs when the page changes.
  useEffect(() => {
    // In braces: newer browsers return a promise, which React would take for a cleanup function.
    main.current?.scrollTo(0, 0)
  }, [page])

  return (
    <div className="shell" data-page={page}>
      <a className="skip" href="#main">
        {shell.skip}
      </a>
      <nav className="nav" aria-label={shell.main}>
        <Workspace />
        <button
          type="button"
          className="line nav-link nav-search"
          title={shell.palette.label}
          aria-keyshortcuts="Control+K Meta+K"
          onClick={() => setPaletteOpen(true)}
        >
          <Icon name="search" />
          <span>{shell.palette.open}</span>
          <span className="nav-keys soft" aria-hidden="true">
            {paletteKeys.join(' ')}
          </span>
        </button>
        <ul>
          {navItems.map((item) => (
            <li key={item.href} data-tab={tabs.has(item.href) ? '' : undefined}>
              <NavLink item={item} isCurrent={isUnder(path, item.href) || isUnder(path, item.alsoAt)} />
            </li>
          ))}
          <li className="nav-more">
            <Menu
              label={shell.more}
              side="top"
              button={
                <button type="button" className="line nav-link" data-current={isBehindMore(path) ? '' : undefined}>
                  <Icon name="more" />
                  <span>{shell.more}</span>
                </button>
              }
              items={navItems
                .filter(({ href }) => !tabs.has(href))
                .map(({ href, label, icon }) => ({ icon, label, onSelect: () => navigate(href) }))}
            />
          </li>
        </ul>
        {/* The inbox shows its views here. */}
        <div id="nav-page" className="nav-page" />
        <Account onHelp={() => setHelpOpen(true)} />
      </nav>
      <div className="banners">
        <RestrictionBanner />
        {path === '/inbox' && <NotificationHint />}
      </div>
      <main id="main" ref={main} tabIndex={-1}>
        {children}
      </main>
      {isHelpOpen && (
        <ShortcutSheet
          general={[
            { keys: paletteKeys, label: shell.palette.label },
            { keys: ['?'], label: shell.shortcuts },
            ...(canWrite ? [{ keys: ['Shift', availabilityKey], label: shell.availability.toggle }] : []),
          ]}
          pages={allPages.map(({ key, label }) => ({ keys: ['g', key], label }))}
          onClose={() => setHelpOpen(false)}
        />
      )}
      {isPaletteOpen && (
        <Palette
          pages={allPages}
          commands={[
            ...(canWrite ? [commandTo('/broadcasts/new', shell.palette.newBroadcast, 'broadcasts')] : []),
            ...(isManager
              ? [
                  commandTo('/contacts/import', shell.palette.importContacts, 'contacts'),
                  commandTo('/automations/new', shell.palette.newAutomation, 'automations'),
                ]
              : []),
            ...availabilityCommands(availability, choose),
            { id: 'shortcuts', label: shell.shortcuts, icon: 'keyboard', keys: ['?'], run: () => setHelpOpen(true) },
            ...themes.map((each) => ({
              id: `theme-${each}`,
              label: shell.palette.theme(shell.themes[each]),
              icon: themeIcons[each],
              run: () => setTheme(each),
            })),
          ]}
          onClose={() => setPaletteOpen(false)}
        />
      )}
    </div>
  )
}

/** Whether the page is in the "More" menu of a phone. */
const isBehindMore = (path: string): boolean =>
  allItems.some(({ href, alsoAt }) => !tabs.has(href) && (isUnder(path, href) || isUnder(path, alsoAt)))

const isUnder = (path: string, href: string | undefined): boolean =>
  href !== undefined && (path === href || path.startsWith(`${href}/`))

/** The layout of the shell without data, while the session loads. Nothing in it can be used yet. */
export const ShellFrame = () => (
  <div className="shell">
    <div className="nav" aria-hidden="true">
      <div className="line nav-head">
        <img src="/icon.svg" alt="" width="28" height="28" />
        <div>
          <span className="line live">{shell.live.connecting}</span>
        </div>
      </div>
      <span className="line nav-link nav-search">
        <Icon name="search" />
        <span>{shell.palette.open}</span>
      </span>
      <ul>
        {allItems.map(({ href, label, icon }) => (
          <li key={href} data-tab={tabs.has(href) ? '' : undefined}>
            <span className="line nav-link">
              <Icon name={icon} />
              <span>{label}</span>
            </span>
          </li>
        ))}
      </ul>
    </div>
    <main>
      <PagePlaceholder />
    </main>
  </div>
)

/** The parts of the shell that follow the workspace without showing anything in it. */
function useBackground(path: string): void {
  const { member } = useSession()
  const counts = useCall('GET /conversations/counts', {}, { live: true })
  useUnreadBadge(counts.data?.unread ?? 0)
  useDensity()
  useInputReports()
  useSoundForOtherTabs()
  useNotificationClicks(path)
  useEffect(() => startNotifying(member.id), [member.id])
  // Early, so that they open at once.
  useEffect(() => {
    Palette.preload()
    ShortcutSheet.preload()
  }, [])
  useEffect(() => {
    // Without it the dashboard works, but not offline. Browsers have service workers only over HTTPS.
    navigator.serviceWorker?.register('/service-worker.js').catch(() => {})
  }, [])
}

/** Ctrl+K or ⌘K, also in text fields. Not over another dialog. */
function usePaletteKey(setOpen: (change: (isOpen: boolean) => boolean) => void): void {
  // In a layout effect, so that the key works as soon as the page is visible.
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isKey = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey
      if (!isKey || event.key.toLowerCase() !== 'k') return
      event.preventDefault()
      setOpen((isOpen) => !isOpen && document.querySelector('dialog[open]') === null)
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [setOpen])
}

function NavLink({ item: { href, label, icon }, isCurrent }: { item: NavItem; isCurrent: boolean }) {
  const unread = useCall('GET /conversations/counts', {}, { live: true, enabled: href === '/inbox' })
  const count = href === '/inbox' ? (unread.data?.unread ?? 0) : 0
  return (
    <Link href={href} className="line nav-link" aria-current={isCurrent ? 'page' : undefined} title={label}>
      <Icon name={icon} />
      <span>{label}</span>
      {count > 0 && <span className="nav-count">{count > 99 ? '99+' : count}</span>}
    </Link>
  )
}

function Workspace() {
  const { workspace } = useSession()
  const state = useLiveState()
  return (
    <div className="line nav-head">
      <img src="/icon.svg" alt="" width="28" height="28" />
      <div>
        <strong className="cut">{workspace.name}</strong>
        <span className="line live" data-state={state} role="status">
          {shell.live[state]}
        </span>
      </div>
    </div>
  )
}

function Account({ onHelp }: { onHelp: () => void }) {
  const { member, role } = useSession()
  const [, navigate] = useLocation()
  const theme = useTheme()
  const availability = useAvailability()
  const choose = useChooseAvailability()
  const name = member.name ?? member.email
  const leave = () => {
    leavePresence()
    signOut.mutate({})
  }
  const signOut = useChange('DELETE /session', {
    onDone: () => {
      forgetMember()
      navigate('/sign-in', { replace: true })
    },
  })
  return (
    <div className="nav-foot">
      <Menu
        label={shell.account}
        align="start"
        side="top"
        button={
          <button type="button" className="line nav-account">
            <span className="offscreen">{shell.account}</span>
            <span className="nav-avatar" data-state={availability?.state}>
              <Avatar name={name} size="small" />
            </span>
            <span className="grow">
              <strong className="cut">{name}</strong>
              <small>
                {words.roles[role]}
                {availability && shell.availability.after[availability.state]}
              </small>
            </span>
            <Icon name="chevron" />
          </button>
        }
        items={[
          ...(availability
            ? [
                { kind: 'heading' as const, label: shell.availability.title },
                ...choices.map((choice) => ({
                  icon: choiceIcons[choice],
                  label: shell.availability.states[choice],
                  checked: choiceOf(availability) === choice,
                  onSelect: () => choose(choice),
                })),
                { kind: 'separator' as const },
              ]
            : []),
          { icon: 'person', label: shell.profile, onSelect: () => navigate('/settings/profile') },
          { icon: 'keyboard', label: shell.shortcuts, onSelect: onHelp },
          { icon: 'external', label: shell.reference, onSelect: () => window.open('/docs', '_blank', 'noopener') },
          { kind: 'separator' },
          { kind: 'heading', label: shell.themeHeading },
          ...themes.map((each) => ({
            icon: themeIcons[each],
            label: shell.themes[each],
            checked: theme === each,
            onSelect: () => setTheme(each),
          })),
          { kind: 'separator' },
          { icon: 'signout', label: shell.signOut, onSelect: leave },
        ]}
      />
    </div>
  )
}

const themeIcons = { system: 'screen', light: 'sun', dark: 'moon' } as const
