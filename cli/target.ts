/**
 * Whose workspace, and where: the key and the address a command uses.
 *
 * In this order: the command's own options, PARLEY_API_KEY and PARLEY_URL, the
 * demo of this folder (DATA_DIR/demo.json). The demo's key goes to the demo
 * only. The environment is read by the service's own reader, `.env` included.
 */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { environment } from '../server/config.ts'

/** Something the caller can mend: said in words, with the code of the API where it has one. */
export class Failure extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.name = 'Failure'
    this.code = code
  }
}

/** `owner`: signs in with this where the simulator asks for the session of the demo's owner. */
export type SimulatorTarget = { url: string; owner?: { email: string; password: string } | undefined }

export type Target = {
  key: string
  /** Ends in `/v1`. */
  baseUrl: string
  simulator: SimulatorTarget
  /** Where the two came from, for people. */
  said: string
}

export type Given = { key?: string | undefined; url?: string | undefined; simulator?: string | undefined }

type Demo = { base_url: string; api_key: string; simulator_url: string; owner?: SimulatorTarget['owner'] }

const defaultUrl = 'http://127.0.0.1:4000/v1'

export function resolveTarget(given: Given, env: Record<string, string | undefined> = environment()): Target {
  const demo = readDemo(env)
  const url = given.url ?? (env.PARLEY_URL?.trim() || undefined)
  const baseUrl = toBaseUrl(url ?? demo?.base_url ?? defaultUrl)
  const isDemo = demo !== undefined && baseUrl === toBaseUrl(demo.base_url)
  const envKey = env.PARLEY_API_KEY?.trim() || undefined
  const key = given.key ?? envKey ?? (isDemo ? demo.api_key : undefined)
  if (!key) {
    throw new Failure('no_key', `no API key for ${baseUrl}: give --key or set PARLEY_API_KEY`)
  }
  // It goes into a header, and no key has anything else.
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Failure('bad_key', 'the API key has a character that no key has')
  const source = given.key ? '--key' : envKey ? 'PARLEY_API_KEY' : 'the demo (demo.json)'
  const simulatorUrl = given.simulator ?? (isDemo ? demo.simulator_url : `${baseUrl.slice(0, -'/v1'.length)}/simulator`)
  return {
    key,
    baseUrl,
    simulator: {
      url: simulatorUrl.replace(/\/+$/, ''),
      owner: isDemo && given.simulator === undefined ? demo.owner : undefined,
    },
    said: `Using ${baseUrl} with the key of ${source}.`,
  }
}

/** With or without `/v1` and a slash at its end. */
function toBaseUrl(text: string): string {
  const url = URL.parse(text.trim())
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new Failure('bad_url', `not an address of the service: ${text} (such as http://127.0.0.1:4000)`)
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`
}

/** What the demo says of itself; a service without one has no such file, and one that is not ours cannot be read. */
function readDemo(env: Record<string, string | undefined>): Demo | undefined {
  const dataDir = env.DATA_DIR?.trim()
  const folder = dataDir ? resolve(dataDir) : join(import.meta.dirname, '..', 'data')
  try {
    const demo: Partial<Demo> = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8'))
    const { base_url, api_key, simulator_url, owner } = demo
    return base_url && api_key && simulator_url ? { base_url, api_key, simulator_url, owner } : undefined
  } catch {
    return undefined
  }
}
