/** A request as a command for a terminal. */

type CurlRequest = {
  method: string
  url: string
  /** The command takes the API key from the variable `PARLEY_API_KEY` of the shell. */
  hasKey?: boolean
  headers: readonly { name: string; value: string }[]
  body?: string | { file: string } | undefined
}

/** With `-X HEAD`, curl would wait for a body. */
const verbs: Record<string, string> = { GET: '', HEAD: '--head ' }

/** Nothing of the request can end its quotes, and a body that starts with `@` is not read as the name of a file. */
export function toCurl({ method, url, hasKey = false, headers, body }: CurlRequest): string {
  // curl reads brackets in a URL as a pattern.
  const options = /[[\]{}]/.test(url) ? '--globoff ' : ''
  const verb = verbs[method] ?? `-X ${method} `
  return [
    `curl ${options}${verb}${quoted(url)}`,
    ...(hasKey ? ['-H "Authorization: Bearer $PARLEY_API_KEY"'] : []),
    ...headers.map(({ name, value }) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [typeof body === 'string' ? `--data-raw ${quoted(body)}` : `-d @${body.file}`]),
  ].join(' \\\n  ')
}

/** A terminal obeys control characters also while it pastes, whatever quotes they are in. */
const quoted = (text: string): string => `'${text.replaceAll(/[^\P{Cc}\n\t]/gu, '\ufffd').replaceAll("'", `'\\''`)}'`
