/**
 * Parses a pasted or uploaded list of recipients: one per line, phone number and optional name, separated by comma, semicolon
 * or tab, with optional quotes. A first line without digits is a header.
 *
 * Lines that cannot be phone numbers are reported with their line number. The service validates the rest.
 */
type Recipient = { to: string; name?: string }
export type RecipientList = {
  recipients: readonly Recipient[]
  invalid: readonly { line: number; text: string }[]
  /** The number of lines that repeat an earlier phone number. */
  duplicateCount: number
}

export const maxRecipients = 1_000
export const maxFileBytes = 1_048_576

type Columns = { phone: number; name: number }

export function parseRecipients(text: string): RecipientList {
  const recipients: Recipient[] = []
  const invalid: { line: number; text: string }[] = []
  const seen = new Set<string>()
  let columns: Columns = { phone: 0, name: 1 }
  let duplicateCount = 0
  let isFirst = true
  for (const [index, line] of text
    .replace(/^\ufeff/, '')
    .split(/\r\n|\r|\n/)
    .entries()) {
    if (line.trim() === '') continue
    const cells = readCells(line)
    const header = isFirst ? readColumns(cells) : undefined
    isFirst = false
    if (header) {
      columns = header
      continue
    }
    const to = cells[columns.phone] ?? ''
    const name = (cells[columns.name] ?? '').slice(0, 500)
    const digits = to.replace(/\D/g, '')
    if (!looksLikePhone(to, digits)) invalid.push({ line: index + 1, text: line.trim().slice(0, 80) })
    else if (seen.has(digits)) duplicateCount++
    else {
      seen.add(digits)
      recipients.push(name ? { to, name } : { to })
    }
  }
  return { recipients, invalid, duplicateCount }
}

/** Only characters of phone numbers, and 5 to 17 digits. */
const looksLikePhone = (text: string, digits: string): boolean =>
  /^[\d\s().+/–-]+$/.test(text) && digits.length >= 5 && digits.length <= 17

function readColumns(cells: readonly string[]): Columns | undefined {
  if (cells.some((cell) => /\d/.test(cell))) return undefined
  const phone = cells.findIndex((cell) => /phone|number|mobile|tel|^to$/i.test(cell))
  const name = cells.findIndex((cell, index) => index !== phone && /name/i.test(cell))
  return phone === -1 ? undefined : { phone, name }
}

function readCells(line: string): string[] {
  const cells: string[] = []
  for (const [, quoted, plain = ''] of line.matchAll(/(?:^|[,;\t])\s*(?:"((?:[^"]|"")*)"|([^,;\t]*))/g)) {
    cells.push((quoted?.replaceAll('""', '"') ?? plain).trim())
  }
  return cells
}
