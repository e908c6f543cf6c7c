/**
 * The format of a CSV file: its encoding and its delimiter, by the first bytes, and the conversion of UTF-16.
 *
 * Only UTF-8 is read without a mark. Spreadsheet programs may also write the code page of their machine, which a file does not name: a
 * guess would garble names silently.
 */

export const delimiters = [',', ';', '\t'] as const
export type Delimiter = (typeof delimiters)[number]

export const encodings = ['utf-8', 'utf-16le', 'utf-16be'] as const
export type Encoding = (typeof encodings)[number]

export type ByteSource = {
  size: number
  /** The bytes from `start` up to `end`, without the byte at `end`. */
  read(start: number, end: number): Promise<Buffer>
}

/** A fault of the file as a whole. Without a line, it concerns no single one. */
export class CsvError extends Error {
  readonly line: number | undefined

  constructor(line: number | undefined, message: string) {
    super(message)
    this.line = line
  }
}

const [lineFeed, carriageReturn, space, quote] = [10, 13, 32, 34]

export const advice = 'save it as “CSV UTF-8”'

/** The encoding by the first bytes, and where the text starts. Throws for a file that is no CSV. */
function detectEncoding(head: Buffer): { encoding: Encoding; start: number } {
  const startsWith = (...bytes: number[]) => bytes.every((byte, i) => head[i] === byte)
  if (startsWith(0x50, 0x4b, 3, 4) || startsWith(0xd0, 0xcf, 0x11, 0xe0)) {
    throw new CsvError(undefined, `is a spreadsheet; ${advice}`)
  }
  if (startsWith(0x1f, 0x8b)) throw new CsvError(undefined, 'is compressed; choose the CSV file itself')
  if (startsWith(0xff, 0xfe, 0, 0) || startsWith(0, 0, 0xfe, 0xff))
    throw new CsvError(undefined, `is UTF-32; ${advice}`)
  if (startsWith(0xff, 0xfe)) return { encoding: 'utf-16le', start: 2 }
  if (startsWith(0xfe, 0xff)) return { encoding: 'utf-16be', start: 2 }
  if (head[0] === 0 || head[1] === 0) {
    throw new CsvError(undefined, `is UTF-16 without a byte order mark; ${advice}`)
  }
  return { encoding: 'utf-8', start: startsWith(0xef, 0xbb, 0xbf) ? 3 : 0 }
}

const headBytes = 64 * 1024

/** Reads the first bytes: the encoding, where the text starts, and the delimiter that is most frequent in its first line. */
export async function detectFormat(
  source: ByteSource,
): Promise<{ encoding: Encoding; start: number; delimiter: Delimiter }> {
  const head = await source.read(0, Math.min(source.size, headBytes))
  const { encoding, start } = detectEncoding(head)
  const text = encoding === 'utf-8' ? head.subarray(start) : decodeUtf16(head.subarray(start), encoding).bytes
  return { encoding, start, delimiter: guessDelimiter(text) }
}

/** The delimiter that occurs most often in the first line with any content, outside of quotes. */
function guessDelimiter(bytes: Buffer): Delimiter {
  const counts: Record<Delimiter, number> = { ',': 0, ';': 0, '\t': 0 }
  let isQuoted = false
  let isBlank = true
  for (const byte of bytes) {
    if (byte === quote) isQuoted = !isQuoted
    if (isQuoted) continue
    if ((byte === lineFeed || byte === carriageReturn) && !isBlank) break
    if (byte > space) isBlank = false
    const character = String.fromCharCode(byte)
    if (character === ',' || character === ';' || character === '\t') counts[character]++
  }
  if (counts[';'] > counts[','] && counts[';'] >= counts['\t']) return ';'
  return counts['\t'] > counts[','] ? '\t' : ','
}

/** `length`: how many bytes were decoded. Half a character at the end is not, and nothing from the first unit that is no character. */
export function decodeUtf16(
  read: Buffer,
  encoding: Exclude<Encoding, 'utf-8'>,
): { bytes: Buffer; length: number; isBroken: boolean } {
  const even = Buffer.from(read.subarray(0, read.length - (read.length % 2)))
  if (encoding === 'utf-16be') even.swap16()
  const whole = even.toString('utf16le')
  const isSplit = (whole.charCodeAt(whole.length - 1) & 0xfc00) === 0xd800
  const text = isSplit ? whole.slice(0, -1) : whole
  const good = text.isWellFormed() ? text : text.slice(0, findLoneSurrogate(text))
  return { bytes: Buffer.from(good), length: 2 * good.length, isBroken: good.length < text.length }
}

function findLoneSurrogate(text: string): number {
  for (let i = 0; i < text.length; i++) {
    const kind = text.charCodeAt(i) & 0xfc00
    if (kind === 0xdc00) return i
    if (kind !== 0xd800) continue
    if ((text.charCodeAt(i + 1) & 0xfc00) !== 0xdc00) return i
    i++
  }
  return text.length
}

/** The number of UTF-16 units of a text in UTF-8: one per character, two for those of four bytes. */
export function countUnits(bytes: Buffer): number {
  let count = 0
  for (const byte of bytes) {
    if ((byte & 0xc0) !== 0x80) count++
    if (byte >= 0xf0) count++
  }
  return count
}
