/**
 * Configuration: all settings that the service reads from environment variables.
 *
 * The program reads and validates all settings once, before it starts anything. Invalid settings stop the start, and the
 * error lists all of them.
 *
 * Over 400 lines because it has all settings: no other file reads the environment.
 */
import { readFileSync } from 'node:fs'
import { BlockList, isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { isLoopbackHost } from '../../common/address.ts'
import { readTimes, type Times } from '../../common/times.ts'
import type { MemberRole } from '../accounts/members.ts'
import { toDomain } from '../lib/email-domain.ts'
import type { MailSettings } from '../lib/mail.ts'
import type { OidcSettings } from '../lib/oidc.ts'
import { faultOfDatabaseUrl } from '../lib/postgres/address.ts'
import { StartError } from '../lib/process/start-error.ts'
import type { S3Bucket } from '../lib/store-s3.ts'

/** All settings with default and meaning. `npm run configuration` writes them to `docs/configuration.md` and `.env.example`. */
export const settings = {
  PORT: { default: '4000', meaning: 'Port for API, dashboard, widget, channel callbacks and simulator.' },
  HOST: { default: '127.0.0.1', meaning: 'Address to listen on.' },
  DATABASE_URL: {
    default: '',
    meaning: 'PostgreSQL 15 or newer; several servers: host1,host2. Empty: embedded PostgreSQL in DATA_DIR.',
  },
  DATA_DIR: {
    default: './data',
    meaning: 'Directory for the embedded database, media, generated secrets and demo.json.',
  },
  PUBLIC_URL: {
    default: '',
    meaning: 'URL under which clients and providers reach the service. Empty: http://HOST:PORT.',
  },
  ROLES: { default: 'api,worker', meaning: 'What this process runs. Any number of processes can have each role.' },
  PROCESSES: {
    default: '',
    meaning: 'API processes that share the port, 1 to 8. Empty: one less than the cores, at least 1.',
  },
  DEMO: {
    default: '',
    meaning:
      '1 creates a demo workspace, 0 does not. Empty: 1 if the database is embedded and HOST and PUBLIC_URL are loopback.',
  },
  ENCRYPTION_KEY: {
    default: '',
    meaning:
      'Key that encrypts stored secrets: 64 hex characters. Empty: generated once; only with the embedded database.',
  },
  OPERATOR_WORKSPACE_ID: {
    default: '',
    meaning: 'Id of the workspace whose owners see the status of the installation. Empty: the first workspace.',
  },
  WEBHOOK_ALLOWED_CIDRS: {
    default: '',
    meaning: 'Private networks that webhooks may connect to, separated by commas.',
  },
  TRUSTED_PROXIES: {
    default: '',
    meaning: 'Reverse proxies whose X-Forwarded-For header is trusted: networks or addresses, separated by commas.',
  },
  TLS_CERT_FILE: { default: '', meaning: 'PEM file with the certificate chain, to serve https without a proxy.' },
  TLS_KEY_FILE: { default: '', meaning: 'PEM file with the private key of the certificate.' },
  MEDIA_S3_ENDPOINT: {
    default: '',
    meaning: 'URL of an S3-compatible service that stores media. Empty: media are stored in DATA_DIR.',
  },
  MEDIA_S3_BUCKET: { default: '', meaning: 'Bucket for media. It must exist and be private.' },
  MEDIA_S3_REGION: { default: 'us-east-1', meaning: 'Region of the bucket.' },
  MEDIA_S3_ACCESS_KEY_ID: {
    default: '',
    meaning: 'Access key with permission to read, write and delete in the bucket.',
  },
  MEDIA_S3_SECRET_ACCESS_KEY: { default: '', meaning: 'Secret of the access key.' },
  SMTP_URL: {
    default: '',
    meaning:
      'Mail server for invitations and password resets: smtp:// or smtps://USER:PASSWORD@HOST:PORT. Empty: no email is sent.',
  },
  SMTP_FROM: {
    default: '',
    meaning: 'Sender of emails, such as Parley <parley@acme.example>. Required with SMTP_URL.',
  },
  OIDC_ISSUER: {
    default: '',
    meaning:
      'OpenID Connect provider with which members sign in: its issuer URL. Empty: members sign in with passwords.',
  },
  OIDC_CLIENT_ID: {
    default: '',
    meaning: 'Id of Parley at the provider. The redirect URI is PUBLIC_URL/app/api/oidc/callback.',
  },
  OIDC_CLIENT_SECRET: { default: '', meaning: 'Secret of Parley at the provider.' },
  OIDC_NAME: { default: 'single sign-on', meaning: 'Name of the provider on the sign-in page: Continue with NAME.' },
  OIDC_DOMAINS: {
    default: '',
    meaning:
      'Email domains whose people get an account at their first sign-in, such as acme.example, separated by commas. Empty: only invited people.',
  },
  OIDC_ROLES_CLAIM: { default: 'groups', meaning: 'Claim of the provider that OIDC_ROLES reads.' },
  OIDC_ROLES: {
    default: '',
    meaning:
      'Role for each value of the claim, such as parley-admins=admin,support=agent. Empty: members keep their roles, new ones are agents.',
  },
  OIDC_WORKSPACE_ID: {
    default: '',
    meaning:
      'Workspace for sign-in with the provider. Empty: the only one; with several, only people who are members already can sign in.',
  },
  LOG_LEVEL: { default: 'info', meaning: 'Lowest level to log: fatal, error, warn, info, debug, trace or silent.' },
} as const

const root = join(import.meta.dirname, '../..')

/** In the project folder, whatever the working directory is. */
export const defaultDataDir = join(root, settings.DATA_DIR.default)

type Role = 'api' | 'worker'

/** With more, the pools of a process would be too small: PostgreSQL allows 100 connections by default. */
const maxProcesses = 8

export type Config = {
  port: number
  host: string
  /** Undefined: use the embedded database. */
  databaseUrl: string | undefined
  dataDir: string
  publicUrl: string
  roles: ReadonlySet<Role>
  /** API processes that share the port. */
  processes: number
  demo: boolean
  /** Other machines can reach the demo, so its simulator requires the demo owner's session. */
  isDemoExposed: boolean
  /** Undefined: generated once and stored in the data directory. */
  encryptionKey: string | undefined
  /** Undefined: the first workspace. */
  operatorWorkspace: string | undefined
  webhookAllowedCidrs: readonly string[]
  trustedProxies: readonly string[]
  tls: { cert: Buffer; key: Buffer } | undefined
  /** Undefined: media are stored in the data directory. */
  mediaS3: S3Bucket | undefined
  /** Undefined: no e-mail is sent. */
  smtp: MailSettings | undefined
  /** Undefined: members sign in with passwords only. */
  oidc: OidcConfig | undefined
  logLevel: string
  /** How long the engines wait. Tests divide the times. */
  times: Times
}

export type OidcConfig = OidcSettings & {
  name: string
  /** People with an e-mail of these domains get an account without an invitation. */
  domains: readonly string[]
  /** The role of each value of the claim. Undefined: the provider does not decide on roles. */
  roles: ReadonlyMap<string, MemberRole> | undefined
  /** Undefined: the only workspace. */
  workspaceId: string | undefined
}

export class ConfigError extends StartError {}

/** The folders that the service writes to. */
export function listDataFolders({ dataDir, databaseUrl, mediaS3 }: Config): string[] {
  // It may be a link to another disk.
  const database = databaseUrl ? [] : [join(dataDir, 'postgres')]
  return databaseUrl && mediaS3 ? [] : [dataDir, ...database]
}

type Environment = Record<string, string | undefined>

export function readConfig(env: Environment): Config {
  const { config, faults } = examineSettings(env)
  const lines = faults.map(({ setting, rule }) => `  ${setting}: ${rule}`)
  if (lines.length > 0) throw new ConfigError(`Invalid settings:\n${lines.join('\n')}`)
  return config
}

/** `rule` says what the setting must be. It never contains a secret. */
export type SettingFault = { setting: keyof typeof settings; rule: string }

/** What is wrong with the settings. The values that faulty settings give must not be used. */
export function examineSettings(env: Environment): { config: Config; faults: SettingFault[] } {
  const faults: SettingFault[] = []
  const read = (name: keyof typeof settings) => env[name]?.trim() || settings[name].default
  const fault = (setting: keyof typeof settings, rule: string) => faults.push({ setting, rule })

  const port = /^\d+$/.test(read('PORT')) ? Number(read('PORT')) : -1
  if (port < 1 || port > 65_535) fault('PORT', 'must be a port number, 1 to 65535')
  const host = read('HOST')

  const databaseUrl = read('DATABASE_URL') || undefined
  const urlFault = databaseUrl && faultOfDatabaseUrl(databaseUrl)
  if (urlFault) fault('DATABASE_URL', urlFault)

  const roles = new Set<Role>()
  for (const role of list(read('ROLES'))) {
    if (role === 'api' || role === 'worker') roles.add(role)
    else fault('ROLES', `unknown role '${role}'; the roles are api and worker`)
  }
  if (roles.size === 0 && list(read('ROLES')).length === 0) fault('ROLES', 'must name a role: api, worker or both')

  const processes = read('PROCESSES') || String(Math.max(1, Math.min(maxProcesses, availableParallelism() - 1)))
  if (!/^\d$/.test(processes) || Number(processes) < 1 || Number(processes) > maxProcesses)
    fault('PROCESSES', `must be a number, 1 to ${maxProcesses}`)

  const encryptionKey = read('ENCRYPTION_KEY') || undefined
  if (encryptionKey && !/^[0-9a-f]{64}$/i.test(encryptionKey)) fault('ENCRYPTION_KEY', 'must be 64 hex characters')
  if (!encryptionKey && databaseUrl)
    fault('ENCRYPTION_KEY', 'required with DATABASE_URL: 64 hex characters, for example from `openssl rand -hex 32`')

  const operatorWorkspace = read('OPERATOR_WORKSPACE_ID').toLowerCase() || undefined
  if (operatorWorkspace && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(operatorWorkspace))
    fault('OPERATOR_WORKSPACE_ID', 'must be the id of a workspace')

  const webhookAllowedCidrs = list(read('WEBHOOK_ALLOWED_CIDRS'))
  for (const cidr of webhookAllowedCidrs) {
    if (!isCidr(cidr)) fault('WEBHOOK_ALLOWED_CIDRS', `'${cidr}' is not a network such as 10.0.0.0/8`)
  }

  const trustedProxies = list(read('TRUSTED_PROXIES'))
  for (const network of trustedProxies) {
    if (!isIP(network) && !isCidr(network)) {
      fault('TRUSTED_PROXIES', `'${network}' is not a network such as 10.0.0.0/8 or an address`)
    }
  }

  const files = { TLS_CERT_FILE: read('TLS_CERT_FILE'), TLS_KEY_FILE: read('TLS_KEY_FILE') } as const
  if (!files.TLS_CERT_FILE !== !files.TLS_KEY_FILE) {
    fault(
      files.TLS_CERT_FILE ? 'TLS_KEY_FILE' : 'TLS_CERT_FILE',
      'required: set TLS_CERT_FILE and TLS_KEY_FILE together',
    )
  }
  const pem = (name: keyof typeof files): Buffer => {
    try {
      if (files[name]) return readFileSync(files[name])
    } catch (error) {
      fault(name, `cannot be read: ${(error as Error).message}`)
    }
    return Buffer.alloc(0)
  }
  const tls = { cert: pem('TLS_CERT_FILE'), key: pem('TLS_KEY_FILE') }
  if (tls.cert.length > 0 && tls.key.length > 0) {
    try {
      createSecureContext(tls)
    } catch (error) {
      fault('TLS_CERT_FILE', `cannot be used with TLS_KEY_FILE: ${(error as Error).message}`)
    }
  }

  const scheme = files.TLS_CERT_FILE ? 'https' : 'http'
  const publicUrl = (read('PUBLIC_URL') || `${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`).replace(
    /\/+$/,
    '',
  )
  if (read('PUBLIC_URL') && !/^https?:$/.test(URL.parse(publicUrl)?.protocol ?? ''))
    fault('PUBLIC_URL', 'must be an http:// or https:// URL')

  const isLocal = isLoopbackHost(host) && isLoopbackHost(URL.parse(publicUrl)?.hostname ?? '')
  const demo = read('DEMO') || (isLocal && !databaseUrl ? '1' : '0')
  if (demo !== '0' && demo !== '1') fault('DEMO', 'must be 1 or 0')

  const mediaS3: S3Bucket = {
    endpoint: read('MEDIA_S3_ENDPOINT'),
    region: read('MEDIA_S3_REGION'),
    bucket: read('MEDIA_S3_BUCKET'),
    access_key_id: read('MEDIA_S3_ACCESS_KEY_ID'),
    secret_access_key: read('MEDIA_S3_SECRET_ACCESS_KEY'),
  }
  const wantsS3 = s3Settings.some((name) => env[name]?.trim())
  for (const name of wantsS3 ? s3Settings : []) {
    if (!read(name)) fault(name, 'required with the other MEDIA_S3 settings')
  }
  if (mediaS3.endpoint && !isPlainUrl(mediaS3.endpoint)) {
    fault('MEDIA_S3_ENDPOINT', 'must be an http:// or https:// URL, without a user, a query or a fragment')
  }
  if (mediaS3.bucket && !/^[\w.-]{3,255}$/.test(mediaS3.bucket)) {
    fault('MEDIA_S3_BUCKET', 'must be the name of a bucket: letters, digits, dots and hyphens')
  }
  if (!/^[\w-]+$/.test(mediaS3.region)) fault('MEDIA_S3_REGION', 'must be the name of a region such as us-east-1')

  const smtp: MailSettings = { url: read('SMTP_URL'), from: read('SMTP_FROM') }
  const smtpUrl = URL.parse(smtp.url)
  if (smtp.url && !(smtpUrl && /^smtps?:$/.test(smtpUrl.protocol) && smtpUrl.hostname))
    fault('SMTP_URL', 'must be a URL such as smtps://user:password@mail.acme.example:465')
  if (!smtp.url !== !smtp.from)
    fault(smtp.url ? 'SMTP_FROM' : 'SMTP_URL', 'required: set SMTP_URL and SMTP_FROM together')
  if (smtp.from && !/^(?:[^<>\r\n]*<[^\s@<>,]+@[^\s@<>,]+>|[^\s@<>,]+@[^\s@<>,]+)$/.test(smtp.from))
    fault('SMTP_FROM', 'must be an address such as parley@acme.example or Parley <parley@acme.example>')

  const wantsOidc = oidcSettings.some((name) => env[name]?.trim())
  const oidc = readOidc(read, fault)
  for (const name of wantsOidc ? (['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'] as const) : []) {
    if (!read(name)) fault(name, 'required with the other OIDC settings')
  }

  const logLevel = read('LOG_LEVEL')
  const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']
  if (!levels.includes(logLevel)) fault('LOG_LEVEL', `must be one of ${levels.join(', ')}`)

  const config: Config = {
    port,
    host,
    databaseUrl,
    dataDir: env.DATA_DIR?.trim() ? resolve(env.DATA_DIR.trim()) : defaultDataDir,
    publicUrl,
    roles,
    processes: Number(processes),
    demo: demo === '1',
    isDemoExposed: demo === '1' && !isLocal,
    encryptionKey,
    operatorWorkspace,
    webhookAllowedCidrs,
    trustedProxies,
    tls: files.TLS_CERT_FILE ? tls : undefined,
    mediaS3: wantsS3 ? mediaS3 : undefined,
    smtp: smtp.url ? smtp : undefined,
    oidc: wantsOidc ? oidc : undefined,
    logLevel,
    times: readTimes(env),
  }
  return { config, faults }
}

const oidcSettings = (Object.keys(settings) as (keyof typeof settings)[]).filter((name) => name.startsWith('OIDC_'))
/** Not imported: the main process reads the settings and loads no module. */
const memberRoles: readonly MemberRole[] = ['owner', 'admin', 'agent', 'viewer']

function readOidc(
  read: (name: keyof typeof settings) => string,
  fault: (name: keyof typeof settings, rule: string) => void,
): OidcConfig {
  const issuer = read('OIDC_ISSUER')
  const url = URL.parse(issuer)
  const isSafe = url?.protocol === 'https:' || isLoopbackHost(url?.hostname ?? '')
  if (issuer && !(isPlainUrl(issuer) && isSafe && !issuer.includes('/.well-known/'))) {
    fault(
      'OIDC_ISSUER',
      'must be an https:// URL without a user, a query, a fragment or /.well-known/; http:// only for this machine',
    )
  }
  const roles = new Map<string, MemberRole>()
  for (const pair of list(read('OIDC_ROLES'))) {
    const [, value = '', name = ''] = /^(.*\S)\s*=\s*(\w+)$/.exec(pair) ?? []
    const role = memberRoles.find((each) => each === name)
    if (role && !roles.has(value)) roles.set(value, role)
    else {
      const rule = 'is not a new VALUE=ROLE; the roles are'
      fault('OIDC_ROLES', `'${pair}' ${rule} ${memberRoles.join(', ')}`)
    }
  }
  const domains = list(read('OIDC_DOMAINS')).map((domain) => {
    const known = toDomain(domain)
    if (!known) fault('OIDC_DOMAINS', `'${domain}' is not an e-mail domain such as acme.example`)
    return known ?? domain
  })
  const workspaceId = read('OIDC_WORKSPACE_ID').toLowerCase()
  if (workspaceId && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(workspaceId)) {
    fault('OIDC_WORKSPACE_ID', 'must be the id of a workspace')
  }
  const name = read('OIDC_NAME')
  if (name.length > 60) fault('OIDC_NAME', 'must have at most 60 characters')
  return {
    issuer,
    clientId: read('OIDC_CLIENT_ID'),
    clientSecret: read('OIDC_CLIENT_SECRET'),
    claim: roles.size > 0 ? read('OIDC_ROLES_CLAIM') : undefined,
    name,
    domains,
    roles: roles.size > 0 ? roles : undefined,
    workspaceId: workspaceId || undefined,
  }
}

/** If one of these is set, all are required. */
const s3Settings = [
  'MEDIA_S3_ENDPOINT',
  'MEDIA_S3_BUCKET',
  'MEDIA_S3_REGION',
  'MEDIA_S3_ACCESS_KEY_ID',
  'MEDIA_S3_SECRET_ACCESS_KEY',
] as const

function isPlainUrl(text: string): boolean {
  const url = URL.parse(text)
  return !!url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash
}

const list = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0 || !/^\d{1,3}$/.test(bits)) return false
  try {
    new BlockList().addSubnet(address, Number(bits), family === 4 ? 'ipv4' : 'ipv6')
    return true
  } catch {
    return false
  }
}

/** The address at which this process reaches itself. The public address may not be reachable from inside. */
export function localOrigin({ host, port, tls }: Pick<Config, 'host' | 'port' | 'tls'>): string {
  const anywhere: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' }
  const here = anywhere[host] ?? host
  return `${tls ? 'https' : 'http'}://${isIP(here) === 6 ? `[${here}]` : here}:${port}`
}
