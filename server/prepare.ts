/**
 * What is done once before the processes of a service start: migrations, the check of the encryption key, partitions and the
 * demo workspace.
 *
 * A service with the API does it in a process of its own that ends afterwards: creating the demo takes far more memory than
 * serving.
 */
import { join } from 'node:path'
import type { Logger } from 'pino'
import { parleyCommand } from '../common/environment.ts'
import { keepRequestDays } from './accounts/request-log.ts'
import { needsSetup } from './accounts/sign-in/setup.ts'
import { keepStepDays } from './automation/log-days.ts'
import { type Config, defaultDataDir, localOrigin } from './config/config.ts'
import { requireSameKey, resolveEncryptionKey } from './config/encryption-key.ts'
import type { Demo } from './demo/demo.ts'
import { syncClock } from './lib/clock.ts'
import { createSealer, deriveToken } from './lib/crypto.ts'
import type { Db } from './lib/postgres/db.ts'
import { firstMigration, migrate } from './lib/postgres/migrate.ts'
import { createMediaStore } from './media/store.ts'
import { keepEventDays } from './webhooks/partitions.ts'

export type Prepared = {
  /** The text to show after the start. */
  welcome: string
}

export async function prepare(config: Config, db: Db, log: Logger): Promise<Prepared> {
  const migrations = await migrate(db, { log })
  // A new database runs all of them: nothing that an operator needs to know.
  const isNew = migrations.includes(firstMigration)
  if (migrations.length > 0 && !isNew) log.info({ migrations }, 'migrated')
  await syncClock(db)
  const encryptionKey = await resolveEncryptionKey(config)
  const sealer = createSealer(encryptionKey)
  await requireSameKey(db, sealer)
  await keepEventDays(db, log)
  await keepStepDays(db, log)
  await keepRequestDays(db, log)
  if (!config.roles.has('api')) return { welcome: welcome(config, {}) }

  const { dataDir, publicUrl } = config
  const store = createMediaStore(config)
  let demo: Demo | undefined
  let isNewDemo = false
  if (config.demo) {
    if (config.isDemoExposed) {
      log.warn(
        { host: config.host, public_url: publicUrl },
        "DEMO=1 and more than this machine reaches the service: the simulator needs the session of the demo's owner",
      )
    }
    const { readDemo, resolveDemo } = await import('./demo/demo.ts')
    const simulatorUrl = `${localOrigin(config)}/simulator`
    const before = readDemo(dataDir)?.workspace_id
    demo = await resolveDemo({ db, sealer, store, dataDir, publicUrl, simulatorUrl })
    isNewDemo = demo?.workspace_id !== before
  }
  const setupToken = (await needsSetup(db)) ? deriveToken(encryptionKey, 'setup') : undefined
  return { welcome: welcome(config, { demo, isNewDemo, setupToken }) }
}

type Welcome = {
  demo?: Demo | undefined
  /** This start created it. Only then its password is printed: the output of a service is often kept. */
  isNewDemo?: boolean
  /** Present while there is no workspace. */
  setupToken?: string | undefined
}

function welcome(config: Config, { demo, isNewDemo = false, setupToken }: Welcome): string {
  const { publicUrl, roles, demo: wantsDemo } = config
  if (!roles.has('api')) {
    // The worker's own address; the public one belongs to the API.
    const origin = localOrigin(config)
    return `\n  Parley worker is ready. Health and metrics: ${origin}/healthz, ${origin}/metrics\n`
  }
  const lines: [string, string][] = [
    ['Dashboard', publicUrl],
    ['API', `${publicUrl}/v1`],
    ['Reference', `${publicUrl}/docs`],
  ]
  if (wantsDemo) lines.push(['Simulator', `${publicUrl}/simulator`], ['Web chat', `${publicUrl}/widget-demo`])
  if (setupToken) lines.push(['First run', `open ${publicUrl}/setup?token=${setupToken}`])
  if (demo) {
    const { email, password } = demo.owner
    const file = join(config.dataDir, 'demo.json')
    lines.push(['Sign-in', isNewDemo ? `${email} / ${password}` : `${email} (the password is in ${file})`])
    lines.push(['API key', demo.api_key])
    lines.push(['Events', parley(config, 'listen')])
  } else if (wantsDemo) {
    const reset = parley(config, 'member reset-password --email owner@demo.test')
    const where = config.databaseUrl ? ", with this service's DATABASE_URL and ENCRYPTION_KEY" : ''
    lines.push(['Sign-in', `owner@demo.test (new password: ${reset}${where})`])
  }
  if (config.isDemoExposed)
    lines.push(['Warning', "others can reach the demo: its simulator needs the owner's sign-in"])
  const shown = lines.map(([what, where]) => `  ${what.padEnd(10)} ${where}`)
  const first = demo ? ['', `  Try: ${firstCall(demo)}`] : []
  return ['', '  Parley is ready.', '', ...shown, ...first, ''].join('\n')
}

/** A command that finds this service from another terminal with other settings. */
function parley({ dataDir }: Config, command: string): string {
  // Others have the settings of the service already.
  if (!parleyCommand.startsWith('npx ')) return `${parleyCommand} ${command}`
  const quoted = /^[\w./-]+$/.test(dataDir) ? dataDir : `'${dataDir.replaceAll("'", "'\\''")}'`
  return `${dataDir === defaultDataDir ? '' : `DATA_DIR=${quoted} `}${parleyCommand} ${command}`
}

/** One line to copy. The simulator then shows a phone with the message. */
function firstCall({ base_url, api_key }: Demo): string {
  const message = {
    to: '+14155550100',
    type: 'template',
    template: { name: 'order_confirmed', params: ['Ann', 'A-1009'] },
  }
  const headers = `-H 'Authorization: Bearer ${api_key}' -H 'Content-Type: application/json'`
  return `curl ${base_url}/messages ${headers} -d '${JSON.stringify(message)}'`
}
