/**
 * Changes of one conversation or many: status, assignee, snooze, labels. A change shows at once, and the toast offers to undo it.
 * Equal changes share one toast while it is visible. If the service refuses a change, the page shows the old state and the reason.
 */
import { useMemo } from 'react'
import { useToast } from '../../../../ui/overlays.tsx'
import { CallError, call, describeError, type InputOf, invalidate } from '../../lib/api.ts'
import { memberName } from '../../lib/people.ts'
import { useSession } from '../../lib/session.tsx'
import { modifierKey } from '../../lib/shortcuts.ts'
import { formatTime } from '../../lib/time.ts'
import type { Changed } from '../../words/en/inbox-flow.ts'
import { words } from '../../words/words.ts'
import { changeConversations, customerOf, findConversation } from './conversations.ts'
import type { Conversation } from './data.ts'
import { describeWaiting } from './scheduled.ts'
import type { Patch } from './unconfirmed.ts'

const { flow } = words.inbox

export type Agent = NonNullable<Conversation['assigned_agent']>
export type Team = NonNullable<Conversation['assigned_team']>
export type Label = Conversation['labels'][number]
type Body = InputOf<'PATCH /conversations/{id}'>['body']
type Change = {
  body: Body
  patch: Patch
  text: (changed: Changed) => string
  /** What the member may not expect of it, at the end of its toast. */
  hint?: string | undefined
  /** Sent together with a reply, which its toast confirms. */
  isReplied?: boolean | undefined
}
type Toast = ReturnType<typeof useToast>

/** A change that can be undone. */
type Undoable = {
  /** Changes of one kind differ only in their conversations, and share a toast. */
  kind: string
  /** What it changes. A later change of the same field of these conversations takes it out of its toast. */
  field: string
  ids: readonly string[]
  /** The customer of the first conversation. */
  name: string
  text: (changed: Changed) => string
  hint?: string | undefined
  undo: () => void
}
type Done = Undoable & { at: number; isOver: boolean }

const maxBulk = 500
const maxUndoable = 100
/** An older change is not undone by a key: the member may not remember it. */
const undoableMs = 10 * 60_000

/** The last one at the end. */
let undoable: readonly Done[] = []
/** The changes that a visible toast shows, by kind. */
const shown = new Map<string, readonly Done[]>()

/** Offers to undo a change, by its toast and by key. Returns it, for `forgetChange`. */
export function rememberChange(toast: Toast, change: Undoable): Done {
  const done: Done = {
    ...change,
    at: Date.now(),
    isOver: false,
    undo() {
      if (forgetChange(toast, done)) change.undo()
    },
  }
  const { kind, field, ids } = done
  for (const [other, changes] of [...shown]) {
    const kept = changes.filter((one) => one.field !== field || one.ids.some((id) => !ids.includes(id)))
    if (other !== kind && kept.length < changes.length) showChanges(toast, other, kept)
  }
  undoable = [...undoable.slice(1 - maxUndoable), done]
  showChanges(toast, kind, [...(shown.get(kind) ?? []), done])
  return done
}

/** A change that is undone or was refused cannot be undone. Returns false if it was forgotten before. */
function forgetChange(toast: Toast, done: Done): boolean {
  if (done.isOver) return false
  done.isOver = true
  undoable = undoable.filter((one) => one !== done)
  const changes = shown.get(done.kind)
  if (changes?.includes(done)) {
    showChanges(
      toast,
      done.kind,
      changes.filter((one) => one !== done),
    )
  }
  return true
}

/** Shows changes of a kind in one toast. Without any, removes it. */
function showChanges(toast: Toast, kind: string, changes: readonly Done[]): void {
  const [first] = changes
  if (!first) {
    shown.delete(kind)
    toast.remove(kind)
    return
  }
  shown.set(kind, changes)
  const { size: count } = new Set(changes.flatMap(({ ids }) => ids))
  const isMany = changes.length > 1 && count > 1
  const undoAll = () => {
    for (const one of changes.toReversed()) one.undo()
  }
  const hint = changes.find((one) => one.hint)?.hint
  toast.success(first.text({ count, name: first.name, isBrief: isMany }) + (hint ? `. ${hint}` : ''), {
    key: kind,
    undo: {
      run: undoAll,
      label: isMany ? flow.undoAll : undefined,
      // The key undoes the last change only.
      keys: () => {
        const last = undoable.at(-1)
        if (last && changes.includes(last)) return isMany ? flow.undoLastKeys(undoKeys) : undoKeys
      },
    },
    onRemoved: () => {
      if (shown.get(kind) === changes) shown.delete(kind)
    },
  })
}

