/**
 * Removes secrets from requests and responses before the request log keeps them: API keys, the values of fields and parameters with a name
 * such as `secret`, `token` or `password`, and the credentials of a URL. The work grows linearly with the text.
 */

const removed = '[removed]'

const secretName =
  /secret|token|passw(?:or)?d|pwd|passphrase|authorization|credential|signature|cookie|(?:api|private|access)[_-]?key|(?:^|[_-])otp(?:$|[_-])|^code$|(?:one[_-]?time|verification|security|recovery|backup|auth|login|sms|mfa|2fa)[_-]?code/i

/**
 * A name and the sign after it in a text that is not valid JSON. The work is linear: the name cannot start within a word, and each
 * shorter one fails at its next character.
 */
const name = /(?<![\w-])([\w-]+)["']?\s*[:=]\s*/g
/** The value after the sign. One with brackets may have any length, so the rest of the text is removed. */
const value = /"(?:[^"\\]|\\.)*"?|'[^']*'?|[{[].*|[^\s,;&"'}\]]+/sy
const apiKey = /\b(?:svc_live|legacy_live|whsec)_[^\s"'&,\\]+/g
const bearer = /\b(Bearer|Basic)\s+[^\s"',]+/gi
const urlCredentials = /\/\/[^\s/"'?#@]+@/g

/** Bodies above this size are not parsed: only their beginning is kept. */
const maxParsedBytes = 64 * 1024
const maxBodyLength = 4_096
const maxResponseLength = 64 * 1024

/** The beginning of a body, without secrets. Works for bodies that are not valid JSON too. */
export function redactBody(bytes: Buffer): string {
  const isSmall = bytes.length <= maxParsedBytes
  const text = isSmall ? bytes.toString() : bytes.toString('utf8', 0, maxBodyLength)
  const redacted = (isSmall ? redactJson(text) : undefined) ?? redactText(text)
  const shown = redacted.length > maxBodyLength ? redacted.slice(0, maxBodyLength) : redacted
  return shown.length < redacted.length || !isSmall ? `${shown}…` : shown
}

type ResponseError = { code: string; message: string; details?: object | undefined }

/** The body of an error response, without secrets. The name `code` is secret in a request; here its value is one of ours. */
export function redactError({ code, message, details }: ResponseError): string {
  const parts = [`"code":${JSON.stringify(code)}`, `"message":${JSON.stringify(redactText(message))}`]
  if (details) parts.push(`"details":${JSON.stringify(details, redactField)}`)
  const text = `{"error":{${parts.join(',')}}}`
  return text.length > maxResponseLength ? `${text.slice(0, maxResponseLength)}…` : text
}

/** The headers of a response, one per line, without secrets. */
export function redactHeaders(headers: Readonly<Record<string, unknown>>): string {
  return Object.entries(headers)
    .filter(([, content]) => content !== undefined)
    .map(([field, content]) => `${field}: ${secretName.test(field) ? removed : redactText(String(content))}`)
    .join('\n')
}

/** Replaces secrets in a text. */
export function redactText(text: string): string {
  return removeValues(
    text.replace(apiKey, removed).replace(bearer, `$1 ${removed}`).replace(urlCredentials, `//${removed}@`),
  )
}

/** Replaces the values of secret names. A value of another name may contain a secret name, so it is read as well. */
function removeValues(text: string): string {
  let result = ''
  let copiedTo = 0
  name.lastIndex = 0
  for (let found = name.exec(text); found; found = name.exec(text)) {
    if (!secretName.test(found[1] ?? '')) continue
    value.lastIndex = name.lastIndex
    const [secret] = value.exec(text) ?? []
    if (secret === undefined) continue
    result += `${text.slice(copiedTo, name.lastIndex)}${/^["']/.test(secret) ? `"${removed}"` : removed}`
    copiedTo = name.lastIndex = name.lastIndex + secret.length
  }
  return result + text.slice(copiedTo)
}

/** Undefined for a text that is not JSON, or that is nested too deeply to be written again. */
function redactJson(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text), redactField)
  } catch {
    return undefined
  }
}

/** For `JSON.stringify`. */
function redactField(field: string, content: unknown): unknown {
  if (secretName.test(field) && content !== null) return removed
  return typeof content === 'string' ? redactText(content) : content
}
