/**
 * Small valid files for customers who send "a picture": made by code, a few
 * hundred bytes each.
 */
import { deflateSync } from 'node:zlib'

export type MediaType = 'image' | 'video' | 'audio' | 'document' | 'sticker'
export const mediaTypes: readonly MediaType[] = ['image', 'video', 'audio', 'document', 'sticker']

export type MadeUp = { bytes: Buffer; mime_type: string; filename: string }

const makers: Record<MediaType, () => MadeUp> = {
  image: () => ({ bytes: makePng(), mime_type: 'image/png', filename: 'picture.png' }),
  video: () => ({ bytes: makeMp4(), mime_type: 'video/mp4', filename: 'video.mp4' }),
  audio: () => ({ bytes: makeOgg(), mime_type: 'audio/ogg; codecs=opus', filename: 'voice.ogg' }),
  document: () => ({ bytes: makePdf(), mime_type: 'application/pdf', filename: 'document.pdf' }),
  sticker: () => ({ bytes: makeWebp(), mime_type: 'image/webp', filename: 'sticker.webp' }),
}
const made = new Map<MediaType, MadeUp>()

export function madeUp(type: MediaType): MadeUp {
  let file = made.get(type)
  if (!file) {
    file = makers[type]()
    made.set(type, file)
  }
  return file
}

/** 320 by 240: a sky that fades, a sun and a hill. */
function makePng(): Buffer {
  const [width, height] = [320, 240]
  const rows = Buffer.alloc((width * 3 + 1) * height)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const isSun = (x - 240) ** 2 + (y - 70) ** 2 < 32 ** 2
      const isHill = y > 190 - 40 * Math.sin((x / width) * Math.PI)
      const colour = isHill ? [72, 122, 84] : isSun ? [255, 214, 102] : [120 + y / 3, 170 + y / 4, 235]
      rows.set(colour, y * (width * 3 + 1) + 1 + x * 3)
    }
  }
  const size = Buffer.alloc(13)
  size.writeUInt32BE(width, 0)
  size.writeUInt32BE(height, 4)
  size.set([8, 2, 0, 0, 0], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([
    signature,
    chunk('IHDR', size),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(name: string, bytes: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), bytes])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

function crc32(bytes: Buffer): number {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}

/** A second of silence in Opus, in three Ogg pages. */
function makeOgg(): Buffer {
  const head = Buffer.from('OpusHead\x01\x01\x00\x00\x80\xbb\x00\x00\x00\x00\x00', 'latin1')
  const tags = Buffer.from('OpusTags\x07\x00\x00\x00no name\x00\x00\x00\x00', 'latin1')
  const silence = Array.from({ length: 50 }, () => Buffer.from([0xf8, 0xff, 0xfe]))
  return Buffer.concat([oggPage(0, 2, 0, [head]), oggPage(1, 0, 0, [tags]), oggPage(2, 4, 48_000, silence)])
}

function oggPage(number: number, flags: number, position: number, packets: readonly Buffer[]): Buffer {
  const page = Buffer.concat([Buffer.alloc(27), Buffer.from(packets.map(({ length }) => length)), ...packets])
  page.write('OggS', 0, 'latin1')
  page.writeUInt8(flags, 5)
  page.writeBigUInt64LE(BigInt(position), 6)
  page.writeUInt32LE(0x70617266, 14)
  page.writeUInt32LE(number, 18)
  page.writeUInt8(packets.length, 26)
  let crc = 0
  for (const byte of page) {
    crc ^= byte << 24
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x80000000 ? (crc << 1) ^ 0x04c11db7 : crc << 1
  }
  page.writeInt32LE(crc, 22)
  return page
}

function makePdf(): Buffer {
  const words = 'BT /F1 24 Tf 60 760 Td (A document from a simulated customer) Tj ET'
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${words.length} >>\nstream\n${words}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ]
  let text = '%PDF-1.4\n'
  const offsets = objects.map((object, i) => {
    const offset = text.length
    text += `${i + 1} 0 obj\n${object}\nendobj\n`
    return `${String(offset).padStart(10, '0')} 00000 n \n`
  })
  const start = text.length
  text += `xref\n0 6\n0000000000 65535 f \n${offsets.join('')}trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`
  return Buffer.from(text, 'latin1')
}

/** The frame of an MP4 file, with nothing in it to play. */
function makeMp4(): Buffer {
  const box = (name: string, ...inside: Buffer[]) => {
    const body = Buffer.concat([Buffer.from(name, 'latin1'), ...inside])
    const length = Buffer.alloc(4)
    length.writeUInt32BE(body.length + 4)
    return Buffer.concat([length, body])
  }
  const header = Buffer.alloc(100)
  header.writeUInt32BE(1000, 12)
  header.writeUInt32BE(0x00010000, 20)
  header.writeUInt16BE(0x0100, 24)
  for (const [at, value] of [
    [36, 0x00010000],
    [52, 0x00010000],
    [68, 0x40000000],
    [96, 2],
  ] as const)
    header.writeUInt32BE(value, at)
  return Buffer.concat([
    box('ftyp', Buffer.from('isom\x00\x00\x02\x00isomiso2mp41', 'latin1')),
    box('moov', box('mvhd', header)),
    box('mdat', Buffer.alloc(16)),
  ])
}

/** A square of one colour: each of the five codes has one symbol, so the pixels take no bits at all. */
function makeWebp(): Buffer {
  const bits: number[] = []
  const put = (value: number, count: number) => {
    for (let i = 0; i < count; i++) bits.push((value >>> i) & 1)
  }
  const side = 128
  put(0x2f, 8)
  put(side - 1, 14)
  put(side - 1, 14)
  put(1, 1) // The alpha channel is used.
  put(0, 3) // The version.
  put(0, 3) // No transform, no colour cache, one group of codes.
  for (const symbol of [196, 84, 66, 255]) {
    put(0b101, 3) // A simple code of one symbol of eight bits.
    put(symbol, 8)
  }
  put(0b001, 3) // Distances: one symbol of one bit.
  put(0, 1)
  while (bits.length % 16 !== 0) bits.push(0)
  const data = Buffer.alloc(bits.length / 8)
  bits.forEach((bit, i) => {
    data[i >> 3] = (data[i >> 3] ?? 0) | (bit << (i & 7))
  })
  const length = (value: number) => {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(value)
    return bytes
  }
  return Buffer.concat([
    Buffer.from('RIFF'),
    length(12 + data.length),
    Buffer.from('WEBPVP8L'),
    length(data.length),
    data,
  ])
}
