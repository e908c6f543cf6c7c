/** Writes `.tar.gz` archives whose bytes depend only on the files: order, owners, modes and times are fixed. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'

const blockSize = 512
/** The time that npm gives to the files of a package: 1985-10-26 08:15 UTC. */
const modifiedAt = 499_162_500

/** Packs the files of a folder under its name, in the format `ustar`. Of the modes, only the executable bit of the owner is kept. */
export function packFolder(folder: string, file: string): void {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(folder, path)).isFile())
    .sort()
  const parts = files.flatMap((path) => {
    const content = readFileSync(join(folder, path))
    const isExecutable = (statSync(join(folder, path)).mode & 0o100) !== 0
    const padding = Buffer.alloc((blockSize - (content.length % blockSize)) % blockSize)
    return [createHeader(`${basename(folder)}/${path}`, isExecutable ? 0o755 : 0o644, content.length), content, padding]
  })
  writeFileSync(file, gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * blockSize)])))
}

function createHeader(path: string, mode: number, size: number): Buffer {
  const { prefix, name } = splitPath(path)
  const header = Buffer.alloc(blockSize)
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`
  header.write(name, 0)
  header.write(octal(mode, 8), 100)
  header.write(octal(0, 8), 108)
  header.write(octal(0, 8), 116)
  header.write(octal(size, 12), 124)
  header.write(octal(modifiedAt, 12), 136)
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  header.write(prefix, 345)
  // The sum is computed with blanks in its own place.
  header.write(' '.repeat(8), 148)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${octal(sum, 7)} `, 148)
  return header
}

/** A header has 100 bytes for the name and 155 for the folders before it. */
function splitPath(path: string): { prefix: string; name: string } {
  if (Buffer.byteLength(path) <= 100) return { prefix: '', name: path }
  const slash = path.indexOf('/', path.length - 101)
  const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)]
  if (slash < 1 || Buffer.byteLength(prefix) > 155 || Buffer.byteLength(name) > 100)
    throw new Error(`the path is too long for an archive: ${path}`)
  return { prefix, name }
}
