/**
 * The unsent text of each conversation, the same in all browsers of the member.
 *
 * A keystroke changes the text here at once. It is saved to the service `saveDelayMs` after the last one, one call at a time per
 * conversation. Until the service has confirmed the text, no draft from the service replaces it; from then on a change in
 * another browser shows here. Unconfirmed text is also kept in `localStorage`, so that closing the tab loses none.
 */
import { useCallback } from 'react'
import { CallError, call, type DataOf, invalidate, queryClient, useCall } from '../../lib/api.ts'
import { listUnsent, readUnsent, removeUnsent, storeUnsent } from '../../lib/drafts.ts'
import { createStore } from '../../lib/store.ts'
import type { Uploaded } from '../../lib/upload.ts'

type Saved = DataOf<'GET /drafts'>
type Typed = {
  text: string
  /** `updated_at` of the stored draft that the text was written over; null: there was none. */
  base: string | null
  isSaving: boolean
  timer?: ReturnType<typeof setTimeout>
}

const saveDelayMs = 500
const retryDelayMs = 5_000
const draftsKey = ['GET /drafts', {}] as const
const prefix = 'draft-'

/** Text that the service has not confirmed, by conversation; at first what a closed tab of the same member did not save. */
const typed = createStore(() => {
  const read = ([id, value]: [string, string]): [string, Typed] => [id, { ...JSON.parse(value), isSaving: false }]
  return new Map(listUnsent(prefix).map(read))
})
const notify = () => typed.set(typed.get())
const savedDrafts = () => queryClient.getQueryData<Saved>(draftsKey)
const savedDraft = (id: string) => savedDrafts()?.find(({ conversation_id }) => conversation_id === id)

/** Loads the drafts and follows changes in other browsers. A component of its own, so that these render nothing else. */
export function DraftSync() {
  useCall('GET /drafts', {}, { live: 'member' })
  return null
}

/** The unsent text of a conversation. */
export const useDraftText = (id: string): string =>
  typed.useValue((entries) => entries.get(id)?.text ?? savedDraft(id)?.text ?? '')

/** The same with the function that changes it. */
export function useReplyDraft(id: string): [text: string, write: (text: string) => void] {
  const write = useCallback((text: string) => writeDraft(id, text), [id])
  return [useDraftText(id), write]
}

queryClient.getQueryCache().subscribe(({ type, query }) => {
  if (type !== 'updated' || query.queryKey[0] !== draftsKey[0]) return
  const saved = savedDrafts()
  if (saved) reconcile(saved)
  notify()
})

/** Saves restored text, unless the stored draft has changed since: then that one is newer. */
function reconcile(saved: Saved): void {
  for (const [id, entry] of typed.get()) {
    if (entry.timer || entry.isSaving) continue
    const stored = saved.find(({ conversation_id }) => conversation_id === id)
    if ((stored?.updated_at ?? null) === entry.base && stored?.text !== entry.text) schedule(id, entry, 0)
    else settle(id)
  }
}

function writeDraft(id: string, text: string): void {
  const base = savedDraft(id)?.updated_at ?? null
  const entry = typed.get().get(id) ?? { text, base, isSaving: false }
  entry.text = text
  typed.get().set(id, entry)
  storeUnsent(prefix + id, JSON.stringify({ text, base: entry.base }))
  notify()
  // A sent message is no draft any more, on no device.
  schedule(id, entry, text === '' ? 0 : saveDelayMs)
}

/** The text follows its conversation into the one it was merged into. The service has moved a saved text; it is read again. */
export function moveDraft(fromId: string, toId: string): void {
  const entry = typed.get().get(fromId)
  if (!entry) return void invalidate({ queryKey: draftsKey })
  settle(fromId)
  writeDraft(toId, entry.text)
}

function schedule(id: string, entry: Typed, delayMs: number): void {
  clearTimeout(entry.timer)
  entry.timer = setTimeout(() => void save(id, entry), delayMs)
}

/** No timer survives its entry: it would save and settle an old text when the member has typed another. */
function settle(id: string): void {
  clearTimeout(typed.get().get(id)?.timer)
  typed.get().delete(id)
  removeUnsent(prefix + id)
  notify()
}

async function save(id: string, entry: Typed): Promise<void> {
  delete entry.timer
  // An answer to an earlier read would not contain the new draft. The first read is short; it is not cancelled.
  if (entry.isSaving || !savedDrafts()) return schedule(id, entry, saveDelayMs)
  entry.isSaving = true
  const { text } = entry
  try {
    const { data } = await call('PUT /conversations/{id}/draft', { params: { id }, body: { text } })
    await queryClient.cancelQueries({ queryKey: draftsKey })
    queryClient.setQueryData<Saved>(draftsKey, (drafts = []) => [
      ...drafts.filter(({ conversation_id }) => conversation_id !== id),
      ...(data ? [data] : []),
    ])
    entry.base = data?.updated_at ?? null
    if (entry.text === text) settle(id)
  } catch (error) {
    // A text that is too long stays in this browser.
    const isFinal = error instanceof CallError && error.status < 500 && error.status !== 401 && error.status !== 429
    if (error instanceof CallError && error.status === 404) settle(id)
    else if (!isFinal && !entry.timer) schedule(id, entry, retryDelayMs)
  } finally {
    entry.isSaving = false
  }
}

// The tab may be closed before the delay is over. `keepalive` lets the request outlive the page.
addEventListener('pagehide', () => {
  for (const [id, { text, timer, isSaving }] of typed.get()) {
    if (!timer && !isSaving) continue
    call('PUT /conversations/{id}/draft', { params: { id }, body: { text }, keepalive: true }).catch(() => {})
  }
})

/** An uploaded file of an unsent reply, in this browser: it survives a reload and the way to another conversation. */
type StoredFile = { file: Uploaded; at: number }

const filePrefix = 'files-'
/** The service deletes a file that is not sent within a day, so older ones are not offered again. */
const maxAgeMs = 23 * 60 * 60_000

/** Counts the files whose upload ended after the member had left their conversation. */
const lateFiles = createStore(() => 0)
export const useLateFiles = (): number => lateFiles.useValue((count) => count)

export function addLateFile(conversationId: string, file: Uploaded): void {
  storeDraftFiles(conversationId, [...readDraftFiles(conversationId), file])
  lateFiles.set(lateFiles.get() + 1)
}

export const readDraftFiles = (conversationId: string): Uploaded[] => readStored(conversationId).map(({ file }) => file)

export function storeDraftFiles(conversationId: string, files: readonly Uploaded[]): void {
  const key = filePrefix + conversationId
  const times = new Map(readStored(conversationId).map(({ file, at }) => [file.media_url, at]))
  const stored = files.map((file): StoredFile => ({ file, at: times.get(file.media_url) ?? Date.now() }))
  if (stored.length > 0) storeUnsent(key, JSON.stringify(stored))
  else removeUnsent(key)
}

function readStored(conversationId: string): StoredFile[] {
  const stored = JSON.parse(readUnsent(filePrefix + conversationId) ?? '[]') as StoredFile[]
  return stored.filter(({ at }) => Date.now() - at < maxAgeMs)
}
