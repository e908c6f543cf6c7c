/** What is examined: the settings, and what `read-installation.ts` knows about them. */
import type { Sealer } from '../lib/crypto.ts'
import type { MailSettings } from '../lib/mail.ts'
import type { OidcSettings } from '../lib/oidc.ts'
import type { Sql } from '../lib/postgres/db.ts'
import type { S3Bucket } from '../lib/store-s3.ts'

export type Installation = {
  /** The values of faulty settings are not used: see `faults`. */
  config: {
    port: number
    host: string
    databaseUrl: string | undefined
    dataDir: string
    publicUrl: string
    roles: ReadonlySet<string>
    processes: number
    isDemoExposed: boolean
    encryptionKey: string | undefined
    tls: { cert: Buffer; key: Buffer } | undefined
    mediaS3: S3Bucket | undefined
    smtp: MailSettings | undefined
    oidc: (OidcSettings & { domains: readonly string[] }) | undefined
  }
  faults: readonly { setting: string; rule: string }[]
  /** The names of the settings that have a value, and those in `.env` or in the unit of systemd that do not exist. */
  settings: { fromEnvironment: string[]; fromFile: string[]; unknown: { name: string; where: string }[] }
  envFile: { path: string; error: string | undefined }
  tlsKeyFile: string | undefined
  /** At which this machine reaches the service. */
  origin: string
  /** The folders that the service writes to. */
  folders: readonly string[]
  /** How many database connections the service opens. */
  neededConnections: number
  /** Undefined: there is none yet. */
  readKey(): string | undefined
  isSameKey(sql: Sql, sealer: Sealer): Promise<boolean>
}

/** Why a check cannot run: one of the settings that it needs is faulty. */
export function faultIn({ faults }: Installation, ...names: string[]): string | undefined {
  const fault = faults.find(({ setting }) => names.includes(setting))
  return fault && `${fault.setting} is invalid`
}
