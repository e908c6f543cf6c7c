/** Splits a text into plain parts and links. Only http and https URLs become links. */
export type TextPart = { text: string; href?: string }

const urlPattern = /https?:\/\/[^\s<>"'`]+/gi
/** Punctuation that ends the sentence, not the URL. */
const trailingPunctuation = /[.,:;!?…»”’*_~]+$/

export function findLinks(text: string): TextPart[] {
  const parts: TextPart[] = []
  let end = 0
  for (const match of text.matchAll(urlPattern)) {
    const url = trim(match[0])
    const href = toHref(url)
    if (!href) continue
    if (match.index > end) parts.push({ text: text.slice(end, match.index) })
    parts.push({ text: url, href })
    end = match.index + url.length
  }
  if (end < text.length) parts.push({ text: text.slice(end) })
  return parts
}

/** Removes trailing punctuation, and a closing bracket that was not opened inside the URL. */
function trim(url: string): string {
  const bare = url.replace(trailingPunctuation, '')
  const hasUnmatchedBracket = bare.endsWith(')') && !bare.includes('(')
  return hasUnmatchedBracket ? trim(bare.slice(0, -1)) : bare
}

export function toHref(text: string): string | undefined {
  try {
    const { protocol, hostname, href } = new URL(text)
    return /^https?:$/.test(protocol) && hostname ? href : undefined
  } catch {
    return undefined
  }
}
