/**
 * The service that a command calls, and the API key it uses.
 *
 * Precedence: the options `--key` and `--url`, then PARLEY_API_KEY and PARLEY_URL (also from `.env` in the folder), then the demo
 * of the folder (DATA_DIR/demo.json). The demo's key is sent only to the demo.
 */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { environment } from '../common/environment.ts'

/** An error that the user can fix. It is printed without a stack trace. */
export class CommandError extends Error {
  /** The API's error code, or a code of the command line. */
  readonly code: string
  /** The API's `error.details`. */
  readonly details: object | undefined
  constructor(code: string, message: string, details?: object) {
    super(message)
    this.name = 'CommandError'
    this.code = code
    this.details = details
  }
}

/** `owner`: the demo's owner, for a simulator that requires a session. */
export type SimulatorTarget = { url: string; owner?: { email: string; password: string } | undefined }

export type Target = {
  key: string
  /** Ends in `/v1`. */
  baseUrl: string
  simulator: SimulatorTarget
  /** Which service and key are in use, for the user. */
  description: string
}

type TargetOptions = { key?: string | undefined; url?: string | undefined; simulator?: string | undefined }

type Demo = { base_url: string; api_key: string; simulator_url: string; owner?: SimulatorTarget['owner'] }

const defaultUrl = 'http://127.0.0.1:4000/v1'

/** `folder`: where `.env` and the data of a demo are. */
export function resolveTarget(options: TargetOptions, folder: string): Target {
  const env = environment(folder)
  const demo = readDemo(env, folder)
  const url = options.url ?? (env.PARLEY_URL?.trim() || undefined)
  const baseUrl = toBaseUrl(url ?? demo?.base_url ?? defaultUrl)
  const isDemo = demo !== undefined && baseUrl === toBaseUrl(demo.base_url)
  const envKey = env.PARLEY_API_KEY?.trim() || undefined
  const key = options.key ?? envKey ?? (isDemo ? demo.api_key : undefined)
  if (!key) throw new CommandError('no_key', `No API key for ${baseUrl}. Use --key or set PARLEY_API_KEY.`)
  // The key becomes a header value.
  if (!/^[\x21-\x7e]+$/.test(key)) throw new CommandError('bad_key', 'The API key contains an invalid character.')
  const source = options.key ? '--key' : envKey ? 'PARLEY_API_KEY' : 'the demo (demo.json)'
  const simulatorUrl =
    options.simulator ?? (isDemo ? demo.simulator_url : `${baseUrl.slice(0, -'/v1'.length)}/simulator`)
  return {
    key,
    baseUrl,
    simulator: {
      url: simulatorUrl.replace(/\/+$/, ''),
      owner: isDemo && options.simulator === undefined ? demo.owner : undefined,
    },
    description: `Using ${baseUrl} with the key from ${source}.`,
  }
}

/** Accepts a URL with or without `/v1` and trailing slashes. */
function toBaseUrl(text: string): string {
  const url = parseUrl(text.trim())
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new CommandError('bad_url', `The service URL must be like http://127.0.0.1:4000, not ${text}`)
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`
}

/** `URL.parse` for Node 20. */
export const parseUrl = (text: string): URL | undefined => (URL.canParse(text) ? new URL(text) : undefined)

/** Returns undefined if there is no demo or the file cannot be read. */
function readDemo(env: Record<string, string | undefined>, folder: string): Demo | undefined {
  const dataDir = env.DATA_DIR?.trim()
  const dataFolder = dataDir ? resolve(dataDir) : join(folder, 'data')
  try {
    const demo: Partial<Demo> = JSON.parse(readFileSync(join(dataFolder, 'demo.json'), 'utf8'))
    const { base_url, api_key, simulator_url, owner } = demo
    return base_url && api_key && simulator_url ? { base_url, api_key, simulator_url, owner } : undefined
  } catch {
    return undefined
  }
}
