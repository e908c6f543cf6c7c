/** The port, and the service that listens on it. */
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { version } from '../../common/version.ts'
import { createHttp } from '../lib/http/client.ts'
import { type Listener, listListeners, tryPort } from '../lib/process/port.ts'
import { ok, problem, type Result, skipped, toLine, warning } from './check.ts'
import { faultIn, type Installation } from './installation.ts'

/** What listens on the port. `stranger`: another program. `other`: a Parley with another data folder. */
export type Found =
  | { kind: 'none' | 'unknown' }
  | { kind: 'stranger'; listeners: Listener[]; answer: string }
  | {
      kind: 'parley' | 'other'
      isOwn: boolean
      listeners: Listener[]
      version: string | undefined
      readiness: Readiness
    }

type Readiness = { ready?: boolean; failing?: string[]; restarting?: string[] }

const askMs = 2_500

export async function probeService(installation: Installation): Promise<Found> {
  if (faultIn(installation, 'PORT', 'HOST', 'TLS_CERT_FILE', 'TLS_KEY_FILE')) return { kind: 'unknown' }
  const { origin, config } = installation
  if (!(await accepts(origin))) return { kind: 'none' }
  const http = createHttp({ connections: 4 })
  const ask = async (path: string) => {
    const answer = await http.request({ method: 'GET', url: origin + path, timeoutMs: askMs, isPrivate: true })
    return answer.ok
      ? { status: answer.status, text: answer.body.toString('utf8') }
      : { status: 0, text: answer.message }
  }
  try {
    const [listeners, health, readiness, metrics] = await Promise.all([
      listListeners(config.port).catch(() => []),
      ...['/healthz', '/readyz', '/metrics'].map(ask),
    ])
    const json = parse(readiness?.text)
    if (parse(health?.text)?.status === 'ok' && typeof json?.ready === 'boolean') {
      const [, running] = /^parley_build_info\{.*?version="([^"]+)"/m.exec(metrics?.text ?? '') ?? []
      return { kind: 'parley', isOwn: false, listeners, version: running, readiness: json }
    }
    return { kind: 'stranger', listeners, answer: health?.status ? `HTTP ${health.status}` : (health?.text ?? '') }
  } finally {
    void http.stop()
  }
}

/**
 * Whether a Parley on the port is that of this data folder: it then has the same main process as the embedded database. With
 * your own PostgreSQL, and for processes of other users, this is not known. `databasePid`: of the embedded database, if it runs.
 */
export async function identify(
  found: Found,
  { config }: Installation,
  databasePid: number | undefined,
): Promise<Found> {
  if (found.kind !== 'parley' || config.databaseUrl) return found
  const isOwn = await sharesParent(found.listeners, databasePid)
  if (isOwn === undefined) return found
  return isOwn ? { ...found, isOwn } : { ...found, kind: 'other' }
}

export async function checkPort(installation: Installation, found: Found): Promise<Result> {
  const fault = faultIn(installation, 'PORT', 'HOST', 'TLS_CERT_FILE', 'TLS_KEY_FILE')
  if (fault) return skipped(fault)
  const { port, host } = installation.config
  const stop = 'Stop that program, or set PORT to another port.'
  const who = 'listeners' in found ? nameListeners(found.listeners) : ''
  switch (found.kind) {
    case 'none':
      return checkFreePort(port, host)
    case 'parley':
      return ok(`${port} is used by ${found.isOwn ? 'this' : 'a'} Parley${who}`)
    case 'other': {
      const fix = `${stop} If it is the service to examine, set DATA_DIR to its data folder.`
      return problem(`${port} is used by another Parley, which has another data folder${who}`, fix)
    }
    default:
      return problem(`${port} is used by another program${who}`, stop)
  }
}

