/** Settings: a side menu (tabs on a narrow window) and the open page. Agents do not see pages for owners and admins. */
import './settings.css'
import './replies.css'
import './labels.css'
import { type ComponentType, useEffect, useRef } from 'react'
import { Link, Redirect, Route, Switch, useLocation } from 'wouter'
import { Icon, type IconName } from '../../../ui/icon.tsx'
import { useIsManager, useSession } from '../lib/session.tsx'
import { NotFound } from '../shell/errors.tsx'
import { Tabs } from '../ui/page.tsx'
import { words } from '../words/words.ts'
import { AuditLog } from './audit.tsx'
import { Channels } from './channels.tsx'
import { Labels } from './labels.tsx'
import { Members } from './members.tsx'
import { Notifications } from './notifications.tsx'
import { Plan } from './plan.tsx'
import { Profile } from './profile.tsx'
import { CannedReplies } from './replies.tsx'
import { Status } from './status.tsx'
import { Workspace } from './workspace.tsx'

const { settings } = words

type SettingsPage = {
  href: string
  label: string
  icon: IconName
  page: ComponentType
  forOnly?: 'managers' | 'operators'
}

const pages: readonly SettingsPage[] = [
  { href: '/settings/members', label: settings.members.title, icon: 'contacts', page: Members },
  { href: '/settings/channels', label: settings.channels.title, icon: 'chat', page: Channels },
  { href: '/settings/replies', label: settings.replies.title, icon: 'bolt', page: CannedReplies },
  { href: '/settings/labels', label: settings.labels.title, icon: 'label', page: Labels },
  { href: '/settings/workspace', label: settings.workspace.title, icon: 'company', page: Workspace },
  { href: '/settings/plan', label: settings.plan.title, icon: 'overview', page: Plan },
  { href: '/settings/audit', label: settings.audit.title, icon: 'shield', page: AuditLog, forOnly: 'managers' },
  { href: '/settings/status', label: settings.status.title, icon: 'screen', page: Status, forOnly: 'operators' },
  { href: '/settings/notifications', label: settings.notifications.title, icon: 'bell', page: Notifications },
  { href: '/settings/profile', label: settings.profile.title, icon: 'person', page: Profile },
]

export default function Settings() {
  const [path] = useLocation()
  const mayOpen = { managers: useIsManager(), operators: useSession().is_operator }
  const tabs = useRef<HTMLDivElement>(null)
  const visiblePages = pages.filter(({ forOnly }) => !forOnly || mayOpen[forOnly])
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs on every change of page.
  useEffect(() => {
    tabs.current?.querySelector('[aria-current]')?.scrollIntoView({ inline: 'center', block: 'nearest' })
    document.getElementById('main')?.scrollTo(0, 0)
  }, [path])
  return (
    <div className="settings">
      <nav className="stack settings-menu" aria-label={settings.menu}>
        <p>{settings.title}</p>
        {visiblePages.map(({ href, label, icon }) => (
          <Link key={href} href={href} aria-current={isUnder(path, href) ? 'page' : undefined}>
            <Icon name={icon} />
            {label}
          </Link>
        ))}
      </nav>
      <div className="settings-page">
        <div className="settings-tabs" ref={tabs}>
          <Tabs label={settings.menu} items={visiblePages} />
        </div>
        <Switch>
          <Route path="/settings">
            <Redirect to="/settings/members" replace />
          </Route>
          {/* Earlier paths of the API keys. */}
          {['/settings/keys', '/settings/api-keys'].map((earlier) => (
            <Route key={earlier} path={earlier}>
              <Redirect to={`/developers/keys${location.search}`} replace />
            </Route>
          ))}
          {visiblePages.map(({ href, page }) => (
            <Route key={href} path={`${href}/*?`} component={page} />
          ))}
          <Route component={NotFound} />
        </Switch>
      </div>
    </div>
  )
}

const isUnder = (path: string, href: string): boolean => path === href || path.startsWith(`${href}/`)
