/**
 * JSON with one thing a line, for people to read. The text is only spread out, never read and written again: a number
 * too large for the browser stays the number that was sent. What is not JSON comes back as it is.
 */
export function prettyJson(text: string): string {
  if (!isJson(text)) return text
  let depth = 0
  const line = () => `\n${'  '.repeat(depth)}`
  // A string, a bracket with nothing in it, a mark, blank, or anything else up to the next of these.
  const parts = text.match(/"(?:[^"\\]|\\.)*"|\{\s*\}|\[\s*\]|[{}[\],:]|\s+|[^\s{}[\],:"]+/g) ?? []
  return parts
    .map((part) => {
      if (part === '{' || part === '[') {
        depth++
        return part + line()
      }
      if (part === '}' || part === ']') {
        depth--
        return line() + part
      }
      if (part === ',') return part + line()
      if (part === ':') return ': '
      return /^[{[]/.test(part) ? part.replace(/\s/g, '') : /^\s/.test(part) ? '' : part
    })
    .join('')
}

function isJson(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null
  } catch {
    return false
  }
}
