/**
 * The operator's commands. They work on the database, with or without a running service. `doctor` also works without a database
 * and with wrong settings.
 *
 * Each entry of the table below is a command with its options. A command returns an object, which is printed as JSON with
 * `--json`, else as lines.
 */
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { environment, parleyCommand } from '../common/environment.ts'
import { importKey } from './accounts/keys.ts'
import { resetPassword } from './accounts/members.ts'
import { setPlan } from './accounts/quota.ts'
import { unlinkAccountsOf } from './accounts/sign-in/oidc.ts'
import { resetFactorsOf } from './accounts/sign-in/second-factor.ts'
import { toEmailKey } from './accounts/sign-in/sessions.ts'
import { createWorkspace, listWorkspaces, requireWorkspace } from './accounts/workspaces.ts'
import { callbackUrl, getBuiltInUrl } from './channels/connections.ts'
import { type Config, readConfig } from './config/config.ts'
import { acceptKey, requireSameKey, resolveEncryptionKey } from './config/encryption-key.ts'
import { readDemo, removeDemo, updateDemoPassword } from './demo/demo.ts'
import { syncClock } from './lib/clock.ts'
import { createSealer } from './lib/crypto.ts'
import { createBackup, restoreBackup } from './lib/embedded/backup.ts'
import { badRequest } from './lib/errors.ts'
import { isUuid } from './lib/id.ts'
import { joinDatabase } from './lib/postgres/database.ts'
import type { Db } from './lib/postgres/db.ts'
import { compareMigrations, migrate } from './lib/postgres/migrate.ts'
import { inWords, StartError } from './lib/process/start-error.ts'
import { isWithinCalendar } from './lib/time.ts'
import { createMediaStore } from './media/store.ts'
import { deleteWorkspace } from './merge-erase/delete-workspace.ts'
import {
  addSimulatedNumber,
  connectSimulator,
  isAnswering,
  readSimulatorUrl,
  registerSimulatorAccounts,
} from './simulator-host/accounts.ts'

type Options = Record<string, string | boolean | undefined>
type Command = {
  usage: string
  options: Record<string, 'string' | 'boolean'>
  /** Also for a database without tables. Otherwise a wrong DATABASE_URL would get them. */
  onEmptyDatabase?: true
} & (
  | { run: (db: Db, options: Options, config: Config) => Promise<object> }
  | { runWithoutDatabase: (options: Options, config: Config) => Promise<object> }
  /** Reads the settings itself, prints, and returns the exit code. */
  | { report: (asJson: boolean) => Promise<number> }
)