async function checkFreePort(port: number, host: string): Promise<Result> {
  try {
    await tryPort({ port, host })
    return ok(`${port} on ${host} is free`)
  } catch (error) {
    const { code = '' } = error as { code?: string }
    const fixes: Record<string, [string, string]> = {
      EACCES: [
        `this user may not listen on ${port}, because it is below 1024`,
        'Use PORT=4000 behind a proxy, or add AmbientCapabilities=CAP_NET_BIND_SERVICE to the unit of systemd.',
      ],
      EADDRINUSE: [
        `${port} is in use on another address of this machine${nameListeners(await listListeners(port).catch(() => []))}`,
        'Stop that program, or set PORT to another port.',
      ],
      EADDRNOTAVAIL: [
        `${host} is not an address of this machine`,
        'Set HOST to 127.0.0.1 (behind a proxy) or 0.0.0.0.',
      ],
    }
    const [text, fix] = fixes[code] ?? [`${port} on ${host}: ${toLine(error)}`, 'Correct HOST and PORT.']
    return problem(text, fix)
  }
}

export async function checkService(
  installation: Installation,
  found: Found,
  isNew: boolean,
  databasePid?: number,
): Promise<Result[]> {
  switch (found.kind) {
    case 'unknown':
      return [skipped('its address is not known: PORT, HOST or the certificate is invalid')]
    case 'other':
      return [skipped('it does not run: another Parley has the port')]
    case 'stranger':
      return [skipped(`another program answers at ${installation.origin} (${found.answer})`)]
    case 'none': {
      if (isNew) return [ok('not started yet; npm start or systemctl start parley starts it')]
      if (databasePid !== undefined) {
        const fix = 'Wait until it has started. If it has another PORT, run this command with the same settings.'
        return [warning(`its database runs, and nothing listens at ${installation.origin}`, fix)]
      }
      const fix = 'Start it: npm start, or systemctl start parley. If it ended, its last log lines say why.'
      return [warning(`it does not run: nothing listens at ${installation.origin}`, fix)]
    }
    case 'parley':
      return describeService(found)
  }
}

function describeService({ version: running, readiness }: Extract<Found, { readiness: Readiness }>): Result[] {
  const { ready, failing = [], restarting = [] } = readiness
  const name = `version ${running ?? 'unknown'}`
  const results: Result[] = []
  if (ready) results.push(ok(`${name} is ready`))
  else {
    const fix = failing.map((each) => readinessFixes[each] ?? `Read the log lines of ${each}.`).join(' ')
    results.push(problem(`${name} is not ready: ${failing.join(', ')}`, fix || 'Read its log.'))
  }
  if (restarting.length > 0) {
    const found = `processes that are being restarted: ${restarting.join(', ')}`
    results.push(warning(found, 'Read the log: it has the reason why each ended.'))
  }
  if (running !== undefined && running !== version) {
    const fix = 'Restart the service from this folder, or run this command in the folder of the running release.'
    results.push(warning(`the service runs version ${running}, and this folder has ${version}`, fix))
  }
  return results
}

const readinessFixes: Record<string, string> = {
  disk: 'Free some space on the disk of the data folder.',
  database: 'Start the database, and check the finding about it.',
  migrations: 'Run migrate in the way you ran doctor.',
}

const nameListeners = (listeners: readonly Listener[]): string => {
  const [first] = listeners
  return first ? ` (${first.command}, process ${first.pid})` : ''
}

/** Whether a listener and the database have the same main process. Undefined: not known, for example for processes of other users. */
async function sharesParent(
  listeners: readonly Listener[],
  databasePid: number | undefined,
): Promise<boolean | undefined> {
  const parents = await Promise.all(listeners.map(({ pid }) => parentOf(pid)))
  const family = new Set([...listeners.map(({ pid }) => pid), ...parents.filter((pid) => pid !== undefined)])
  if (family.size === 0) return undefined
  const main = databasePid === undefined ? undefined : await parentOf(databasePid)
  return main !== undefined && family.has(main)
}

async function parentOf(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const [, parent] = /^PPid:\s*(\d+)$/m.exec(status) ?? []
  return parent === undefined ? undefined : Number(parent)
}

/** Whether a program accepts connections there. */
function accepts(origin: string): Promise<boolean> {
  const { hostname, port } = new URL(origin)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname.replace(/^\[|\]$/g, ''))
    const end = (answer: boolean) => {
      resolve(answer)
      socket.destroy()
    }
    socket.setTimeout(askMs / 2, () => end(false))
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
  })
}

function parse(text: string | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '')
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
