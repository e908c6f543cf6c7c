/** What the member does with the selected, open or focused conversations, and where the member continues afterwards. */
import { useMemo } from 'react'
import { navigate } from 'wouter/use-browser-location'
import { useToast } from '../../../../ui/overlays.tsx'
import { CallError, call } from '../../lib/api.ts'
import { holdShortcuts } from '../../lib/shortcuts.ts'
import { words } from '../../words/words.ts'
import { type Agent, type Team, useChanges } from '../model/changes.ts'
import { areClosed, customerOf, findConversation, readMissing } from '../model/conversations.ts'
import type { Conversation } from '../model/data.ts'
import { type Filters, hrefOf, parseFilters, toQuery } from '../model/filters.ts'
import { focusedId, listedIds, neighborOf, rowOf } from '../model/list-focus.ts'
import { lastReplyAt, type SendTime } from '../model/scheduled.ts'
import { clearSelection, getSelected } from '../model/selection.ts'
import { findWritingPart } from '../model/writing-part.ts'
import { openDialog } from './dialogs.tsx'

/** The selected conversations, else the open one, which the member sees, else the one of the focused row. */
function listTargets(openId: string): string[] {
  const selected = getSelected()
  if (selected.size > 0) return [...selected]
  const id = openId || focusedId()
  return id ? [id] : []
}

export type InboxActions = ReturnType<typeof useActions>

export function useActions(openId: string) {
  const toast = useToast()
  const changes = useChanges()
  return useMemo(() => {
    /** Continues with the next conversation when these leave the list. Returns how to come back. */
    const advance = (ids: readonly string[], focus: 'row' | 'reply' = 'row') => {
      // The change is refused then: the member must not write to another customer meanwhile.
      if (!navigator.onLine) return
      const next = neighborOf(new Set(ids))
      const isOpen = ids.includes(openId)
      clearSelection()
      if (isOpen && next) openConversation(next, focus)
      else if (isOpen) openFirst(ids, focus)
      else if (next && ids.includes(focusedId())) rowOf(next)?.focus()
      return () => {
        if (isOpen && location.pathname !== `/inbox/${openId}`) openConversation(openId)
      }
    }
    const setStatus = (ids: readonly string[], status: 'open' | 'pending' | 'closed', focus?: 'row' | 'reply') => {
      // The only one is not skipped: another member may have closed it, and the member still continues with the next.
      const changed = ids.length === 1 ? ids : ids.filter((id) => findConversation(id)?.status !== status)
      if (changed.length > 0)
        changes.setStatus(changed, status, status === 'closed' ? advance(changed, focus) : undefined, focus === 'reply')
    }
    const snooze = (ids: readonly string[], until: string | null, focus?: 'row' | 'reply') =>
      changes.snooze(ids, until, until ? advance(ids, focus) : undefined, focus === 'reply')
    const report = (find: (openId: string) => Promise<string | undefined>, none: string) => () =>
      find(openId).then((id) => (id ? openConversation(id) : toast.success(none)), toast.error)
    return {
      /** The function of a key: runs an action on its conversations when the page has them. */
      onTargets: (run: (ids: readonly string[]) => void) => () => {
        const ids = listTargets(openId)
        const reading = readMissing(ids)
        if (reading) reading.then(() => run(ids), toast.error)
        else run(ids)
      },
      setStatus,
      snooze,
      setLabel: changes.setLabel,
      toggleClosed(ids: readonly string[]) {
        setStatus(ids, areClosed(ids) ? 'open' : 'closed')
      },
      assign(ids: readonly string[], agent: Agent | null) {
        const changed = ids.filter((id) => findConversation(id)?.assigned_agent_id !== (agent?.id ?? null))
        if (changed.length > 0) changes.assign(changed, agent)
      },
      assignTeam(ids: readonly string[], team: Team | null) {
        const changed = ids.filter((id) => findConversation(id)?.assigned_team_id !== (team?.id ?? null))
        if (changed.length > 0) changes.assignTeam(changed, team)
      },
      chooseSnooze(ids: readonly string[], onChosen?: (until: string) => void) {
        const rows = ids.flatMap((id) => findConversation(id) ?? [])
        if (rows.length === 0) return
        const onChoose = (until: string | null) => (until && onChosen ? onChosen(until) : snooze(ids, until))
        openDialog({ kind: 'snooze', rows, onChoose })
      },
      chooseSendTime(conversation: Conversation, onChoose: (time: SendTime) => void) {
        openDialog({ kind: 'later', closesAt: lastReplyAt(conversation), onChoose })
      },
      chooseLabels(ids: readonly string[]) {
        if (ids.length > 0) openDialog({ kind: 'labels', ids })
      },
      /** A reply that was not sent must not stay unnoticed in a closed or snoozed conversation. */
      reopenUnsent(id: string, isSent: Promise<boolean>) {
        void isSent.then((wasSent) => {
          if (wasSent) return
          const name = customerOf(id)
          changes.setStatus([id], 'open')
          toast.error(new CallError(502, 'platform_error', words.inbox.flow.notSent(name)))
        })
      },
      openUnread: report(findUnread, words.inbox.flow.noUnread),
      openWaiting: report(findWaiting, words.inbox.flow.noneWaiting),
    }
  }, [openId, changes, toast])
}