const commands: Record<string, Command> = {
  doctor: {
    usage: '',
    options: {},
    report: async (asJson) => {
      const { examine } = await import('./doctor/doctor.ts')
      const { createReport } = await import('./doctor/report.ts')
      const { readInstallation } = await import('./doctor/read-installation.ts')
      const report = createReport(asJson)
      await examine(readInstallation(), report.add)
      return report.end()
    },
  },
  'workspace create': {
    usage: '--name N --owner-email E [--owner-password P] [--country CC]',
    options: { name: 'string', 'owner-email': 'string', 'owner-password': 'string', country: 'string' },
    onEmptyDatabase: true,
    run: (db, options) => {
      const password = options['owner-password']
      const workspace = {
        name: required(options, 'name'),
        default_country: (text(options, 'country') ?? 'US').toUpperCase(),
        owner: { email: required(options, 'owner-email'), ...(typeof password === 'string' ? { password } : {}) },
      }
      return db.begin((sql) => createWorkspace(sql, workspace))
    },
  },
  'workspace list': {
    usage: '',
    options: {},
    run: listWorkspaces,
  },
  'workspace delete': {
    usage: '--workspace ID [--confirm NAME]',
    options: { workspace: 'string', confirm: 'string' },
    run: async (db, options, config) => {
      const { id: workspace_id, name } = await requireWorkspace(db, requiredId(options, 'workspace'))
      const question = `This deletes all contacts, messages, files, keys and members of "${name}". Type its name to confirm: `
      const confirmed = text(options, 'confirm') ?? (await ask(question))
      if (confirmed !== name) throw badRequest(`--confirm: must be ${name}; nothing was deleted`)
      const deleted = await deleteWorkspace(db, workspace_id, createMediaStore(config))
      removeDemo(config.dataDir, workspace_id)
      return { workspace_id, name, ...deleted }
    },
  },
  'workspace connect-simulator': {
    usage: '--workspace ID [--url U] [--messages-per-second N] [--add --name N [--same-account]]',
    options: {
      workspace: 'string',
      url: 'string',
      'messages-per-second': 'string',
      add: 'boolean',
      name: 'string',
      'same-account': 'boolean',
    },
    run: async (db, options, config) => {
      const workspaceId = requiredId(options, 'workspace')
      await requireWorkspace(db, workspaceId)
      const pace = text(options, 'messages-per-second')
      if (pace !== undefined && !(/^\d{1,5}$/.test(pace) && Number(pace) >= 1 && Number(pace) <= 10_000)) {
        throw badRequest('--messages-per-second: must be a whole number, 1 to 10000')
      }
      const messagesPerSecond = pace === undefined ? undefined : Number(pace)
      const name = text(options, 'name')
      const isSameAccount = options['same-account'] === true
      if (options.add ? name === undefined : name !== undefined || isSameAccount)
        throw badRequest('--add: needs --name, and only --add takes --name and --same-account')
      const url = text(options, 'url')
      const requestedUrl = url === undefined ? undefined : readSimulatorUrl(url)
      const sealer = createSealer(await resolveEncryptionKey(config))
      await requireSameKey(db, sealer)
      const demo = readDemo(config.dataDir)
      const publicUrl = demo?.base_url.replace(/\/v1$/, '') ?? config.publicUrl
      // One of several services hosts the simulator, and demo.json may name another one.
      const builtIn = (await getBuiltInUrl(db)) ?? demo?.simulator_url ?? `${publicUrl}/simulator`
      const isBuiltIn = requestedUrl === undefined || requestedUrl === builtIn || requestedUrl === demo?.simulator_url
      const simulatorConnection = {
        sealer,
        workspaceId,
        messagesPerSecond,
        kind: isBuiltIn ? 'built_in' : 'alone',
        simulatorUrl: isBuiltIn ? builtIn : requestedUrl,
      } as const
      // If the simulator does not respond, the transaction rolls back.
      const msgapp = await db.begin(async (sql) => {
        const simulating = { ...simulatorConnection, db: sql }
        const connections =
          name === undefined
            ? await connectSimulator(simulating)
            : { msgapp: await addSimulatedNumber({ ...simulating, name, isSameAccount }) }
        if (!isBuiltIn) await registerSimulatorAccounts(sql, simulatorConnection.simulatorUrl, connections, publicUrl)
        return connections.msgapp
      })
      if (isBuiltIn && !(await isAnswering(msgapp))) {
        console.error(`Note: the simulator at ${builtIn} does not respond. It runs while the service runs with DEMO=1.`)
      }
      return {
        connection_id: msgapp.id,
        phone_number_id: msgapp.phone_number_id,
        account_id: msgapp.account_id,
        callback_url: callbackUrl(publicUrl, msgapp),
      }
    },
  },
  'plan set': {
    usage: '--workspace ID (--messages-per-month N | --unlimited) [--lapsed | --active]',
    options: {
      workspace: 'string',
      'messages-per-month': 'string',
      unlimited: 'boolean',
      lapsed: 'boolean',
      active: 'boolean',
    },
    run: async (db, options) => {
      const workspaceId = requiredId(options, 'workspace')
      const { plan: before } = await requireWorkspace(db, workspaceId)
      const monthly = text(options, 'messages-per-month')
      if (monthly !== undefined && !/^\d{1,9}$/.test(monthly))
        throw badRequest('--messages-per-month: must be a whole number')
      if (monthly !== undefined && options.unlimited)
        throw badRequest('Use either --messages-per-month or --unlimited, not both.')
      if (options.lapsed && options.active) throw badRequest('Use either --lapsed or --active, not both.')
      const plan = await setPlan(db, workspaceId, {
        messages_per_month:
          monthly !== undefined ? Number(monthly) : options.unlimited ? null : before.messages_per_month,
        state: options.lapsed ? 'lapsed' : options.active ? 'active' : before.state,
      })
      return { workspace_id: workspaceId, plan }
    },
  },
  'key import': {
    usage: '--workspace ID --name N --key legacy_live_… --scopes a,b [--expires-at T]',
    options: { workspace: 'string', name: 'string', key: 'string', scopes: 'string', 'expires-at': 'string' },
    run: async (db, options) => {
      const workspaceId = requiredId(options, 'workspace')
      await requireWorkspace(db, workspaceId)
      const expiresAt = text(options, 'expires-at')
      if (expiresAt !== undefined && !isWithinCalendar(Date.parse(expiresAt))) {
        throw badRequest('--expires-at: not a date-time')
      }
      const { id, prefix } = await importKey(db, workspaceId, {
        name: required(options, 'name'),
        key: required(options, 'key'),
        scopes: present(options, 'scopes')
          .split(',')
          .map((scope) => scope.trim())
          .filter(Boolean),
        expires_at: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
      })
      return { id, prefix }
    },
  },
  'member reset-password': {
    usage: '--email E',
    options: { email: 'string' },
    run: async (db, options, { dataDir }) => {
      const owner = await resetPassword(db, required(options, 'email'))
      await updateDemoPassword(dataDir, owner)
      return owner
    },
  },
  'member reset-second-factor': {
    usage: '--email E',
    options: { email: 'string' },
    run: async (db, options) => {
      const email = required(options, 'email')
      return { email, reset: await resetFactorsOf(db, toEmailKey(email)) }
    },
  },
  'member reset-single-sign-on': {
    usage: '--email E',
    options: { email: 'string' },
    run: async (db, options) => {
      const email = required(options, 'email')
      return { email, reset: await unlinkAccountsOf(db, toEmailKey(email)) }
    },
  },
  'encryption-key accept': {
    usage: '',
    options: {},
    run: async (db, _options, config) => {
      const changed = await acceptKey(db, createSealer(await resolveEncryptionKey(config)))
      const note = changed
        ? 'This key replaces the previous one. Connect the channels again and rotate the secrets of the webhooks.'
        : 'This is the key of the database already. Nothing was changed.'
      return { accepted: true, changed, note }
    },
  },
  backup: {
    usage: '--to FOLDER',
    options: { to: 'string' },
    run: async (db, options, { databaseUrl, dataDir }) => {
      if (databaseUrl)
        throw badRequest('backup copies the embedded database; with DATABASE_URL use the backups of your PostgreSQL')
      return createBackup(db, dataDir, required(options, 'to'))
    },
  },
  restore: {
    usage: '--from FOLDER',
    options: { from: 'string' },
    runWithoutDatabase: async (options, { databaseUrl, dataDir }) => {
      if (databaseUrl) throw badRequest('restore creates an embedded database; unset DATABASE_URL')
      return restoreBackup(required(options, 'from'), dataDir)
    },
  },
  migrate: {
    usage: '',
    options: {},
    onEmptyDatabase: true,
    // Every command migrates first.
    run: async () => ({ migrated: true }),
  },
}

