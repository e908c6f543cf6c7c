/** What the member does with the selected, focused or open conversations, and where the member continues afterwards. */
import { useMemo } from 'react'
import { useToast } from '../../../../ui/overlays.tsx'
import { CallError } from '../../lib/api.ts'
import { words } from '../../words/words.ts'
import { type Agent, useChanges } from '../model/changes.ts'
import { findConversation } from '../model/conversations.ts'
import { focusedId, neighborOf, rowOf } from '../model/list-focus.ts'
import { clearSelection, getSelected } from '../model/selection.ts'
import { openDialog } from './dialogs.tsx'
import { findUnread, findWaiting, openConversation, openFirst } from './go.ts'

/** The selected conversations, else the one of the focused row, else the open one. */
export function listTargets(openId: string): string[] {
  const selected = getSelected()
  if (selected.size > 0) return [...selected]
  const id = focusedId() || openId
  return id ? [id] : []
}

export type InboxActions = ReturnType<typeof useActions>

export function useActions(openId: string) {
  const toast = useToast()
  const changes = useChanges()
  return useMemo(() => {
    /** Continues with the next conversation when these leave the list. Returns how to come back. */
    const advance = (ids: readonly string[], focus: 'row' | 'reply' = 'row') => {
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
        changes.setStatus(changed, status, status === 'closed' ? advance(changed, focus) : undefined)
    }
    const snooze = (ids: readonly string[], until: string | null, focus?: 'row' | 'reply') =>
      changes.snooze(ids, until, until ? advance(ids, focus) : undefined)
    const report = (find: (openId: string) => Promise<string | undefined>, none: string) => () =>
      find(openId).then((id) => (id ? openConversation(id) : toast.success(none)), toast.error)
    return {
      setStatus,
      snooze,
      setLabel: changes.setLabel,
      toggleClosed(ids: readonly string[]) {
        const areClosed = ids.every((id) => findConversation(id)?.status === 'closed')
        setStatus(ids, areClosed ? 'open' : 'closed')
      },
      assign(ids: readonly string[], agent: Agent | null) {
        const changed = ids.filter((id) => findConversation(id)?.assigned_agent_id !== (agent?.id ?? null))
        if (changed.length > 0) changes.assign(changed, agent)
      },
      chooseSnooze(ids: readonly string[], onChosen?: (until: string) => void) {
        const rows = ids.flatMap((id) => findConversation(id) ?? [])
        if (rows.length === 0) return
        const onChoose = (until: string | null) => (until && onChosen ? onChosen(until) : snooze(ids, until))
        openDialog({ kind: 'snooze', rows, onChoose })
      },
      chooseLabels(ids: readonly string[]) {
        if (ids.length > 0) openDialog({ kind: 'labels', ids })
      },
      /** A reply that was not sent must not stay unnoticed in a closed or snoozed conversation. */
      reopenUnsent(id: string, isSent: Promise<boolean>) {
        void isSent.then((wasSent) => {
          if (wasSent) return
          changes.setStatus([id], 'open')
          toast.error(new CallError(502, 'platform_error', words.inbox.flow.notSent))
        })
      },
      openUnread: report(findUnread, words.inbox.flow.noUnread),
      openWaiting: report(findWaiting, words.inbox.flow.noneWaiting),
    }
  }, [openId, changes, toast])
}