/** Undoes the last change, for the shortcut. Returns false if there is none. */
export function undoLastChange(): boolean {
  const last = undoable.at(-1)
  if (!last || Date.now() - last.at > undoableMs) return false
  last.undo()
  return true
}

/** The same, only while a toast shows the change. */
export function undoShownChange(): boolean {
  const last = undoable.at(-1)
  return last !== undefined && [...shown.values()].flat().includes(last) && undoLastChange()
}

export const isUndoKey = ({ key, ctrlKey, metaKey, shiftKey, altKey }: UndoKey): boolean =>
  key.toLowerCase() === 'z' && (ctrlKey || metaKey) && !shiftKey && !altKey
type UndoKey = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey'>

const undoKeys = modifierKey === '⌘' ? '⌘Z' : `${modifierKey}+Z`

export function useChanges() {
  const toast = useToast()
  const { id: memberId } = useSession().member
  return useMemo(() => {
    const apply = (ids: readonly string[], change: Change, onUndo?: () => void) => {
      const [firstId = ''] = ids
      const name = customerOf(firstId)
      const who = { count: ids.length, name, isBrief: false }
      const rows = ids.flatMap((id) => findConversation(id) ?? [])
      const report = (error: unknown) =>
        toast.error(new CallError(0, 'not_changed', flow.notChanged(who, describeError(error))))
      const before = new Map(rows.map((row) => [row.id, row]))
      const enqueue = <Result>(patch: Patch, save: () => Promise<Result>): Promise<Result> =>
        inOrder((previous) => changeConversations(before, patch, memberId, () => previous.then(save)))
      const isSaved = enqueue(change.patch, () => save(ids, change.body))
      const undo = () => {
        // Only the changed fields: the customer or another member may have changed the others since.
        const restore: Patch = (row) => restoredFields(row, before.get(row.id) ?? row, change.body)
        enqueue(restore, () => saveAll(restoreBodies(rows, change.body))).catch(report)
        onUndo?.()
      }
      const { body, isReplied } = change
      const kind = JSON.stringify([body, isReplied])
      const text = isReplied ? (changed: Changed) => flow.replied(changed, change.text) : change.text
      const done = rememberChange(toast, { kind, field: fieldOf(body), ids, name, text, hint: change.hint, undo })
      isSaved.then(
        (failedCount) => failedCount > 0 && toast.error(new CallError(404, 'not_found', flow.notFound(failedCount))),
        (error: unknown) => {
          forgetChange(toast, done)
          report(error)
        },
      )
    }
    return {
      setStatus(ids: readonly string[], status: Conversation['status'], onUndo?: () => void, isReplied?: boolean) {
        const patch = () => ({ status, ...(status === 'pending' ? {} : { snoozed_until: null }) })
        const rows = ids.map((id) => findConversation(id))
        const isInNoList = status !== 'closed' && rows.every((row) => row?.inbox_at === null)
        const waiting = status === 'closed' ? rows.flatMap((row) => (row && describeWaiting(row)) ?? []) : []
        const hint = isInNoList ? words.automatedHint : waiting[0]
        apply(ids, { body: { status }, patch, text: flow.changed[status], hint, isReplied }, onUndo)
      },
      assign(ids: readonly string[], agent: Agent | null) {
        const assigned = agent && { id: agent.id, name: agent.name, email: agent.email }
        const patch = () => ({ assigned_agent: assigned, assigned_agent_id: agent?.id ?? null })
        const text = (changed: Changed) =>
          agent ? flow.assigned(memberName(agent), changed) : flow.unassigned(changed)
        apply(ids, { body: { assigned_agent_id: agent?.id ?? null }, patch, text })
      },
      assignTeam(ids: readonly string[], team: Team | null) {
        const assigned = team && { id: team.id, name: team.name, color: team.color }
        const patch = () => ({ assigned_team: assigned, assigned_team_id: team?.id ?? null })
        const text = (changed: Changed) => (team ? flow.assignedTeam(team.name, changed) : flow.unassignedTeam(changed))
        apply(ids, { body: { assigned_team_id: team?.id ?? null }, patch, text })
      },
      /** Null ends the snooze. */
      snooze(ids: readonly string[], until: string | null, onUndo?: () => void, isReplied?: boolean) {
        const patch = () => ({ snoozed_until: until, status: until ? ('pending' as const) : ('open' as const) })
        const text = (changed: Changed) => (until ? flow.snoozed(formatTime(until), changed) : flow.awake(changed))
        apply(ids, { body: { snoozed_until: until }, patch, text, isReplied }, onUndo)
      },
      setLabel(ids: readonly string[], label: Label, isOn: boolean) {
        const patch = ({ labels }: Conversation) => {
          const others = labels.filter(({ name }) => name !== label.name)
          return { labels: isOn ? [...others, label].sort((one, other) => one.name.localeCompare(other.name)) : others }
        }
        const body = isOn ? { add_labels: [label.name] } : { remove_labels: [label.name] }
        const text = (changed: Changed) => (isOn ? flow.labeled : flow.unlabeled)(label.name, changed)
        apply(ids, { body, patch, text })
      },
    }
  }, [toast, memberId])
}

