/**
 * A picture of a page as a PNG with a palette: a third of what the browser
 * writes, and nobody sees the difference.
 *
 * The palette is found by median cut: the box of colours that spreads most,
 * weighed by how often they occur, is halved until there are 256.
 */
import { crc32, deflateSync, inflateSync } from 'node:zlib'

type Pixels = { width: number; height: number; rgb: Buffer }
type Color = { rgb: number; count: number }

const maxColors = 256
const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

export function toSmallPng(png: Buffer): Buffer {
  const { width, height, rgb } = readPng(png)
  const counts = new Map<number, number>()
  for (let at = 0; at < rgb.length; at += 3) {
    const color = rgb.readUIntBE(at, 3)
    counts.set(color, (counts.get(color) ?? 0) + 1)
  }
  const boxes = cut([...counts].map(([color, count]) => ({ rgb: color, count })))
  const placeOf = new Map(boxes.flatMap((box, place) => box.map(({ rgb: color }) => [color, place] as const)))
  const rows = Buffer.alloc((width + 1) * height)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      rows[y * (width + 1) + 1 + x] = placeOf.get(rgb.readUIntBE((y * width + x) * 3, 3)) ?? 0
    }
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  // Eight bits a pixel, by palette.
  head.set([8, 3, 0, 0, 0], 8)
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('PLTE', Buffer.from(boxes.flatMap(averageOf))),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

const channels = [16, 8, 0] as const
const partOf = (rgb: number, shift: number) => (rgb >> shift) & 0xff

function cut(colors: Color[]): Color[][] {
  const boxes = [colors]
  while (boxes.length < maxColors) {
    const spreads = boxes.map(spreadOf)
    const place = spreads.reduce((best, { weight }, i) => (weight > (spreads[best]?.weight ?? 0) ? i : best), 0)
    const box = boxes[place]
    const spread = spreads[place]
    if (!box || !spread || spread.weight === 0) break
    box.sort((one, other) => partOf(one.rgb, spread.shift) - partOf(other.rgb, spread.shift))
    // Where the colours' own middle is, so that rare ones far away have a box of theirs.
    const limit = (partOf(box[0]?.rgb ?? 0, spread.shift) + partOf(box.at(-1)?.rgb ?? 0, spread.shift)) / 2
    const middle = box.findIndex(({ rgb }) => partOf(rgb, spread.shift) > limit)
    boxes.splice(place, 1, box.slice(0, middle), box.slice(middle))
  }
  return boxes
}

/** Along which channel a box is widest, and how much that matters. */
function spreadOf(box: readonly Color[]): { shift: number; weight: number } {
  let widest = { shift: 0, width: 0 }
  for (const shift of channels) {
    let [low, high] = [255, 0]
    for (const { rgb } of box) {
      low = Math.min(low, partOf(rgb, shift))
      high = Math.max(high, partOf(rgb, shift))
    }
    if (high - low > widest.width) widest = { shift, width: high - low }
  }
  const count = box.reduce((sum, color) => sum + color.count, 0)
  return { shift: widest.shift, weight: widest.width ** 2 * Math.sqrt(count) }
}

function averageOf(box: readonly Color[]): number[] {
  const count = box.reduce((sum, color) => sum + color.count, 0)
  return channels.map((shift) =>
    Math.round(box.reduce((sum, { rgb, count: n }) => sum + partOf(rgb, shift) * n, 0) / Math.max(1, count)),
  )
}

/** As Chromium writes them: eight bits a channel, with or without transparency, which is dropped. */
function readPng(png: Buffer): Pixels {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)]
  const size = png[25] === 6 ? 4 : 3
  const parts: Buffer[] = []
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  }
  const raw = inflateSync(Buffer.concat(parts))
  const rgb = Buffer.alloc(width * height * 3)
  let above = Buffer.alloc(width * size)
  for (let y = 0; y < height; y++) {
    const start = y * (width * size + 1)
    const row = Buffer.from(raw.subarray(start + 1, start + 1 + width * size))
    unfilter(raw[start] ?? 0, row, above, size)
    for (let x = 0; x < width; x++) row.copy(rgb, (y * width + x) * 3, x * size, x * size + 3)
    above = row
  }
  return { width, height, rgb }
}

/** Each filter of PNG says what is added to a byte: its neighbour to the left, above, both, or whichever is nearest. */
function unfilter(filter: number, row: Buffer, above: Buffer, size: number): void {
  for (let x = 0; x < row.length; x++) {
    const left = row[x - size] ?? 0
    const up = above[x] ?? 0
    const corner = x < size ? 0 : (above[x - size] ?? 0)
    const added = [0, left, up, (left + up) >> 1, nearest(left, up, corner)][filter] ?? 0
    row[x] = (row[x] ?? 0) + added
  }
}

function nearest(left: number, up: number, corner: number): number {
  const [toLeft, toUp, toCorner] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)]
  if (toLeft <= toUp && toLeft <= toCorner) return left
  return toUp <= toCorner ? up : corner
}

function chunk(name: string, bytes: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), bytes])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
