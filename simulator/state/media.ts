/**
 * The provider's media store: uploads of the business and files of customers.
 *
 * The business downloads a file in two steps: the file's id returns a link
 * that is valid for five minutes, and the link needs the token. A link of the
 * social channel needs no token and is valid as long as the file. Links are
 * signed with a key that is stored beside the files, so they stay valid after
 * a restart. An upload expires after 30 days, a customer's file after 7. When
 * the quota is used up, new files evict the oldest.
 *
 * A sample file is not stored: its id encodes its type and its time.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createObjectId, wireJson } from '../wire/ids.ts'
import { evictOldest, type Quotas } from './quotas.ts'
import { type MediaType, mediaTypes, sampleFiles } from './sample-media.ts'

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

export type MediaStore = ReturnType<typeof createMediaStore>

type NewFile = Pick<Media, 'mime_type' | 'filename' | 'workspace_id' | 'from'>

type MediaStoreOptions = {
  dir: string
  publicUrl: () => string
  quotas: Pick<Quotas, 'mediaBytes' | 'mediaFiles'>
  record: (line: string) => void
}

const linkMs = 5 * 60 * 1000
const dayMs = 24 * 60 * 60 * 1000
const lifetimeMs = { business: 30 * dayMs, customer: 7 * dayMs }
const maxDeletedSamples = 10_000

export function createMediaStore({ dir, publicUrl, quotas, record }: MediaStoreOptions) {
  /** Oldest first. */
  const files = new Map<string, Media>()
  const deletedSamples = new Set<string>()
  let storedBytes = 0
  const secret = resolveKey(dir)
  const fileOf = (id: string) => join(dir, id)

  const isUnexpired = ({ from, created_at }: Media) => Date.now() - created_at < lifetimeMs[from]

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

  function deleteSample(id: string) {
    evictOldest(deletedSamples, maxDeletedSamples)
    deletedSamples.add(id)
  }

  /** Removes expired files, then the oldest ones until the new file fits. */
  function evict(bytes: number) {
    for (const media of files.values()) {
      const fits = storedBytes + bytes <= quotas.mediaBytes && files.size < quotas.mediaFiles
      if (fits && isUnexpired(media)) return
      remove(media)
    }
  }

  const sign = (id: string, until: string) => createHmac('sha256', secret).update(`${id} ${until}`).digest('base64url')
  const signed = (id: string, until: number) => `ext=${until}&hash=${sign(id, String(until))}`

  return {
    get(id: string): Media | undefined {
      if (deletedSamples.has(id)) return undefined
      const media = files.get(id) ?? describeSample(id)
      return media && isUnexpired(media) ? media : undefined
    },
    bytes(media: Media): Buffer | undefined {
      const type = sampleType(media.id)
      if (type) return sampleFiles[type].bytes
      try {
        return readFileSync(fileOf(media.id))
      } catch {
        return undefined
      }
    },
    /** `bytes` is undefined for a file that could not be downloaded: it has an id and no content. */
    save(file: NewFile, bytes: Buffer | undefined): Media {
      const about = bytes ? digest(bytes) : { sha256: '', file_size: 0 }
      const media = { ...file, ...about, id: createObjectId(), created_at: Date.now() }
      evict(media.file_size)
      if (bytes) {
        mkdirSync(dir, { recursive: true, mode: 0o700 })
        writeFileSync(fileOf(media.id), bytes, { mode: 0o600 })
      }
      add(media)
      record(wireJson({ k: 'u', ...media }))
      return media
    },
    createSample(type: MediaType): Media {
      const id = `88${mediaTypes.indexOf(type)}${Date.now()}${createObjectId().slice(-4)}`
      const media = describeSample(id)
      if (!media) throw new Error(`there is no sample file of type ${type}`)
      return media
    },
    delete(id: string) {
      const media = files.get(id)
      if (media) return remove(media)
      deleteSample(id)
      record(wireJson({ k: 'u', id, deleted: true }))
    },
    /** A link that needs the business's token. */
    tokenLink: (id: string, now: number) => `${publicUrl()}/simulator/lookaside?mid=${id}&${signed(id, now + linkMs)}`,
    /** A link that needs no token. */
    publicLink: ({ id, from, created_at }: Media) =>
      `${publicUrl()}/simulator/media/${id}?${signed(id, created_at + lifetimeMs[from])}`,
    isValidLink(id: string, query: URLSearchParams, now: number): boolean {
      const until = query.get('ext') ?? ''
      const [actual, expected] = [Buffer.from(query.get('hash') ?? ''), Buffer.from(sign(id, until))]
      return actual.length === expected.length && timingSafeEqual(actual, expected) && Number(until) > now
    },
    /** Applies a line of the journal. */
    replay(media: Media & { deleted?: boolean }) {
      const known = files.get(media.id)
      if (!media.deleted) add(media)
      else if (known) {
        files.delete(media.id)
        storedBytes -= known.file_size
      } else if (sampleType(media.id)) deleteSample(media.id)
    },
  }
}

/** Reads the key that signs links, or creates it. */
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

const digest = (bytes: Buffer) => ({
  sha256: createHash('sha256').update(bytes).digest('base64'),
  file_size: bytes.length,
})

/** `88`, the index of the type, 13 digits of time, 4 random digits. */
const sampleIdPattern = /^88([0-4])(\d{13})\d{4}$/
const sampleType = (id: string) => mediaTypes[Number(sampleIdPattern.exec(id)?.[1] ?? -1)]
const descriptions = new Map<MediaType, Pick<Media, 'sha256' | 'file_size'>>()

function describeSample(id: string): Media | undefined {
  const type = sampleType(id)
  if (!type) return undefined
  const { bytes, mime_type, filename } = sampleFiles[type]
  let description = descriptions.get(type)
  if (!description) {
    description = digest(bytes)
    descriptions.set(type, description)
  }
  const created_at = Number(sampleIdPattern.exec(id)?.[2])
  return { id, mime_type, filename, ...description, created_at, workspace_id: null, from: 'customer' }
}
