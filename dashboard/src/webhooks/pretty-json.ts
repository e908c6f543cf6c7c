/**
 * Indents JSON without parsing and serializing it, so that numbers beyond the precision of JavaScript stay exact. Returns
 * other text unchanged.
 */
export function prettyJson(text: string): string {
  if (!isJson(text)) return text
  let depth = 0
  const line = () => `\n${'  '.repeat(depth)}`
  // Tokens: a string, an empty object or array, a structural character, white space, or any other value.
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
