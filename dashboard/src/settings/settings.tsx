/** Settings: a side menu in groups (a list to choose from on a narrow window) with a search, and the open page. Agents do not see pages for owners and admins. */
import './settings.css'
import './replies.css'
import './labels.css'
import { type ComponentType, type KeyboardEvent, useState } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'
import { SearchInput, Select } from '../../../ui/controls.tsx'
import type { IconName } from '../../../ui/icon.tsx'
import { useIsManager, useSession } from '../lib/session.tsx'
import { NotAllowed, NotFound } from '../shell/errors.tsx'
import { settingsWords } from '../words/settings.ts'
import { words } from '../words/words.ts'
import { Assignment } from './assignment.tsx'
import { AuditLog } from './audit.tsx'
import { Channels } from './channels.tsx'
import { Hours } from './hours.tsx'
import { Labels } from './labels.tsx'
import { Members } from './members.tsx'
import { Notifications } from './notifications.tsx'
import { Plan } from './plan.tsx'
import { Profile } from './profile.tsx'
import { CannedReplies } from './replies.tsx'
import { Satisfaction } from './satisfaction.tsx'
import {
  type Entry,
  FoundSetting,
  firstFound,
  type Group,
  moveAlongResults,
  useFoundSettings,
  useOpenSetting,
} from './search.tsx'
import { Status } from './status.tsx'
import { Targets } from './targets.tsx'
import { Teams } from './teams.tsx'
import { Workspace } from './workspace.tsx'

const settings = settingsWords

type SettingsPage = Entry & { page: ComponentType; forOnly?: 'managers' | 'operators' }

const { groups: groupLabels, keywords, elsewhere } = settings

/** Settings on other pages: only the search lists them. */
const developers: Group = {
  label: words.shell.developers,
  pages: [
    { href: '/developers/keys', label: words.developers.keys.title, icon: 'key', keywords: elsewhere.keys },
    { href: '/webhooks', label: words.shell.webhooks, icon: 'webhooks', keywords: elsewhere.webhooks },
    { href: '/integrations', label: words.shell.integrations, icon: 'integrations', keywords: elsewhere.integrations },
  ],
}

const groups: readonly Group<SettingsPage>[] = [
  {
    label: groupLabels.you,
    pages: [
      page('profile', settings.profile.title, 'person', Profile),
      page('notifications', settings.notifications.title, 'bell', Notifications),
    ],
  },
  {
    label: groupLabels.workspace,
    pages: [
      page('workspace', settings.workspace.title, 'company', Workspace),
      page('members', settings.members.title, 'contacts', Members),
      page('hours', settings.hours.title, 'clock', Hours),
      page('teams', settings.teams.title, 'teams', Teams),
      page('plan', settings.plan.title, 'overview', Plan),
      page('audit', settings.audit.title, 'shield', AuditLog, 'managers'),
    ],
  },
  {
    label: groupLabels.inbox,
    pages: [
      page('replies', settings.replies.title, 'bolt', CannedReplies),
      page('labels', settings.labels.title, 'label', Labels),
      page('assignment', settings.assignment.title, 'assignment', Assignment),
      page('satisfaction', settings.satisfaction.title, 'star', Satisfaction),
      page('targets', settings.targets.title, 'target', Targets),
    ],
  },
  { label: groupLabels.channels, pages: [page('channels', settings.channels.title, 'chat', Channels)] },
  { label: groupLabels.server, pages: [page('status', settings.status.title, 'screen', Status, 'operators')] },
]

function page(
  name: keyof typeof keywords,
  label: string,
  icon: IconName,
  component: ComponentType,
  forOnly?: SettingsPage['forOnly'],
): SettingsPage {
  return {
    ...{ href: `/settings/${name}`, label, icon, page: component, keywords: keywords[name] },
    ...(forOnly ? { forOnly } : {}),
  }
}

export default function Settings() {
  const [path, navigate] = useLocation()
  const [search, setSearch] = useState('')
  const mayOpen = { managers: useIsManager(), operators: useSession().is_operator }
  const open = useOpenSetting()
  const visibleGroups = groups.flatMap(({ label, pages }) => {
    const visible = pages.filter(({ forOnly }) => !forOnly || mayOpen[forOnly])
    return visible.length > 0 ? [{ label, pages: visible }] : []
  })
  const isSearching = search.trim() !== ''
  const foundGroups = useFoundSettings(isSearching ? [...visibleGroups, developers] : visibleGroups, search)
  const openFirst = (event: KeyboardEvent) => {
    const first = isSearching && event.key === 'Enter' && firstFound(foundGroups, search)
    if (first) open(first)
  }
  const find = (
    <SearchInput
      label={settings.search}
      value={search}
      onChange={(event) => setSearch(event.target.value)}
      onKeyDown={openFirst}
    />
  )
  const none = foundGroups.length === 0 && <p className="soft small">{settings.none(search.trim())}</p>
  return (
    <div className="settings">
      <nav className="stack settings-menu" aria-label={settings.menu} onKeyDown={moveAlongResults}>
        <p>{settings.title}</p>
        {find}
        {foundGroups.map(({ label, found }) => (
          <section key={label} className="stack settings-group" aria-label={label}>
            <h2>{label}</h2>
            {found.map((each) => (
              <FoundSetting
                key={each.href + each.card}
                found={each}
                isCurrent={!each.card && isUnder(path, each.href)}
                onOpen={open}
              />
            ))}
          </section>
        ))}
        {none}
      </nav>
      <div className="settings-page">
        <nav className="settings-narrow" aria-label={settings.menu} onKeyDown={moveAlongResults}>
          <Select
            aria-label={settings.page}
            value={visibleGroups.flatMap(({ pages }) => pages).find(({ href }) => isUnder(path, href))?.href ?? ''}
            onChange={(event) => navigate(event.target.value)}
          >
            {visibleGroups.map(({ label, pages }) => (
              <optgroup key={label} label={label}>
                {pages.map(({ href, label }) => (
                  <option key={href} value={href}>
                    {label}
                  </option>
                ))}
              </optgroup>
            ))}
          </Select>
          {find}
          {isSearching && (
            <ul className="lined">
              {foundGroups
                .flatMap(({ found }) => found)
                .map((each) => (
                  <li key={each.href + each.card}>
                    <FoundSetting
                      found={each}
                      onOpen={(found) => {
                        setSearch('')
                        open(found)
                      }}
                    />
                  </li>
                ))}
            </ul>
          )}
          {none}
        </nav>
        <Switch>
          <Route path="/settings">
            <Redirect to="/settings/profile" replace />
          </Route>
          {/* Earlier paths of the API keys. */}
          {['/settings/keys', '/settings/api-keys'].map((earlier) => (
            <Route key={earlier} path={earlier}>
              <Redirect to={`/developers/keys${location.search}`} replace />
            </Route>
          ))}
          {visibleGroups
            .flatMap(({ pages }) => pages)
            .map(({ href, page }) => (
              <Route key={href} path={`${href}/*?`} component={page} />
            ))}
          {groups.flatMap(({ pages }) =>
            pages.flatMap(({ href, label, forOnly }) =>
              forOnly ? (
                <Route key={href} path={`${href}/*?`}>
                  <NotAllowed
                    title={settings.notAllowed[forOnly].title(label)}
                    text={settings.notAllowed[forOnly].text}
                  />
                </Route>
              ) : (
                []
              ),
            ),
          )}
          <Route component={NotFound} />
        </Switch>
      </div>
    </div>
  )
}

const isUnder = (path: string, href: string): boolean => path === href || path.startsWith(`${href}/`)
