/**
 * A list of people as somebody pastes or uploads it: a number and perhaps a
 * name a line, parted by a comma, semicolon or tab, a cell in quotes if it must
 * be. A first line without any digit names the columns.
 *
 * What plainly is no number is named with its line; whether the others are
 * numbers is the service's to say.
 */
type Person = { to: string; name?: string }
export type Numbers = {
  people: readonly Person[]
  bad: readonly { line: number; text: string }[]
  /** So many lines say a number that another said before. */
  twice: number
}

export const mostPeople = 1_000
export const mostBytes = 1_048_576

type Columns = { phone: number; name: number }

export function readNumbers(text: string): Numbers {
  const people: Person[] = []
  const bad: { line: number; text: string }[] = []
  const known = new Set<string>()
  let columns: Columns = { phone: 0, name: 1 }
  let twice = 0
  let isFirst = true
  for (const [at, line] of text
    .replace(/^\ufeff/, '')
    .split(/\r\n|\r|\n/)
    .entries()) {
    if (line.trim() === '') continue
    const cells = readCells(line)
    const named = isFirst ? readColumns(cells) : undefined
    isFirst = false
    if (named) {
      columns = named
      continue
    }
    const to = cells[columns.phone] ?? ''
    const name = (cells[columns.name] ?? '').slice(0, 500)
    const digits = to.replace(/\D/g, '')
    if (!isLikely(to, digits)) bad.push({ line: at + 1, text: line.trim().slice(0, 80) })
    else if (known.has(digits)) twice++
    else {
      known.add(digits)
      people.push(name ? { to, name } : { to })
    }
  }
  return { people, bad, twice }
}

/** Only what people write numbers with, and as many digits as one has. */
const isLikely = (text: string, digits: string): boolean =>
  /^[\d\s().+/–-]+$/.test(text) && digits.length >= 5 && digits.length <= 17

function readColumns(cells: readonly string[]): Columns | undefined {
  if (cells.some((cell) => /\d/.test(cell))) return undefined
  const phone = cells.findIndex((cell) => /phone|number|mobile|tel|^to$/i.test(cell))
  const name = cells.findIndex((cell, at) => at !== phone && /name/i.test(cell))
  return phone === -1 ? undefined : { phone, name }
}

function readCells(line: string): string[] {
  const cells: string[] = []
  for (const [, quoted, plain = ''] of line.matchAll(/(?:^|[,;\t])\s*(?:"((?:[^"]|"")*)"|([^,;\t]*))/g)) {
    cells.push((quoted?.replaceAll('""', '"') ?? plain).trim())
  }
  return cells
}