/** Runs a command and returns its exit code. The help text also lists the integrators' commands, one line each. */
export async function runOperatorCommand(args: string[], integratorCommands: readonly string[]): Promise<number> {
  const words = args.filter((word) => word !== '--json')
  const name = Object.keys(commands).find((command) => `${words.join(' ')} `.startsWith(`${command} `))
  const command = name === undefined ? undefined : commands[name]
  if (name === undefined || !command) {
    const isHelp = args.length === 0 || args.includes('--help')
    const help = describeCommands(integratorCommands)
    if (isHelp) console.log(help)
    else console.error(`Unknown command: ${words.join(' ')}\n\n${help}`)
    return isHelp ? 0 : 2
  }
  try {
    const options = Object.fromEntries(Object.entries(command.options).map(([option, type]) => [option, { type }]))
    const { values } = parseArgs({
      args: words.slice(name.split(' ').length),
      options: { ...options, help: { type: 'boolean' } },
    })
    if (values.help) {
      console.log(`${parleyCommand} ${name} ${command.usage}`.trim())
      return 0
    }
    if ('report' in command) return await command.report(args.includes('--json'))
    const given = values as Options
    const answer =
      'run' in command
        ? await withDatabase(command.onEmptyDatabase ?? false, (db, config) => command.run(db, given, config))
        : await command.runWithoutDatabase(given, readOwnConfig())
    print(answer, args.includes('--json'))
    return 0
  } catch (error) {
    console.error(inWords(error))
    return 1
  }
}

