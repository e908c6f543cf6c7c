/**
 * The uploaded files of an unsent reply, in this browser: they survive a reload and the way to another conversation. The service
 * deletes a file that is not sent within a day, so older ones are not offered again.
 */
import { readUnsent, removeUnsent, storeUnsent } from '../../lib/drafts.ts'
import type { Uploaded } from '../../lib/upload.ts'

type StoredFile = { file: Uploaded; at: number }

const prefix = 'files-'
const maxAgeMs = 23 * 60 * 60_000

export const readDraftFiles = (conversationId: string): Uploaded[] => readStored(conversationId).map(({ file }) => file)

export function storeDraftFiles(conversationId: string, files: readonly Uploaded[]): void {
  const key = prefix + conversationId
  const times = new Map(readStored(conversationId).map(({ file, at }) => [file.media_url, at]))
  const stored = files.map((file): StoredFile => ({ file, at: times.get(file.media_url) ?? Date.now() }))
  if (stored.length > 0) storeUnsent(key, JSON.stringify(stored))
  else removeUnsent(key)
}

function readStored(conversationId: string): StoredFile[] {
  const stored = JSON.parse(readUnsent(prefix + conversationId) ?? '[]') as StoredFile[]
  return stored.filter(({ at }) => Date.now() - at < maxAgeMs)
}
