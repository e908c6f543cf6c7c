/**
 * Detects the type of a file by its first bytes. A sender may claim any type, but the type that browsers get must be true.
 */

/** The number of first bytes that detection needs. */
export const headBytes = 64

const starts: readonly (readonly [string, (head: Buffer) => boolean])[] = [
  ['image/jpeg', (head) => hasBytes(head, 0, [0xff, 0xd8, 0xff])],
  ['image/png', (head) => hasBytes(head, 0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])],
  ['image/gif', (head) => /^GIF8[79]a/.test(textOf(head, 0, 6))],
  ['image/webp', (head) => textOf(head, 0, 4) === 'RIFF' && textOf(head, 8, 12) === 'WEBP'],
  ['audio/wav', (head) => textOf(head, 0, 4) === 'RIFF' && textOf(head, 8, 12) === 'WAVE'],
  ['audio/ogg', (head) => textOf(head, 0, 4) === 'OggS' && hasBytes(head, 4, [0])],
  ['audio/amr', (head) => textOf(head, 0, 6) === '#!AMR\n'],
  ['audio/mpeg', (head) => textOf(head, 0, 3) === 'ID3' || isMp3Frame(head)],
  ['audio/aac', (head) => head[0] === 0xff && ((head[1] ?? 0) & 0xf6) === 0xf0],
  ['application/pdf', (head) => textOf(head, 0, 5) === '%PDF-'],
]

/** Brands of MP4 containers. */
const brands: readonly (readonly [RegExp, string])[] = [
  [/^M4[AB] /, 'audio/mp4'],
  [/^3g[p2]/, 'video/3gpp'],
  [/^(isom|iso\d|mp4\d|avc1|M4V |MSNV|dash|mmp4)/, 'video/mp4'],
]

/** Undefined: an unknown type. */
export function typeOfBytes(head: Buffer): string | undefined {
  const [known] = starts.find(([, is]) => is(head)) ?? []
  if (known) return known
  const brand = textOf(head, 4, 8) === 'ftyp' ? textOf(head, 8, 12) : ''
  return brands.find(([pattern]) => pattern.test(brand))?.[1]
}

const hasBytes = (head: Buffer, at: number, bytes: readonly number[]) => bytes.every((byte, i) => head[at + i] === byte)
const textOf = (head: Buffer, start: number, end: number) => head.toString('latin1', start, end)

/** MPEG layer 3 of any version with a valid bit rate. The layer distinguishes it from AAC. */
function isMp3Frame(head: Buffer): boolean {
  const [sync = 0, kind = 0, rate = 0] = head
  return sync === 0xff && (kind & 0xe6) === 0xe2 && (kind & 0x18) !== 0x08 && rate >> 4 !== 0xf && rate >> 4 !== 0
}
