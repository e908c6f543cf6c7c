/** Database URLs: several servers, the folder of a socket, and TLS. */
import type { DatabaseAddress } from '../embedded/postgres.ts'

/** What `sslmode` and `sslnegotiation` of a database URL mean. */
export type Encryption = {
  mode: 'off' | 'prefer' | 'require' | 'verify'
  /** Start TLS at once instead of asking the server first (PostgreSQL 17). */
  isDirect: boolean
}

export type Host = { host: string; port: number }

export type Address = {
  /** For the driver: the role, its password and the database, with the first of the servers. */
  url: string
  options: Partial<DatabaseAddress>
  /** The servers of a URL with several. One of them is the primary. */
  hosts: Host[]
  encryption: Encryption
}

/** `postgres://role:password@` and the servers. */
const authority = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?]+)/

/** Takes out of a database URL what the driver would misread. */
export function readAddress(database: string | DatabaseAddress): Address {
  if (typeof database !== 'string')
    return { url: '', options: database, hosts: [], encryption: { mode: 'off', isDirect: false } }
  const names = authority.exec(database)?.[2]?.split(',') ?? []
  const url = new URL(withFirstHost(database))
  const take = (name: string) => {
    const value = url.searchParams.get(name)
    url.searchParams.delete(name)
    return value
  }
  const host = take('host')
  const mode = take('sslmode') ?? take('ssl')
  const isDirect = take('sslnegotiation') === 'direct'
  const isVerified = take('sslrootcert') === 'system'
  // Every connection goes to the primary (`socket.ts`).
  take('target_session_attrs')
  return {
    url: url.href,
    options: host ? { host } : {},
    hosts: names.length > 1 ? names.map(toHost) : [],
    encryption: { mode: isVerified ? ('verify' as const) : encryptionModeOf(mode), isDirect },
  }
}

/** What is wrong with a database URL; undefined if nothing is. */
export function faultOfDatabaseUrl(text: string): string | undefined {
  const url = URL.parse(withFirstHost(text))
  if (!url || !/^postgres(ql)?:$/.test(url.protocol)) return 'must be a postgres:// URL'
  const target = url.searchParams.get('target_session_attrs') ?? 'any'
  if (!['any', 'read-write', 'primary'].includes(target))
    return `target_session_attrs=${target} is not possible: Parley writes; use read-write`
  const names = authority.exec(text)?.[2]?.split(',') ?? []
  const wrong = names.length > 1 ? names.find((name) => !URL.parse(`postgres://${name}`)?.hostname) : undefined
  return wrong === undefined ? undefined : `'${wrong}' is not a host with an optional port`
}

const withFirstHost = (url: string): string =>
  url.replace(authority, (_, start: string, names: string) => start + names.split(',')[0])

function toHost(name: string): Host {
  const { hostname, port } = new URL(`postgres://${name}`)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 5432) }
}

function encryptionModeOf(sslmode: string | null): Encryption['mode'] {
  if (sslmode === null || sslmode === 'disable' || sslmode === 'false') return 'off'
  if (sslmode === 'prefer' || sslmode === 'allow') return 'prefer'
  return sslmode === 'require' ? 'require' : 'verify'
}
