// @ts-check
/**
 * The same request in three languages, and the colours of code.
 *
 * The key is always read from the environment: a sample is made to be pasted
 * and shown around.
 */

/** @typedef {{ method: string, url: string, headers: [string, string][], body: string | undefined, streams: boolean }} Request */

/** @type {Record<string, { language: string, write: (request: Request) => string }>} */
export const samples = {
  curl: { language: 'curl', write: toCurl },
  JavaScript: { language: 'javascript', write: toJavaScript },
  Python: { language: 'python', write: toPython },
}

/** @param {Request} request */
function toCurl({ method, url, headers, body, streams }) {
  const lines = [`curl ${streams ? '-N ' : ''}${method === 'GET' ? '' : `-X ${method} `}${shellQuoted(url)}`]
  lines.push('-H "Authorization: Bearer $PARLEY_API_KEY"')
  for (const [name, value] of headers) lines.push(`-H ${shellQuoted(`${name}: ${value}`)}`)
  if (body !== undefined) lines.push(`-d ${shellQuoted(body)}`)
  return lines.join(' \\\n  ')
}

/** @param {Request} request */
function toJavaScript({ method, url, headers, body, streams }) {
  const sent = [
    `    Authorization: \`Bearer \${process.env.PARLEY_API_KEY}\`,`,
    ...headers.map(([name, value]) => `    ${quoted(name)}: ${quoted(value)},`),
  ]
  return [
    `const response = await fetch(${quoted(url)}, {`,
    ...(method === 'GET' ? [] : [`  method: ${quoted(method)},`]),
    '  headers: {',
    ...sent,
    '  },',
    ...(body === undefined
      ? []
      : [`  body: ${jsonOr(body, (value) => `JSON.stringify(${toCode(value, javaScriptWords, '  ')})`)},`]),
    '})',
    ...(streams
      ? ['for await (const text of response.body.pipeThrough(new TextDecoderStream())) console.log(text)']
      : ['const { data, error } = await response.json()']),
  ].join('\n')
}

/** @param {Request} request */
function toPython({ method, url, headers, body, streams }) {
  // `json=` sets the content type itself.
  const sent = headers.filter(([name]) => name !== 'Content-Type')
  return [
    'import os',
    'import requests',
    '',
    "key = os.environ['PARLEY_API_KEY']",
    `response = requests.${method.toLowerCase()}(`,
    `    ${quoted(url)},`,
    '    headers={',
    "        'Authorization': f'Bearer {key}',",
    ...sent.map(([name, value]) => `        ${quoted(name)}: ${quoted(value)},`),
    '    },',
    ...(body === undefined
      ? []
      : [`    ${jsonOr(body, (value) => `json=${toCode(value, pythonWords, '    ', '    ')}`, 'data=')},`]),
    ...(streams ? ['    stream=True,'] : []),
    ')',
    ...(streams
      ? ['for line in response.iter_lines(decode_unicode=True):', '    print(line)']
      : ['print(response.json())']),
  ].join('\n')
}

/**
 * A body that is no JSON yet, because it is being typed, is shown as the text it is.
 * @param {string} body
 * @param {(value: unknown) => string} write
 */
function jsonOr(body, write, before = '') {
  try {
    return write(JSON.parse(body))
  } catch {
    return before + quoted(body)
  }
}

const javaScriptWords = {
  true: 'true',
  false: 'false',
  null: 'null',
  key: (/** @type {string} */ name) => (/^[a-z_$][\w$]*$/i.test(name) ? name : quoted(name)),
}
const pythonWords = { true: 'True', false: 'False', null: 'None', key: quoted }

/**
 * A JSON value as a literal of a language.
 * @param {unknown} value
 * @param {typeof javaScriptWords} words
 * @returns {string}
 */
function toCode(value, words, indent = '', step = '  ') {
  if (typeof value === 'string') return quoted(value)
  if (value === null || typeof value === 'boolean') return words[/** @type {'true'} */ (String(value))]
  if (typeof value !== 'object') return String(value)
  const inner = indent + step
  const parts = Array.isArray(value)
    ? value.map((item) => toCode(item, words, inner, step))
    : Object.entries(value).map(([name, part]) => `${words.key(name)}: ${toCode(part, words, inner, step)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  if (parts.length === 0) return `${open}${close}`
  if (Array.isArray(value) && parts.every((part) => part.length < 24) && parts.length < 4)
    return `[${parts.join(', ')}]`
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`
}

/**
 * JSON as people write it: a list of one short value stays on its line.
 * @param {unknown} value
 */
export function prettyJson(value) {
  return JSON.stringify(value, null, 2).replace(/\[\n\s+("(?:[^"\\]|\\.)*"|[\w.-]+)\n\s+\]/g, '[$1]')
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replace(/[\\']/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\r', '\\r')}'`
}

/** @param {string} text */
function shellQuoted(text) {
  return /^[\w:/.,=&?%@+-]+$/.test(text) && !/[&?]/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

const words = {
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

/** Past this size colours cost more than they give. */
const coloredCharacters = 200_000

/**
 * Code cut into pieces, each with the kind that gives its colour.
 * @param {string} code
 * @param {string} language
 * @returns {{ kind?: string, text: string }[]}
 */
export function highlight(code, language) {
  const word = words[/** @type {keyof typeof words} */ (language)]
  if (!word || code.length > coloredCharacters) return [{ text: code }]
  const string = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/
  const pattern = new RegExp(
    [
      '(?<address>https?://[^\\s\'"`]+)',
      `(?<key>(?:"(?:[^"\\\\]|\\\\.)*"|\\b\\w+)(?=\\s*:[^\\S\\n]))`,
      `(?<string>${string.source})`,
      `(?<comment>${language === 'python' || language === 'curl' ? '(?<=^|\\s)#.*' : '//.*|/\\*[^]*?\\*/'})`,
      `(?<word>${word.source})`,
      '(?<flag>(?<=\\s)--?[a-zA-Z][\\w-]*)',
      '(?<number>\\b\\d+(?:\\.\\d+)?\\b)',
    ].join('|'),
    'gm',
  )
  const pieces = []
  let end = 0
  for (const match of code.matchAll(pattern)) {
    if (match.index > end) pieces.push({ text: code.slice(end, match.index) })
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined)?.[0]
    pieces.push({ ...(kind ? { kind } : {}), text: match[0] })
    end = match.index + match[0].length
  }
  if (end < code.length) pieces.push({ text: code.slice(end) })
  return pieces
}
