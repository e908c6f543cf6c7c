/**
 * The process: config, database, migrations, the chosen roles; stop in reverse.
 */

import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { createApp } from './app.ts'
import { type Config, environment, readConfig } from './config.ts'
import { openDatabase } from './database.ts'
import { type Demo, resolveDemo } from './demo.ts'
import { giveToOwnerOf } from './lib/embedded-postgres-root.ts'
import { createMetrics } from './lib/metrics.ts'
import { migrate } from './lib/migrate.ts'
import type { App } from './lib/server.ts'
import { hasCode, inWords } from './lib/start-error.ts'
import { startWorker } from './worker.ts'

/** A request under way gets this long to finish after we were told to stop. */
const drainMs = 4_000

try {
  await run(readConfig(environment()))
} catch (error) {
  console.error(inWords(error))
  process.exit(1)
}

async function run(config: Config): Promise<void> {
  const log = pino({ level: config.logLevel })
  const stops: (() => Promise<unknown>)[] = []
  let stopping: Promise<never> | undefined

  /** Stop what was started, last first. A second signal changes nothing: the first is on its way. */
  const stop = (reason: string, exitCode: number): Promise<never> => {
    stopping ??= (async () => {
      log.info({ reason }, 'stopping')
      for (const stopOne of stops.reverse())
        await stopOne().catch((error) => log.error({ err: error }, 'while stopping'))
      process.exit(exitCode)
    })()
    return stopping
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void stop(signal, 0))
  // The launcher is gone, however it went.
  process.on('disconnect', () => void stop('launcher gone', 0))

  try {
    const database = await openDatabase(config)
    stops.push(database.stop)
    void database.exited.then((reason) => {
      log.fatal({ reason }, 'the embedded database ended')
      void stop(reason, 1)
    })
    const db = database.connect(10)
    const hotDb = database.connect(2, { hot: true })
    stops.push(() => Promise.all([db.end({ timeout: 1 }), hotDb.end({ timeout: 1 })]))

    for (const name of await migrate(db)) log.info({ name }, 'migrated')
    await resolveEncryptionKey(config)
    const demo = config.demo
      ? await resolveDemo({ db, dataDir: config.dataDir, publicUrl: config.publicUrl })
      : undefined

    const metrics = createMetrics()
    const { publicUrl, tls, roles } = config
    const app = await createApp({ db, hotDb, log, metrics, publicUrl, tls, api: roles.has('api') })
    stops.push(() => drain(app))
    if (roles.has('worker')) stops.push(startWorker({ db, log }).stop)
    await app.listen({ port: config.port, host: config.host })
    console.log(welcome(config, demo))
  } catch (error) {
    if (stopping) return stopping
    for (const stopOne of stops.reverse()) await stopOne().catch(() => {})
    throw error
  }
}

/** Take no new requests and finish those under way; a connection that has nothing more to say is closed at once. */
async function drain(app: App): Promise<void> {
  const idle = setInterval(() => app.server.closeIdleConnections(), 20)
  const late = setTimeout(() => app.server.closeAllConnections(), drainMs)
  await app.close()
  clearInterval(idle)
  clearTimeout(late)
}

/** The key that seals stored secrets: given, or made once and kept beside the embedded database. */
async function resolveEncryptionKey({ encryptionKey, dataDir }: Config): Promise<string> {
  if (encryptionKey) return encryptionKey
  const file = join(dataDir, 'encryption.key')
  mkdirSync(dataDir, { recursive: true })
  try {
    writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600, flag: 'wx', flush: true })
    chmodSync(file, 0o600)
    await giveToOwnerOf(dataDir, file)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  }
  return readFileSync(file, 'utf8').trim()
}

function welcome({ publicUrl, roles, demo: wantsDemo }: Config, demo: Demo | undefined): string {
  if (!roles.has('api'))
    return `\n  Parley worker is ready. Health and metrics: ${publicUrl}/healthz, ${publicUrl}/metrics\n`
  const lines: [string, string][] = [
    ['API', `${publicUrl}/v1`],
    ['Reference', `${publicUrl}/docs`],
  ]
  if (demo) {
    lines.push(['API key', demo.api_key])
    lines.push(['Sign-in', `${demo.owner.email} / ${demo.owner.password}`])
  } else if (wantsDemo) {
    lines.push(['Sign-in', 'owner@demo.test (new password: npx parley member reset-password --email owner@demo.test)'])
  }
  return ['', '  Parley is ready.', '', ...lines.map(([what, where]) => `  ${what.padEnd(10)} ${where}`), ''].join('\n')
}