/** Where the focus goes: to the row of the conversation, or, after a reply was sent, to its reply box. */
type Focus = 'row' | 'reply'

function openConversation(id: string, focus: Focus = 'row'): void {
  navigate(hrefOf(location.search, id))
  const row = rowOf(id)
  row?.scrollIntoView({ block: 'nearest' })
  if (focus === 'row' && row && !isDialogOpen()) {
    row.focus()
    return
  }
  // The member goes on writing: until the focus is in the reply box, letters must not be shortcuts.
  const release = focus === 'reply' ? holdShortcuts() : () => {}
  // The conversation renders from the cache in the next frame.
  requestAnimationFrame(() => requestAnimationFrame(() => focusThread(id, focus, release)))
}

/** Opens the first row after these have left the list. An empty list then shows the conversations that waited behind "1 new". */
function openFirst(leavingIds: readonly string[], focus: Focus): void {
  const { pathname } = location
  const open = (waitedFrames: number) => {
    if (location.pathname !== pathname) return
    const first = listedIds().find((id) => !leavingIds.includes(id))
    if (first) openConversation(first, focus)
    else if (waitedFrames < maxRenderFrames) requestAnimationFrame(() => open(waitedFrames + 1))
  }
  requestAnimationFrame(() => open(0))
}

/** How long the list may take to render. A conversation that arrives later does not open by itself. */
const maxRenderFrames = 30
const maxWaitFrames = 300

const isDialogOpen = () => document.querySelector('dialog[open]') !== null

const holdsDraft = (part: HTMLElement | null): boolean =>
  part instanceof HTMLTextAreaElement && (part.value !== '' || part.matches('.inbox-attachments ~ *'))

/** Waits while a dialog closes or the conversation loads, unless the member goes elsewhere meanwhile. */
function focusThread(id: string, focus: Focus, onEnd: () => void, waitedFrames = 0): void {
  const isElsewhere =
    location.pathname !== `/inbox/${id}` || document.activeElement?.matches(':is(input, textarea):not(dialog *)')
  const part = focus === 'reply' ? findWritingPart() : rowOf(id)
  // The key that sent the last reply must not send a draft, and typed letters must not be shortcuts: the focus goes beside the box.
  const box = holdsDraft(part) ? document.querySelector<HTMLElement>('.inbox-composer :checked') : part
  const target = box ?? document.querySelector<HTMLElement>('.inbox-messages')
  const canFocus = target && !isDialogOpen()
  if (!isElsewhere && !canFocus && waitedFrames < maxWaitFrames) {
    requestAnimationFrame(() => focusThread(id, focus, onEnd, waitedFrames + 1))
    return
  }
  if (!isElsewhere && canFocus) target.focus({ preventScroll: true })
  onEnd()
}

/** The query for open conversations with the filters of the list. */
const queryOpen = (change: Partial<Filters>) => toQuery({ ...parseFilters(location.search), status: 'open', ...change })

/** The next unread conversation below the open one, else from the top of the list, else one that is not listed yet. */
async function findUnread(openId: string): Promise<string | undefined> {
  const listed = listedIds()
  const below = listed.indexOf(openId) + 1
  const isUnread = (id: string) => id !== openId && (findConversation(id)?.unread_count ?? 0) > 0
  const next = [...listed.slice(below), ...listed.slice(0, below)].find(isUnread)
  if (next) return next
  const { data } = await call('GET /conversations', { query: { ...queryOpen({ unread: true }), limit: 2 } })
  return data.find(({ id }) => id !== openId)?.id
}

/** After the open conversation if its customer waits, else the longest wait. Undefined: no customer waits. */
async function findWaiting(openId: string): Promise<string | undefined> {
  const { data } = await call('GET /conversations', { query: { ...queryOpen({ sort: 'waiting' }), limit: 100 } })
  const waiting = data.filter(({ waiting_since }: Conversation) => waiting_since !== null)
  const open = waiting.findIndex(({ id }) => id === openId)
  const next = waiting[open + 1] ?? waiting[0]
  return next && next.id !== openId ? next.id : undefined
}