/** The field of `Undoable`. Closing and snoozing change the same one. */
export const statusField = 'status'
function fieldOf({ add_labels = [], remove_labels = [], ...body }: Body): string {
  if ('status' in body || 'snoozed_until' in body) return statusField
  if ('assigned_team_id' in body) return 'team'
  return 'assigned_agent_id' in body ? 'assignee' : `label ${[...add_labels, ...remove_labels]}`
}

let lastSave: Promise<unknown> = Promise.resolve()

/** Changes are saved in the order in which the member made them. After the last one the lists reload. */
function inOrder<Result>(change: (previous: Promise<unknown>) => Promise<Result>): Promise<Result> {
  const saved = change(lastSave)
  const settled = saved.then(
    () => {},
    () => {},
  )
  lastSave = settled
  void settled.then(() => (lastSave === settled ? reload() : undefined))
  return saved
}

/** Returns the number of conversations that could not be changed. */
async function save(ids: readonly string[], body: Body): Promise<number> {
  const [id] = ids
  let failedCount = 0
  if (ids.length === 1 && id) await call('PATCH /conversations/{id}', { params: { id }, body })
  else {
    for (let i = 0; i < ids.length; i += maxBulk) {
      const { data } = await call('POST /conversations/bulk', { body: { ids: ids.slice(i, i + maxBulk), ...body } })
      failedCount += data.filter(({ error }) => error).length
    }
  }
  return failedCount
}

async function saveAll(changes: ReadonlyMap<string, { ids: string[]; body: Body }>): Promise<void> {
  for (const { ids, body } of changes.values()) await save(ids, body)
}

const hasLabel = ({ labels }: Conversation, name: string): boolean => labels.some((label) => label.name === name)

/** The fields of `row` without the change `changed`, which found them as `old` has them. */
function restoredFields(row: Conversation, old: Conversation, changed: Body): Partial<Conversation> {
  const names = new Set([...(changed.add_labels ?? []), ...(changed.remove_labels ?? [])])
  const labels = [
    ...row.labels.filter(({ name }) => !names.has(name)),
    ...old.labels.filter(({ name }) => names.has(name)),
  ].sort((one, other) => one.name.localeCompare(other.name))
  return {
    ...('status' in changed || 'snoozed_until' in changed
      ? { status: old.status, snoozed_until: old.snoozed_until }
      : {}),
    ...('assigned_agent_id' in changed
      ? { assigned_agent_id: old.assigned_agent_id, assigned_agent: old.assigned_agent }
      : {}),
    ...('assigned_team_id' in changed
      ? { assigned_team_id: old.assigned_team_id, assigned_team: old.assigned_team }
      : {}),
    ...(names.size > 0 ? { labels } : {}),
  }
}

/** The changes that undo `changed` for these conversations, as they were before it, grouped by their values. */
function restoreBodies(rows: readonly Conversation[], changed: Body): Map<string, { ids: string[]; body: Body }> {
  const groups = new Map<string, { ids: string[]; body: Body }>()
  const { add_labels: added = [], remove_labels: removed = [] } = changed
  for (const row of rows) {
    const addedToRow = added.filter((name) => !hasLabel(row, name))
    const removedFromRow = removed.filter((name) => hasLabel(row, name))
    const body: Body = {
      ...('status' in changed || 'snoozed_until' in changed
        ? { status: row.status, snoozed_until: row.snoozed_until }
        : {}),
      ...('assigned_agent_id' in changed ? { assigned_agent_id: row.assigned_agent_id } : {}),
      ...('assigned_team_id' in changed ? { assigned_team_id: row.assigned_team_id } : {}),
      // Labels that another member has added or removed since stay as they are.
      ...(addedToRow.length > 0 ? { remove_labels: addedToRow } : {}),
      ...(removedFromRow.length > 0 ? { add_labels: removedFromRow } : {}),
    }
    if (Object.keys(body).length === 0) continue
    const key = JSON.stringify(body)
    const group = groups.get(key) ?? { ids: [], body }
    group.ids.push(row.id)
    groups.set(key, group)
  }
  return groups
}

/** Reloads all queries that show conversations. */
async function reload(): Promise<void> {
  const names = ['GET /conversations', 'GET /conversations/{id}', 'GET /conversations/counts', 'GET /labels']
  await Promise.all(names.map((name) => invalidate({ queryKey: [name] })))
}
