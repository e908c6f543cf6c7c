/** A request as a command for a terminal. */

type CurlRequest = {
  method: string
  url: string
  /** A value may name a variable of the shell: `$PARLEY_API_KEY`. */
  headers: readonly { name: string; value: string }[]
  body?: string | { file: string } | undefined
}

/** Nothing of the request can end its quotes, and a body that starts with `@` is not read as the name of a file. */
export function toCurl({ method, url, headers, body }: CurlRequest): string {
  // curl reads brackets in a URL as a pattern.
  const options = /[[\]{}]/.test(url) ? '--globoff ' : ''
  const verb = method === 'GET' ? '' : `-X ${method} `
  return [
    `curl ${options}${verb}${quoted(url)}`,
    ...headers.map(({ name, value }) => `-H ${headerText(name, value)}`),
    ...(body === undefined ? [] : [typeof body === 'string' ? `--data-raw ${quoted(body)}` : `-d @${body.file}`]),
  ].join(' \\\n  ')
}

const headerText = (name: string, value: string): string =>
  value === 'Bearer $PARLEY_API_KEY' ? `"${name}: ${value}"` : quoted(`${name}: ${value}`)

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
