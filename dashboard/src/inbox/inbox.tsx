/**
 * The inbox: conversation list, thread and contact panel, side by side on a wide window and one at a time on a phone. Its views are in
 * the navigation. The URL holds the open conversation and the filters.
 */
import './inbox.css'
import './list/list.css'
import './thread/thread.css'
import './thread/content.css'
import './composer/composer.css'
import './together.css'
import '../contacts/contact-panel.css'
import './panel/contact-panel.css'
import './composer/writing.css'
import './list/flow.css'
import './list/sidebar.css'
import './narrow.css'
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import { useLocation, useRoute } from 'wouter'
import { EmptyState } from '../../../ui/display.tsx'
import { Checklist } from '../checklist/checklist.tsx'
import { useCall } from '../lib/api.ts'
import { listFilterable, useConnections } from '../lib/connections.ts'
import { useLiveState } from '../lib/live.tsx'
import { type Command, useCommands } from '../lib/palette.ts'
import { memberName } from '../lib/people.ts'
import { useCanWrite, useSession } from '../lib/session.tsx'
import { ownsUndo, useShortcuts } from '../lib/shortcuts.ts'
import { useTitle } from '../lib/title.ts'
import { Marked } from '../ui/marked.tsx'
import { words } from '../words/words.ts'
import { type InboxActions, useActions } from './actions/actions.ts'
import { InboxDialogs, openDialog } from './actions/dialogs.tsx'
import { useMacros } from './actions/macros.ts'
import { ConversationView } from './conversation-view.tsx'
import { Drawer } from './drawer.tsx'
import { ListPane } from './list/list-pane.tsx'
import { Sidebar } from './list/sidebar.tsx'
import { type Agent, isUndoKey, undoLastChange } from './model/changes.ts'
import { findConversation } from './model/conversations.ts'
import { prefetchThread } from './model/data.ts'
import { hrefOf, setFilters } from './model/filters.ts'
import { focusedId, focusSearch, moveInList, neighborOf, openInList, rowOf } from './model/list-focus.ts'
import { useModeration } from './model/moderation.ts'
import { retryLost } from './model/outbox.ts'
import { DraftSync } from './model/reply-drafts.ts'
import { canSelect, clearSelection, selectUpTo, toggleSelected } from './model/selection.ts'
import { useHasLost } from './model/unconfirmed.ts'
import { type SidebarState, useContactPanel, useSidebar } from './model/use-side-panel.ts'

export default function Inbox() {
  useTitle(words.inbox.title)
  const [, params] = useRoute('/inbox/:id')
  const id = params?.id ?? ''
  const [, navigate] = useLocation()
  const contactPanel = useContactPanel()
  const sidebar = useSidebar()
  const lastOpenId = useRef('')
  const [place, setPlace] = useState<HTMLElement | null>(null)
  useLayoutEffect(() => setPlace(document.querySelector<HTMLElement>('#nav-page')), [])

  const back = useCallback(() => {
    lastOpenId.current = id
    navigate(hrefOf(location.search, ''))
  }, [id, navigate])
  // Going back restores the focus to the row of the closed conversation.
  useEffect(() => {
    if (!id && lastOpenId.current) rowOf(lastOpenId.current)?.focus()
  }, [id])
  const actions = useActions(id)
  useInboxKeys(id, actions)
  usePrefetchNext(id)
  useInboxCommands(id, actions, sidebar)
  useShortcuts(id ? { u: back, i: contactPanel.toggle } : {})
  useRetryLost()
  useEffect(() => clearSelection, [])

  return (
    <div className="inbox" data-open={id ? '' : undefined} data-panel={id && contactPanel.isDocked ? '' : undefined}>
      <h1 className="offscreen">{words.inbox.title}</h1>
      <ConnectionBanner />
      <DraftSync />
      {sidebar.isDocked && place && createPortal(<Sidebar />, place)}
      {sidebar.isDrawerOpen && (
        <Drawer
          label={flow.sidebar}
          close={flow.sidebarClose}
          className="inbox-sidebar-drawer"
          onClose={sidebar.toggle}
        >
          <Sidebar onChosen={sidebar.toggle} />
        </Drawer>
      )}
      <ListPane openId={id} actions={actions} sidebar={sidebar} />
      {id ? (
        <ConversationView key={id} id={id} onBack={back} contactPanel={contactPanel} />
      ) : (
        <section className="inbox-thread inbox-none" aria-label={words.inbox.thread.label}>
          <EmptyState
            icon="chat"
            title={words.inbox.thread.none}
            text={<Marked text={words.inbox.thread.noneText} isKeys />}
          />
          <Checklist slim />
        </section>
      )}
      <InboxDialogs />
    </div>
  )
}

const prefetchAfterMs = 100

/** Fetches the messages of the conversation that follows the open one, so that it opens at once. */
function usePrefetchNext(openId: string): void {
  useEffect(() => {
    if (!openId) return
    const timer = setTimeout(() => {
      const next = neighborOf(new Set([openId]))
      if (next) prefetchThread(next)
    }, prefetchAfterMs)
    return () => clearTimeout(timer)
  }, [openId])
}

