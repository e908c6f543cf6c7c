/** Code samples of a request in three languages, and syntax highlighting. Samples read the API key from the environment. */

export type SampleRequest = {
  method: string
  url: string
  headers: [string, string][]
  body: string | undefined
  isStream: boolean
}

export const samples: Record<string, { language: string; write: (request: SampleRequest) => string }> = {
  curl: { language: 'curl', write: toCurl },
  JavaScript: { language: 'javascript', write: toJavaScript },
  Python: { language: 'python', write: toPython },
}

function toCurl({ method, url, headers, body, isStream }: SampleRequest): string {
  return [
    `curl ${isStream ? '-N ' : ''}${method === 'GET' ? '' : `-X ${method} `}${shellQuoted(url)}`,
    '-H "Authorization: Bearer $PARLEY_API_KEY"',
    ...headers.map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${shellQuoted(body)}`]),
  ].join(' \\\n  ')
}

function toJavaScript({ method, url, headers, body, isStream }: SampleRequest): string {
  return [
    `const response = await fetch(${quoted(url)}, {`,
    ...(method === 'GET' ? [] : [`  method: ${quoted(method)},`]),
    '  headers: {',
    `    Authorization: \`Bearer \${process.env.PARLEY_API_KEY}\`,`,
    ...headers.map(([name, value]) => `    ${quoted(name)}: ${quoted(value)},`),
    '  },',
    ...(body === undefined
      ? []
      : [`  body: ${jsonOrText(body, (value) => `JSON.stringify(${toLiteral(value, javaScriptSyntax, '  ')})`)},`]),
    '})',
    ...(isStream
      ? ['for await (const text of response.body.pipeThrough(new TextDecoderStream())) console.log(text)']
      : ['const { data, error } = await response.json()']),
  ].join('\n')
}

function toPython({ method, url, headers, body, isStream }: SampleRequest): string {
  // `json=` sets the content type itself.
  const ownHeaders = headers.filter(([name]) => name !== 'Content-Type')
  return [
    'import os',
    'import requests',
    '',
    "key = os.environ['PARLEY_API_KEY']",
    `response = requests.${method.toLowerCase()}(`,
    `    ${quoted(url)},`,
    '    headers={',
    "        'Authorization': f'Bearer {key}',",
    ...ownHeaders.map(([name, value]) => `        ${quoted(name)}: ${quoted(value)},`),
    '    },',
    ...(body === undefined
      ? []
      : [`    ${jsonOrText(body, (value) => `json=${toLiteral(value, pythonSyntax, '    ', '    ')}`, 'data=')},`]),
    ...(isStream ? ['    stream=True,'] : []),
    ')',
    ...(isStream
      ? ['for line in response.iter_lines(decode_unicode=True):', '    print(line)']
      : ['print(response.json())']),
  ].join('\n')
}

/** A body that is not valid JSON, because the reader is still typing, appears as text. */
function jsonOrText(body: string, write: (value: unknown) => string, textPrefix = ''): string {
  try {
    return write(JSON.parse(body))
  } catch {
    return textPrefix + quoted(body)
  }
}

type Syntax = { true: string; false: string; null: string; key: (name: string) => string }
const javaScriptSyntax: Syntax = {
  true: 'true',
  false: 'false',
  null: 'null',
  key: (name) => (/^[a-z_$][\w$]*$/i.test(name) ? name : quoted(name)),
}
const pythonSyntax: Syntax = { true: 'True', false: 'False', null: 'None', key: quoted }

/** A JSON value as a literal of a language. */
function toLiteral(value: unknown, syntax: Syntax, indent = '', step = '  '): string {
  if (typeof value === 'string') return quoted(value)
  if (value === null) return syntax.null
  if (typeof value === 'boolean') return value ? syntax.true : syntax.false
  if (typeof value !== 'object') return String(value)
  const inner = indent + step
  const parts = Array.isArray(value)
    ? value.map((item) => toLiteral(item, syntax, inner, step))
    : Object.entries(value).map(([name, part]) => `${syntax.key(name)}: ${toLiteral(part, syntax, inner, step)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  if (parts.length === 0) return `${open}${close}`
  if (Array.isArray(value) && parts.every((part) => part.length < 24) && parts.length < 4)
    return `[${parts.join(', ')}]`
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`
}

/** Indented JSON in which a list with one short value stays on one line. */
export const prettyJson = (value: unknown): string =>
  (JSON.stringify(value, null, 2) ?? '').replace(/\[\n\s+("(?:[^"\\]|\\.)*"|[\w.-]+)\n\s+\]/g, '[$1]')

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\r', '\\r')}'`
}

const shellQuoted = (text: string): string =>
  /^[\w:/.,=&?%@+-]+$/.test(text) && !/[&?]/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

const keywords: Record<string, RegExp> = {
  curl: /\b(?:curl)\b/,
  javascript: /\b(?:const|let|await|fetch|for|of|do|while|import|from|if|return|new|throw|function|async|export)\b/,
  typescript:
    /\b(?:const|let|await|for|of|import|from|if|return|new|throw|function|async|export|try|catch|type|typeof)\b/,
  python:
    /\b(?:import|from|print|True|False|None|for|in|is|while|if|else|return|def|class|not|or|raise|try|except|continue)\b/,
  php: /\b(?:declare|function|return|if|else|throw|new|exit|true|false|null)\b|\$\w+/,
  go: /\b(?:package|import|func|return|if|var|type|struct|map|go|nil|true|false)\b/,
  json: /\b(?:true|false|null)\b/,
  headers: /^[\w-]+(?=:)/m,
}

/** Longer texts are not highlighted: rendering them would take too long. */
const maxHighlightedLength = 200_000

type Token = { kind?: string; text: string; start: number }

/** Splits code into tokens. `kind` selects the color. */
export function highlight(code: string, language: string): Token[] {
  const keyword = keywords[language]
  if (!keyword || code.length > maxHighlightedLength) return [{ text: code, start: 0 }]
  const string = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/
  const pattern = new RegExp(
    [
      '(?<address>https?://[^\\s\'"`]+)',
      `(?<key>(?:"(?:[^"\\\\]|\\\\.)*"|\\b\\w+)(?=\\s*:[^\\S\\n]))`,
      `(?<string>${string.source})`,
      `(?<comment>${language === 'python' || language === 'curl' ? '(?<=^|\\s)#.*' : '//.*|/\\*[^]*?\\*/'})`,
      `(?<word>${keyword.source})`,
      '(?<flag>(?<=\\s)--?[a-zA-Z][\\w-]*)',
      '(?<number>\\b\\d+(?:\\.\\d+)?\\b)',
    ].join('|'),
    'gm',
  )
  const tokens: Token[] = []
  let end = 0
  for (const match of code.matchAll(pattern)) {
    if (match.index > end) tokens.push({ text: code.slice(end, match.index), start: end })
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined)?.[0]
    tokens.push({ ...(kind ? { kind } : {}), text: match[0], start: match.index })
    end = match.index + match[0].length
  }
  if (end < code.length) tokens.push({ text: code.slice(end), start: end })
  return tokens
}
