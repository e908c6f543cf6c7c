/**
 * Removes secrets from requests before the request log keeps them: API keys, the values of fields and parameters with a name
 * such as `secret`, `token` or `password`, and the credentials of a URL.
 */

const removed = '[removed]'

const secretWords =
  'secret|token|passw(?:or)?d|pwd|passphrase|authorization|credential|signature|cookie|(?:api|private|access)[_-]?key'
const secretName = new RegExp(secretWords, 'i')

/** A name and its value in a text that is not valid JSON. A value with brackets may have any length, so the rest is removed. */
const secretPair = new RegExp(
  `(?<![\\w-])([\\w-]*(?:${secretWords})[\\w-]*["']?\\s*[:=]\\s*)("(?:[^"\\\\]|\\\\.)*"?|'[^']*'?|[{[][^]*|[^\\s,;&"'}\\]]+)`,
  'gi',
)
const apiKey = /\b(?:svc_live|legacy_live|whsec)_[^\s"'&,\\]+/g
const bearer = /\b(Bearer|Basic)\s+[^\s"',]+/gi
const urlCredentials = /\/\/[^\s/"'?#@]+@/g

/** Bodies above this size are not parsed: only their beginning is kept. */
const maxParsedBytes = 64 * 1024
const maxBodyLength = 4_096

/** The beginning of a body, without secrets. Works for bodies that are not valid JSON too. */
export function redactBody(bytes: Buffer): string {
  const isSmall = bytes.length <= maxParsedBytes
  const text = isSmall ? bytes.toString() : bytes.toString('utf8', 0, maxBodyLength)
  const redacted = (isSmall ? redactJson(text) : undefined) ?? redactText(text)
  const shown = redacted.length > maxBodyLength ? redacted.slice(0, maxBodyLength) : redacted
  return shown.length < redacted.length || !isSmall ? `${shown}…` : shown
}

/** Replaces secrets in a text. */
export function redactText(text: string): string {
  return text
    .replace(apiKey, removed)
    .replace(bearer, `$1 ${removed}`)
    .replace(urlCredentials, `//${removed}@`)
    .replace(
      secretPair,
      (_pair, name: string, value: string) => `${name}${/^["']/.test(value) ? `"${removed}"` : removed}`,
    )
}

function redactJson(text: string): string | undefined {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return undefined
  }
  return JSON.stringify(body, (name, value: unknown) => {
    if (secretName.test(name) && value !== null) return removed
    return typeof value === 'string' ? redactText(value) : value
  })
}
