/**
 * Files at the provider: what the business uploaded, and what customers sent.
 *
 * The business gets a file in two hops: its id gives a link that is good for
 * five minutes, and the link wants the token. An upload lives 30 days, a
 * customer's file 7. The phone page reads a file by its id alone.
 *
 * A made-up file needs no memory: its id says what it is and since when.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { lookup } from 'node:dns'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { LookupFunction } from 'node:net'
import { join } from 'node:path'
import { Agent } from 'undici'
import { createObjectId, wireJson } from './ids.ts'
import { type MediaType, madeUp, mediaTypes } from './made-up.ts'

export type Media = {
  id: string
  mime_type: string
  filename: string | null
  /** Base64; empty when the bytes could not be had. */
  sha256: string
  file_size: number
  created_at: number
  /** The workspace whose it is; null when anybody may have it. */
  workspace_id: string | null
  from: 'business' | 'customer'
  /** Where a customer's file is, when it could not be fetched yet. */
  link: string | null
}

export type MediaStore = {
  get(id: string): Media | undefined
  bytes(media: Media): Promise<Buffer | undefined>
  save(file: Pick<Media, 'mime_type' | 'filename' | 'workspace_id' | 'from'>, bytes: Buffer): Media
  /** A file of a customer that is at an outside address. */
  fetch(url: string, file: Pick<Media, 'mime_type' | 'filename' | 'workspace_id'>): Promise<Media>
  makeUp(type: MediaType): Media
  delete(id: string): boolean
  /** A link for the business, good for five minutes. */
  linkOf(id: string, now: number): string
  isLinkGood(query: URLSearchParams, now: number): boolean
  /** A line of the journal. */
  replay(media: Media & { deleted?: boolean }): void
  stop(): Promise<void>
}

const linkMs = 5 * 60 * 1000
const dayMs = 24 * 60 * 60 * 1000
const lifeDays = { business: 30, customer: 7 }
const maxBytes = 20 * 1024 * 1024

export function createMediaStore(dir: string, publicUrl: () => string, record: (line: string) => void): MediaStore {
  const files = new Map<string, Media>()
  const deleted = new Set<string>()
  const secret = randomBytes(32)
  const agent = new Agent({
    headersTimeout: 5_000,
    bodyTimeout: 5_000,
    connect: { timeout: 3_000, lookup: noMetadata },
  })
  const fileOf = (id: string) => join(dir, id)

  const isAlive = ({ from, created_at }: Media) => Date.now() - created_at < lifeDays[from] * dayMs

  function keep(media: Media, bytes: Buffer | undefined): Media {
    if (bytes) {
      mkdirSync(dir, { recursive: true, mode: 0o700 })
      writeFileSync(fileOf(media.id), bytes, { mode: 0o600 })
    }
    files.set(media.id, media)
    record(wireJson({ k: 'u', ...media }))
    return media
  }

  const sign = (id: string, until: string) => createHmac('sha256', secret).update(`${id} ${until}`).digest('base64url')

  return {
    get(id) {
      if (deleted.has(id)) return undefined
      const media = files.get(id) ?? describeMadeUp(id)
      return media && isAlive(media) ? media : undefined
    },
    async bytes(media) {
      const type = madeUpType(media.id)
      if (type) return madeUp(type).bytes
      if (media.link !== null) return (await download(agent, media.link))?.bytes
      try {
        return readFileSync(fileOf(media.id))
      } catch {
        return undefined
      }
    },
    save(file, bytes) {
      return keep({ ...file, ...described(bytes), id: createObjectId(), created_at: Date.now(), link: null }, bytes)
    },
    async fetch(url, file) {
      const found = await download(agent, url)
      const media = {
        ...file,
        mime_type: file.mime_type || found?.mime_type || 'application/octet-stream',
        from: 'customer' as const,
        id: createObjectId(),
        created_at: Date.now(),
      }
      if (found) return keep({ ...media, ...described(found.bytes), link: null }, found.bytes)
      return keep({ ...media, sha256: '', file_size: 0, link: url }, undefined)
    },
    makeUp(type) {
      const id = `88${mediaTypes.indexOf(type)}${Date.now()}${createObjectId().slice(-4)}`
      const media = describeMadeUp(id)
      if (!media) throw new Error(`no such file can be made up: ${type}`)
      return media
    },
    delete(id) {
      const media = files.get(id)
      if (media) {
        files.delete(id)
        rmSync(fileOf(id), { force: true })
      }
      deleted.add(id)
      record(wireJson({ k: 'u', id, deleted: true }))
      return true
    },
    linkOf(id, now) {
      const until = String(now + linkMs)
      return `${publicUrl()}/simulator/lookaside?mid=${id}&ext=${until}&hash=${sign(id, until)}`
    },
    isLinkGood(query, now) {
      const [id, until] = [query.get('mid') ?? '', query.get('ext') ?? '']
      return query.get('hash') === sign(id, until) && Number(until) > now
    },
    replay(media) {
      if (media.deleted) {
        deleted.add(media.id)
        files.delete(media.id)
      } else if (isAlive(media)) files.set(media.id, media)
    },
    async stop() {
      await agent.destroy()
    },
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
  return { id, mime_type, filename, ...description, created_at, workspace_id: null, from: 'customer', link: null }
}

async function download(agent: Agent, url: string): Promise<{ bytes: Buffer; mime_type: string } | undefined> {
  const target = URL.parse(url)
  if (!target || isMetadata(target.hostname)) return undefined
  try {
    const { statusCode, headers, body } = await agent.request({
      origin: target.origin,
      path: target.pathname + target.search,
      method: 'GET',
      headers: { 'user-agent': 'facebookexternalua' },
    })
    const parts: Buffer[] = []
    let size = 0
    for await (const part of body) {
      size += part.length
      if (size > maxBytes) return undefined
      parts.push(part)
    }
    return statusCode === 200
      ? { bytes: Buffer.concat(parts), mime_type: String(headers['content-type'] ?? '') }
      : undefined
  } catch {
    return undefined
  }
}

/** A demo may run in a cloud: whoever reaches the simulator must not get at the machine's own credentials through it. */
const isMetadata = (address: string) =>
  /^(::ffff:)?(169\.254\.|168\.63\.129\.16$|100\.100\.100\.200$)|^\[?(::ffff:a9fe:|fe80:|fd00:ec2:)/i.test(address)

const noMetadata: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '', 0)
    const allowed = addresses.filter(({ address }) => !isMetadata(address))
    const [first] = allowed
    if (!first) return callback(new Error('no address'), '', 0)
    if (options.all) callback(null, allowed)
    else callback(null, first.address, first.family)
  })
}
