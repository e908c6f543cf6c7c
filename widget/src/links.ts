/** Addresses in a text: pieces to be shown as they are, and pieces that lead somewhere. Only http and https do. */
export type Piece = { text: string; href?: string }

const address = /https?:\/\/[^\s<>"'`]+/gi
/** What ends the sentence, not the address. */
const after = /[.,:;!?…»”’*_~]+$/

export function findLinks(text: string): Piece[] {
  const pieces: Piece[] = []
  let from = 0
  for (const found of text.matchAll(address)) {
    const shown = trim(found[0])
    const href = toHref(shown)
    if (!href) continue
    if (found.index > from) pieces.push({ text: text.slice(from, found.index) })
    pieces.push({ text: shown, href })
    from = found.index + shown.length
  }
  if (from < text.length) pieces.push({ text: text.slice(from) })
  return pieces
}

/** A bracket belongs to the address only if it was opened in it. */
function trim(text: string): string {
  const bare = text.replace(after, '')
  const isClosed = bare.endsWith(')') && !bare.includes('(')
  return isClosed ? trim(bare.slice(0, -1)) : bare
}

export function toHref(text: string): string | undefined {
  try {
    const { protocol, hostname, href } = new URL(text)
    return /^https?:$/.test(protocol) && hostname ? href : undefined
  } catch {
    return undefined
  }
}
