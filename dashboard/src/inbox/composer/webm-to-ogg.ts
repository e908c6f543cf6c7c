/**
 * Moves a sound recording from a WebM container to an Ogg container without encoding it again. Chromium records Opus only in
 * WebM, and the channel takes Opus only in Ogg. Pure; throws when the file is not a recording of one Opus track.
 */

/** Element ids of WebM (EBML). A recorder writes clusters of simple blocks without lacing. */
const ids = {
  segment: 0x18538067,
  tracks: 0x1654ae6b,
  entry: 0xae,
  codecPrivate: 0x63a2,
  cluster: 0x1f43b675,
  block: 0xa3,
}
const containers: readonly number[] = [ids.segment, ids.tracks, ids.entry, ids.cluster]

const sampleRate = 48_000
/** Packets per page: about a second. A page has at most 255 segments of 255 bytes. */
const maxSegments = 200

export function webmToOgg(webm: Uint8Array): Uint8Array<ArrayBuffer> {
  const { header, packets } = readOpus(webm)
  const serial = 1
  const pages = [
    toPage({ packets: [header], granule: 0, flags: 2, serial, sequence: 0 }),
    toPage({ packets: [opusTags], granule: 0, flags: 0, serial, sequence: 1 }),
  ]
  let granule = header[10] !== undefined ? header[10] + (header[11] ?? 0) * 256 : 0
  let batch: Uint8Array[] = []
  let segments = 0
  const flush = (isLast: boolean) => {
    pages.push(toPage({ packets: batch, granule, flags: isLast ? 4 : 0, serial, sequence: pages.length }))
    batch = []
    segments = 0
  }
  packets.forEach((packet, i) => {
    batch.push(packet)
    segments += Math.floor(packet.length / 255) + 1
    granule += durationOf(packet)
    const next = packets[i + 1]
    if (!next || segments + Math.floor(next.length / 255) + 1 > maxSegments) flush(!next)
  })
  return concat(pages)
}

/** The `OpusHead` of the track and its packets in order. */
function readOpus(webm: Uint8Array): { header: Uint8Array; packets: Uint8Array[] } {
  let header: Uint8Array | undefined
  const packets: Uint8Array[] = []
  const walk = (start: number, end: number) => {
    for (let at = start; at < end; ) {
      const id = readNumber(webm, at, false)
      const size = readNumber(webm, at + id.length, true)
      const from = at + id.length + size.length
      // A recorder does not know the sizes of the segment and the clusters in advance: they reach to the next one.
      const isOpenEnded = size.value === 2 ** (7 * size.length) - 1
      const to = isOpenEnded ? end : Math.min(end, from + size.value)
      if (containers.includes(id.value)) {
        walk(from, to)
        if (isOpenEnded) return
      } else if (id.value === ids.codecPrivate) header = webm.subarray(from, to)
      // A simple block: the track number (one byte), a time code (two bytes) and flags, then the packet.
      else if (id.value === ids.block) packets.push(webm.subarray(from + 4, to))
      at = to
    }
  }
  walk(0, webm.length)
  if (!header || new TextDecoder().decode(header.subarray(0, 8)) !== 'OpusHead') throw new Error('not an Opus track')
  if (packets.length === 0) throw new Error('the recording is empty')
  return { header, packets }
}

/** A number of variable length: the leading zero bits of the first byte give the length. */
function readNumber(bytes: Uint8Array, at: number, isSize: boolean): { value: number; length: number } {
  const first = bytes[at] ?? 0
  const length = Math.clz32(first) - 23
  if (length > 8) throw new Error('not a WebM file')
  let value = isSize ? first & (0xff >> length) : first
  for (let i = 1; i < length; i++) value = value * 256 + (bytes[at + i] ?? 0)
  return { value, length }
}

/** Frame lengths of Opus in samples, by the configuration in a packet's first byte. */
const silk = [480, 960, 1920, 2880]
const hybrid = [480, 960]
const celt = [120, 240, 480, 960]

/** The duration of an Opus packet in samples at 48 kHz. */
function durationOf(packet: Uint8Array): number {
  const first = packet[0] ?? 0
  const config = first >> 3
  const frame = config < 12 ? silk[config % 4] : config < 16 ? hybrid[config % 2] : celt[config % 4]
  const code = first & 3
  const count = code === 0 ? 1 : code === 3 ? (packet[1] ?? 0) & 0x3f : 2
  return Math.min((frame ?? 0) * count, sampleRate)
}

const ascii = (text: string) => new TextEncoder().encode(text)
const uint32 = (value: number) => Uint8Array.of(value, value >>> 8, value >>> 16, value >>> 24)
const opusTags = concat([ascii('OpusTags'), uint32(6), ascii('Parley'), uint32(0)])

type Page = { packets: readonly Uint8Array[]; granule: number; flags: number; serial: number; sequence: number }

/** A page of whole packets: a packet is cut into segments of 255 bytes, and a shorter one ends it. */
function toPage({ packets, granule, flags, serial, sequence }: Page): Uint8Array<ArrayBuffer> {
  const table = packets.flatMap(({ length }) => [...Array<number>(Math.floor(length / 255)).fill(255), length % 255])
  const page = concat([
    ascii('OggS'),
    Uint8Array.of(0, flags),
    uint32(granule),
    uint32(Math.floor(granule / 2 ** 32)),
    uint32(serial),
    uint32(sequence),
    uint32(0),
    Uint8Array.of(table.length, ...table),
    ...packets,
  ])
  page.set(uint32(checksum(page)), 22)
  return page
}

const crcTable = Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte << 24
  for (let bit = 0; bit < 8; bit++) remainder = (remainder << 1) ^ (remainder < 0 ? 0x04c11db7 : 0)
  return remainder >>> 0
})

const checksum = (bytes: Uint8Array): number =>
  bytes.reduce((crc, byte) => ((crc << 8) ^ (crcTable[(crc >>> 24) ^ byte] ?? 0)) >>> 0, 0)

function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((size, { length }) => size + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
