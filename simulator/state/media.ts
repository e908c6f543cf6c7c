/**
 * Files at the provider: uploads of the business, and files of customers.
 *
 * The business gets a file in two steps: the file's id gives a link that is
 * good for five minutes, and the link needs the token. A link of the social
 * channel needs no token and is good as long as the file lives. Links are
 * signed with a key that is kept beside the files, so they outlive a restart.
 * An upload lives 30 days, a customer's file 7; when the quota is used up, the
 * oldest files go first.
 *
 * A sample file is not stored: its id says which one it is and how old.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createObjectId, wireJson } from '../wire/ids.ts'
import { limitSize, type Quotas } from './quotas.ts'
import { type MediaType, madeUp, mediaTypes } from './sample-media.ts'

export type Media = {
  id: string
  mime_type: string
  filename: string | null
  /** Base64; empty when the file could not be downloaded. */
  sha256: string
  file_size: number
  created_at: number
  /** The workspace it belongs to; null when every workspace may use it. */
  workspace_id: string | null
  from: 'business' | 'customer'
}

export type MediaStore = {
  get(id: string): Media | undefined
  bytes(media: Media): Buffer | undefined
  /** `bytes` is undefined for a file that could not be downloaded: it has an id and no content. */
  save(file: Pick<Media, 'mime_type' | 'filename' | 'workspace_id' | 'from'>, bytes: Buffer | undefined): Media
  makeUp(type: MediaType): Media
  delete(id: string): boolean
  /** A link for the business, which needs its token. */
  linkOf(id: string, now: number): string
  /** A link that needs no token. */
  openLinkOf(media: Media): string
  isLinkGood(id: string, query: URLSearchParams, now: number): boolean
  /** A line of the journal. */
  replay(media: Media & { deleted?: boolean }): void
}

type Storing = {
  dir: string
  publicUrl: () => string
  quotas: Pick<Quotas, 'mediaBytes' | 'mediaFiles'>
  record: (line: string) => void
}

const linkMs = 5 * 60 * 1000
const dayMs = 24 * 60 * 60 * 1000
const lifeMs = { business: 30 * dayMs, customer: 7 * dayMs }
const maxDeletedSamples = 10_000

export function createMediaStore({ dir, publicUrl, quotas, record }: Storing): MediaStore {
  /** Oldest first. */
  const files = new Map<string, Media>()
  const deletedSamples = new Set<string>()
  let storedBytes = 0
  const secret = resolveKey(dir)
  const fileOf = (id: string) => join(dir, id)

  const isAlive = ({ from, created_at }: Media) => Date.now() - created_at < lifeMs[from]

  function add(media: Media) {
    files.set(media.id, media)
    storedBytes += media.file_size
  }

  function remove({ id, file_size }: Media) {
    if (!files.delete(id)) return
    storedBytes -= file_size
    rmSync(fileOf(id), { force: true })
    record(wireJson({ k: 'u', id, deleted: true }))
  }

  /** Removes files that have expired, and then the oldest until the new one fits. */
  function makeRoom(bytes: number) {
    for (const media of files.values()) {
      const fits = storedBytes + bytes <= quotas.mediaBytes && files.size < quotas.mediaFiles
      if (fits && isAlive(media)) return
      remove(media)
    }
  }

  const sign = (id: string, until: string) => createHmac('sha256', secret).update(`${id} ${until}`).digest('base64url')
  const signed = (id: string, until: number) => `ext=${until}&hash=${sign(id, String(until))}`

  return {
    get(id) {
      if (deletedSamples.has(id)) return undefined
      const media = files.get(id) ?? describeMadeUp(id)
      return media && isAlive(media) ? media : undefined
    },
    bytes(media) {
      const type = madeUpType(media.id)
      if (type) return madeUp(type).bytes
      try {
        return readFileSync(fileOf(media.id))
      } catch {
        return undefined
      }
    },
    save(file, bytes) {
      const about = bytes ? described(bytes) : { sha256: '', file_size: 0 }
      const media = { ...file, ...about, id: createObjectId(), created_at: Date.now() }
      makeRoom(media.file_size)
      if (bytes) {
        mkdirSync(dir, { recursive: true, mode: 0o700 })
        writeFileSync(fileOf(media.id), bytes, { mode: 0o600 })
      }
      add(media)
      record(wireJson({ k: 'u', ...media }))
      return media
    },
    makeUp(type) {
      const id = `88${mediaTypes.indexOf(type)}${Date.now()}${createObjectId().slice(-4)}`
      const media = describeMadeUp(id)
      if (!media) throw new Error(`there is no sample file of type ${type}`)
      return media
    },
    delete(id) {
      const media = files.get(id)
      if (media) remove(media)
      else {
        limitSize(deletedSamples, maxDeletedSamples)
        deletedSamples.add(id)
        record(wireJson({ k: 'u', id, deleted: true }))
      }
      return true
    },
    linkOf(id, now) {
      return `${publicUrl()}/simulator/lookaside?mid=${id}&${signed(id, now + linkMs)}`
    },
    openLinkOf({ id, from, created_at }) {
      return `${publicUrl()}/simulator/media/${id}?${signed(id, created_at + lifeMs[from])}`
    },
    isLinkGood(id, query, now) {
      const until = query.get('ext') ?? ''
      const [given, right] = [Buffer.from(query.get('hash') ?? ''), Buffer.from(sign(id, until))]
      return given.length === right.length && timingSafeEqual(given, right) && Number(until) > now
    },
    replay(media) {
      const known = files.get(media.id)
      if (media.deleted) {
        if (known) {
          files.delete(media.id)
          storedBytes -= known.file_size
        } else if (madeUpType(media.id)) {
          limitSize(deletedSamples, maxDeletedSamples)
          deletedSamples.add(media.id)
        }
      } else add(media)
    },
  }
}

/** The key that links are signed with: made once for the folder. */
function resolveKey(dir: string): Buffer {
  const file = `${dir}.key`
  try {
    return readFileSync(file)
  } catch {
    const key = randomBytes(32)
    writeFileSync(file, key, { mode: 0o600 })
    return key
  }
}

const described = (bytes: Buffer) => ({
  sha256: createHash('sha256').update(bytes).digest('base64'),
  file_size: bytes.length,
})

/** `88`, the kind, thirteen digits of time, four of chance. */
const madeUpId = /^88([0-4])(\d{13})\d{4}$/
const madeUpType = (id: string) => mediaTypes[Number(madeUpId.exec(id)?.[1] ?? -1)]
const descriptions = new Map<MediaType, Pick<Media, 'sha256' | 'file_size'>>()

function describeMadeUp(id: string): Media | undefined {
  const type = madeUpType(id)
  if (!type) return undefined
  const { bytes, mime_type, filename } = madeUp(type)
  let description = descriptions.get(type)
  if (!description) {
    description = described(bytes)
    descriptions.set(type, description)
  }
  const created_at = Number(madeUpId.exec(id)?.[2])
  return { id, mime_type, filename, ...description, created_at, workspace_id: null, from: 'customer' }
}
