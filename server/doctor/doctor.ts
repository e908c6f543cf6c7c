/**
 * Examines an installation for the operator, above all one that does not start. It changes nothing: it creates no folder, key or
 * database, starts no database and sends no e-mail.
 *
 * All checks run at the same time. Those that need the database or the service wait for it. If it is not there, they are
 * skipped with the reason.
 */
import { within } from '../lib/time.ts'
import { checkChannels, type ListedChannels, readConnections, readProviderDate } from './channels.ts'
import { check, checkMs, createRedactor, type Finding, ok, skipped } from './check.ts'
import {
  checkClock,
  checkConnections,
  checkKey,
  checkMigrations,
  checkServer,
  databaseHosts,
  noAnswer,
  type OpenedDatabase,
  openDatabase,
  openMs,
} from './database.ts'
import { faultIn, type Installation } from './installation.ts'
import { checkDisk, checkMemory, checkNode, checkRights } from './machine.ts'
import { checkBucket, checkCertificate, checkMail, checkNames } from './network.ts'
import { checkPort, checkService, type Found, identify, probeService } from './service.ts'
import { checkPublicUrl, checkSettings } from './settings.ts'

/** Passes the findings to `report` in a fixed order, each check as soon as it and those before it have ended. */
export async function examine(installation: Installation, report: (findings: Finding[]) => void): Promise<void> {
  const opening = inTime(openDatabase(installation), noAnswer, openMs)
  const answering = inTime(probeService(installation), { kind: 'unknown' } as const)
  const probing = opening.then(async ({ pid }) => identify(await answering, installation, pid))
  const listing = opening.then(({ connection }) =>
    inTime(readConnections(connection, installation), { connections: [], reason: 'the database does not answer' }),
  )
  const checks = startChecks(installation, opening, probing, listing)
  try {
    const redact = createRedactor(secretsOf(installation, await listing))
    for (const ending of checks) report((await ending).map(redact))
  } finally {
    const { connection } = await opening
    // It does not end while a statement waits behind a pooler.
    if (connection.db) await within(endMs, connection.db.end({ timeout: 0 }))
  }
}

const endMs = 500

/** A network or a file system may hang. */
const inTime = async <Value>(promise: Promise<Value>, otherwise: Value, limitMs = checkMs): Promise<Value> =>
  (await within(limitMs + 500, promise)) ?? otherwise

/** In the order of the report. */
function startChecks(
  installation: Installation,
  opening: Promise<OpenedDatabase>,
  probing: Promise<Found>,
  listing: Promise<ListedChannels>,
): Promise<Finding[]>[] {
  const all = Promise.all([opening, probing, listing])
  return [
    check('settings', () => checkSettings(installation)),
    check('public_url', () => checkPublicUrl(installation)),
    check('node', () => checkNode(installation)),
    check('memory', () => checkMemory(installation)),
    check('rights', () => checkRights(installation)),
    check('disk', () => checkDisk(installation)),
    probing.then((found) => check('port', () => checkPort(installation, found))),
    opening.then(({ connection: { db }, results }) =>
      check('database', async () => [...results, ...(db ? await checkServer(db) : [])]),
    ),
    all.then(([{ connection }, found]) =>
      check('migrations', async () =>
        connection.db ? checkMigrations(connection.db, found.kind === 'parley') : skipped(connection.reason),
      ),
    ),
    opening.then(({ connection }) =>
      check('connections', async () => {
        const fault = faultIn(installation, 'PROCESSES', 'ROLES')
        if (fault) return skipped(fault)
        if (!installation.config.databaseUrl)
          return ok(`the embedded database has enough for ${installation.neededConnections}`)
        return connection.db ? checkConnections(connection.db, installation) : skipped(connection.reason)
      }),
    ),
    opening.then((opened) => check('encryption_key', () => checkKey(opened, installation))),
    all.then(([{ connection }, , listed]) =>
      check('clock', () => checkClock(connection, () => readProviderDate(listed))),
    ),
    listing.then((listed) => check('names', () => checkNames(hostsOf(installation, listed)))),
    check('certificate', () => checkCertificate(installation)),
    check('mail', () => checkMail(installation)),
    check('media', () => checkBucket(installation)),
    all.then(([{ isNew, pid }, found]) => check('service', () => checkService(installation, found, isNew, pid))),
    all.then(([, found, listed]) => check('channels', () => checkChannels(listed, installation, notServing(found)))),
  ]
}

const notServing = ({ kind }: Found): string | undefined =>
  kind === 'parley' ? undefined : 'not tried, because the service does not run'

function hostsOf(installation: Installation, { connections }: ListedChannels) {
  const { publicUrl, smtp, databaseUrl, mediaS3, oidc } = installation.config
  const hostOf = (url: string | undefined) => URL.parse(url ?? '')?.hostname ?? ''
  const isFaulty = (name: string) => faultIn(installation, name) !== undefined
  return [
    { host: isFaulty('PUBLIC_URL') ? '' : hostOf(publicUrl), purpose: 'PUBLIC_URL' },
    { host: isFaulty('SMTP_URL') ? '' : hostOf(smtp?.url), purpose: 'SMTP_URL' },
    { host: hostOf(mediaS3?.endpoint), purpose: 'MEDIA_S3_ENDPOINT' },
    { host: hostOf(oidc?.issuer), purpose: 'OIDC_ISSUER' },
    ...(isFaulty('DATABASE_URL') ? [] : databaseHosts(databaseUrl)).map((host) => ({ host, purpose: 'DATABASE_URL' })),
    ...connections.map(({ base_url }) => ({ host: hostOf(base_url), purpose: 'provider' })),
  ]
}

/** All secrets that an error message of another program could repeat. */
function secretsOf({ config, readKey }: Installation, { connections }: ListedChannels): (string | undefined)[] {
  const { databaseUrl, smtp, mediaS3, oidc, encryptionKey } = config
  const passwords = [databaseUrl, smtp?.url].flatMap((url) => {
    const password = /^[^/]*\/\/[^@/]*?:([^@/]*)@/.exec(url ?? '')?.[1]
    return password === undefined ? [] : [password, decode(password)]
  })
  const ofChannels = connections.flatMap(({ access_token, app_secret, verify_token }) => [
    access_token,
    app_secret,
    verify_token,
  ])
  return [
    databaseUrl,
    smtp?.url,
    encryptionKey,
    tryTo(readKey),
    mediaS3?.secret_access_key,
    oidc?.clientSecret,
    ...passwords,
    ...ofChannels,
  ]
}

const decode = (text: string): string => tryTo(() => decodeURIComponent(text)) ?? text

function tryTo<Value>(run: () => Value): Value | undefined {
  try {
    return run()
  } catch {
    return undefined
  }
}