/** The keys of the list, and of the selected conversations, else of the open one, else of the focused one. */
function useInboxKeys(openId: string, actions: InboxActions): void {
  const { member } = useSession()
  const canWrite = useCanWrite()
  const current = () => openId || focusedId()
  const move = openId ? openInList : moveInList
  useShortcuts({
    j: () => move(1),
    k: () => move(-1),
    '/': focusSearch,
    o: actions.openUnread,
    w: actions.openWaiting,
    f: () => openDialog({ kind: 'filters' }),
    v: () => openDialog({ kind: 'views' }),
    ...(canWrite && {
      e: actions.onTargets(actions.toggleClosed),
      a: actions.onTargets((ids) => actions.assign(ids, member)),
      s: actions.onTargets((ids) => actions.chooseSnooze(ids)),
      l: actions.onTargets(actions.chooseLabels),
      x: () => canSelect(current()) && toggleSelected(current()),
      X: () => canSelect(current()) && selectUpTo(current()),
      z: undoLastChange,
    }),
  })
  useUndoKey()
}

/** Ctrl+Z undoes the last change. In a text field it is the browser's, except in an empty reply box (`reply-box.tsx`). */
function useUndoKey(): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!isUndoKey(event) || event.defaultPrevented || ownsUndo(event.target)) return
      if (undoLastChange()) event.preventDefault()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
}

/** Sends replies again when the connection returns. A request may end after that, so also when it is lost later. */
function useRetryLost(): void {
  const isLive = useLiveState() === 'live'
  const hasLost = useHasLost()
  useEffect(() => {
    if (isLive) retryLost(true)
  }, [isLive])
  useEffect(() => {
    if (isLive && hasLost) retryLost(false)
  }, [isLive, hasLost])
}

function ConnectionBanner() {
  if (useLiveState() !== 'reconnecting') return null
  return (
    <p className="inbox-banner small" role="status">
      {words.inbox.connectionLost}
    </p>
  )
}

const { commands: texts, flow } = words.inbox

/** The actions of the inbox for the command palette: of the open conversation, and of the list. */
function useInboxCommands(openId: string, actions: InboxActions, sidebar: SidebarState): void {
  const { member } = useSession()
  const canWrite = useCanWrite()
  const members = useCall('GET /members', {}, { enabled: canWrite && openId !== '' }).data ?? []
  const teams = useCall('GET /teams', {}, { enabled: canWrite && openId !== '' }).data ?? []
  const ids = [openId]
  const isClosed = findConversation(openId)?.status === 'closed'
  const isBlocked = findConversation(openId)?.blocked_at != null
  const isRead = findConversation(openId)?.unread_count === 0
  const { mark, setBlocked } = useModeration()
  const { macros, start } = useMacros({ enabled: openId !== '' })
  const assign = (agent: Agent | null) => ({
    isHidden: () => findConversation(openId)?.assigned_agent_id === (agent?.id ?? null),
    run: () => actions.assign(ids, agent),
  })
  const ofConversation: Command[] = [
    {
      id: 'close',
      label: isClosed ? texts.reopen : texts.close,
      icon: isClosed ? 'refresh' : 'check',
      keys: ['e'],
      run: () => actions.toggleClosed(ids),
    },
    { id: 'snooze', label: texts.snooze, icon: 'clock', keys: ['s'], run: () => actions.chooseSnooze(ids) },
    { id: 'label', label: texts.label, icon: 'label', keys: ['l'], run: () => actions.chooseLabels(ids) },
    { id: 'assign-me', label: texts.assignMe, icon: 'person', keys: ['a'], ...assign(member) },
    { id: 'unassign', label: texts.unassign, icon: 'person', ...assign(null) },
    {
      id: 'mark-unread',
      label: words.inbox.contact.mark(isRead),
      icon: 'mail',
      run: () => void mark(ids, isRead),
    },
    {
      id: 'block',
      label: isBlocked ? texts.unblock : texts.block,
      icon: 'off',
      run: () => void setBlocked(openId, !isBlocked),
    },
    ...macros.map((macro) => ({
      id: `macro-${macro.id}`,
      label: words.inbox.macros.command(macro.name),
      icon: 'automations' as const,
      run: () => start(macro, ids),
    })),
    ...members
      .filter(({ id, state, role }) => state === 'active' && role !== 'viewer' && id !== member.id)
      .map((agent) => ({
        id: `assign-${agent.id}`,
        label: texts.assign(memberName(agent)),
        icon: 'person' as const,
        ...assign(agent),
      })),
    ...[...teams, ...(teams.length > 0 ? [null] : [])].map((team) => ({
      id: `team-${team?.id ?? 'none'}`,
      label: team ? texts.assignTeam(team.name) : texts.unassignTeam,
      icon: 'teams' as const,
      isHidden: () => findConversation(openId)?.assigned_team_id === (team?.id ?? null),
      run: () => actions.assignTeam(ids, team),
    })),
  ]
  const connections = listFilterable(useConnections())
  const ofList: Command[] = [
    { id: 'unread', label: texts.nextUnread, icon: 'inbox', keys: ['o'], run: () => void actions.openUnread() },
    { id: 'waiting', label: texts.nextWaiting, icon: 'clock', keys: ['w'], run: () => void actions.openWaiting() },
    { id: 'filters', label: texts.filters, icon: 'filter', keys: ['f'], run: () => openDialog({ kind: 'filters' }) },
    ...connections.map(({ id, name }) => ({
      id: `connection-${id}`,
      label: texts.filterConnection(name),
      icon: 'filter' as const,
      run: () => setFilters({ connection: id }),
    })),
    { id: 'views', label: texts.views, icon: 'inbox', keys: ['v'], run: () => openDialog({ kind: 'views' }) },
    { id: 'sidebar', label: texts.sidebar, icon: 'view', run: sidebar.toggle },
  ]
  useCommands('inbox', [...(openId && canWrite ? ofConversation : []), ...ofList])
}