/** Most commands encrypt nothing, so a missing ENCRYPTION_KEY is not an error here. */
function readOwnConfig(): Config {
  const env = environment()
  const encryptionKey = env.ENCRYPTION_KEY?.trim() || undefined
  return { ...readConfig({ ...env, ENCRYPTION_KEY: encryptionKey ?? '0'.repeat(64) }), encryptionKey }
}

async function withDatabase<Result>(
  mayBeEmpty: boolean,
  run: (db: Db, config: Config) => Promise<Result>,
): Promise<Result> {
  const config = readOwnConfig()
  const database = await joinDatabase(config)
  const db = database.connect(2)
  try {
    if (!mayBeEmpty && (await compareMigrations(db)).applied === 0) {
      throw new StartError(
        'The database has no tables of Parley. Check DATABASE_URL; parley migrate creates them in a new database.',
      )
    }
    await migrate(db)
    await syncClock(db)
    return await run(db, config)
  } finally {
    await db.end({ timeout: 2 })
    await database.stop()
  }
}

const lineOf = (item: object): string =>
  Object.entries(item)
    .map(([name, value]) => `${name}: ${value}`)
    .join('  ')

/** Asks the operator. A script names the answer as an option. */
async function ask(question: string): Promise<string> {
  if (!process.stdin.isTTY) throw badRequest('--confirm: required, the name of the workspace')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return (await terminal.question(question)).trim()
  } finally {
    terminal.close()
  }
}

/** A list is printed with a line per item. */
function print(answer: object, asJson: boolean): void {
  if (asJson) {
    console.log(JSON.stringify(answer))
    return
  }
  if (Array.isArray(answer)) {
    for (const item of answer) console.log(lineOf(item))
    return
  }
  for (const [name, value] of Object.entries(answer)) {
    console.log(`${name}: ${typeof value === 'object' ? JSON.stringify(value) : value}`)
  }
}

function describeCommands(integratorCommands: readonly string[]): string {
  return [
    `Usage: ${parleyCommand} COMMAND [options]`,
    '',
    'Commands for operators, on the database (--json prints JSON):',
    ...Object.entries(commands).map(([name, { usage }]) => `  ${parleyCommand} ${name} ${usage}`.trimEnd()),
    '',
    'Commands for integrators, over the API with a key:',
    ...integratorCommands,
    '',
    `${parleyCommand} COMMAND --help shows the options of a command, ${parleyCommand} --version the version.`,
  ].join('\n')
}

function text(options: Options, name: string): string | undefined {
  const value = options[name]
  return typeof value === 'string' ? value : undefined
}

function present(options: Options, name: string): string {
  const value = text(options, name)
  if (value === undefined) throw badRequest(`--${name}: required`)
  return value
}

function required(options: Options, name: string): string {
  const value = text(options, name)
  if (!value) throw badRequest(`--${name}: required`)
  return value
}

function requiredId(options: Options, name: string): string {
  const id = required(options, name)
  if (!isUuid(id)) throw badRequest(`--${name}: not a uuid`)
  return id
}
