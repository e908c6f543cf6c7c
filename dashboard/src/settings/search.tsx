/**
 * The search of the settings: pages by their name and group, and the cards of the pages that have several. The arrow keys move along
 * the results, and Enter in the search box opens the first one.
 */
import { type KeyboardEvent, useEffect, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { Icon, type IconName } from '../../../ui/icon.tsx'
import { useSession } from '../lib/session.tsx'
import { settingsWords } from '../words/settings.ts'
import { words } from '../words/words.ts'

const { cardKeywords: keywords, profile, sessions, notifications, workspace, teams, optOutKeywords } = settingsWords

export type Entry = {
  href: string
  label: string
  icon: IconName
  /** What the page is also found by. */
  keywords: string
}
export type Group<Page extends Entry = Entry> = { label: string; pages: readonly Page[] }

type Card = { title: string; keywords: string; isOfPassword?: boolean }
/** A page, or a card of it. */
type Found = Entry & { card?: string }

/** By the path of the page. */
const cards: Record<string, readonly Card[]> = {
  '/settings/profile': [
    { title: profile.person, keywords: keywords.person },
    { title: profile.password, keywords: keywords.password, isOfPassword: true },
    { title: words.secondFactor.title, keywords: keywords.twoStep, isOfPassword: true },
    { title: words.shell.theme, keywords: keywords.appearance },
    { title: sessions.title, keywords: keywords.sessions },
  ],
  '/settings/notifications': [
    { title: notifications.level, keywords: keywords.level },
    { title: notifications.desktop, keywords: keywords.desktop },
    { title: notifications.sound, keywords: keywords.sound },
    { title: notifications.quietHours, keywords: keywords.quietHours },
  ],
  '/settings/teams': [{ title: teams.visibility, keywords: '' }],
  '/settings/workspace': [
    { title: workspace.general, keywords: keywords.general },
    { title: workspace.replies, keywords: keywords.replies },
    { title: workspace.signIn, keywords: keywords.signIn },
    { title: optOutKeywords.title, keywords: keywords.optOut },
  ],
}

/** The pages of the groups that the search finds, each followed by its cards that it finds. All pages without a search. */
export function useFoundSettings(groups: readonly Group[], search: string): { label: string; found: Found[] }[] {
  // A member who signs in elsewhere has no such cards.
  const { has_password: hasPassword } = useSession()
  const wanted = wordsOf(search)
  return groups.flatMap(({ label, pages }) => {
    const found = pages.flatMap((page): Found[] => {
      const found = (wanted.length > 0 ? (cards[page.href] ?? []) : [])
        .filter((card) => (hasPassword || !card.isOfPassword) && hasAll(wanted, card.title, card.keywords))
        .map(({ title }) => ({ ...page, card: title }))
      return found.length > 0 || hasAll(wanted, label, page.label, page.keywords) ? [page, ...found] : []
    })
    return found.length > 0 ? [{ label, found }] : []
  })
}

/** The result that Enter opens: a card, if its page is found only because of it. */
export function firstFound(groups: readonly { found: readonly Found[] }[], search: string): Found | undefined {
  const wanted = wordsOf(search)
  const all = groups.flatMap(({ found }) => found)
  return all.find(({ label, card }) => card !== undefined || hasAll(wanted, label)) ?? all[0]
}

const wordsOf = (search: string): string[] => search.toLowerCase().split(/\s+/).filter(Boolean)

/** Whether the texts have each word, in any order. */
const hasAll = (wanted: readonly string[], ...texts: string[]): boolean => {
  const text = texts.join(' ').toLowerCase()
  return wanted.every((word) => text.includes(word))
}

/** Opens a result, and shows its card once the page has it. */
export function useOpenSetting(): (found: Found) => void {
  const [path, navigate] = useLocation()
  const [opened, setOpened] = useState<Found>()
  useEffect(() => {
    const main = document.getElementById('main')
    main?.scrollTo(0, 0)
    if (!main || !opened?.card || path !== opened.href) return
    const { card } = opened
    const show = () => {
      const title = [...main.querySelectorAll<HTMLElement>('.card-head h2')].find((each) => each.textContent === card)
      if (!title) return
      observer.disconnect()
      title.tabIndex = -1
      title.focus({ preventScroll: true })
      title.closest('.card')?.scrollIntoView()
    }
    const observer = new MutationObserver(show)
    observer.observe(main, { childList: true, subtree: true })
    show()
    return () => observer.disconnect()
  }, [path, opened])
  return (found) => {
    setOpened(found)
    if (found.href !== path) navigate(found.href)
  }
}

/** Of a list of results with its search box. */
export function moveAlongResults(event: KeyboardEvent<HTMLElement>): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  const stops = [...event.currentTarget.querySelectorAll<HTMLElement>('input[type="search"], a')]
  const from = stops.indexOf(document.activeElement as HTMLElement)
  const next = from === -1 || step === 0 ? undefined : stops[from + step]
  if (!next) return
  event.preventDefault()
  next.focus()
}

type ResultProps = { found: Found; isCurrent?: boolean; onOpen: (found: Found) => void }

export const FoundSetting = ({ found, isCurrent = false, onOpen }: ResultProps) => (
  <Link
    href={found.href}
    className={found.card ? 'settings-card-link' : undefined}
    aria-current={isCurrent ? 'page' : undefined}
    onClick={(event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return
      event.preventDefault()
      onOpen(found)
    }}
  >
    {!found.card && <Icon name={found.icon} />}
    {found.card ?? found.label}
  </Link>
)
