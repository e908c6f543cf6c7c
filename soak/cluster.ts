/** Two PostgreSQL servers with streaming replication: a primary and a hot standby, each with a port of its own on loopback. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../scripts/free-port.ts'
import { copyCluster } from '../server/lib/embedded/backup.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../server/lib/embedded/postgres.ts'
import { connect } from '../server/lib/postgres/db.ts'
import type { Owner } from '../tests/owner.ts'
import { until } from '../tests/support.ts'

export type Cluster = {
  /** With both servers, of which one is the primary. */
  url: string
  ports: { primary: number; standby: number }
  /** kill -9 of the primary, as if its machine had lost power. */
  killPrimary(): Promise<void>
  /** Stops the processes of the primary for good: its connections stay open and nothing answers. */
  freezePrimary(): Promise<void>
  /** Makes the standby the primary. */
  promote(): Promise<void>
}

type ClusterOptions = {
  /** A commit waits until the standby has it on disk. */
  isSynchronous: boolean
  host?: string
}

export async function startCluster(
  owner: Owner,
  { isSynchronous, host = '127.0.0.1' }: ClusterOptions,
): Promise<Cluster> {
  const root = mkdtempSync(join(tmpdir(), 'parley-cluster-'))
  owner.after(() => rmSync(root, { recursive: true, force: true, maxRetries: 20 }))
  const ports = { primary: await freePort(), standby: await freePort() }
  const hba = join(root, 'pg_hba.conf')
  writeFileSync(hba, 'local all all trust\nhost all all 0.0.0.0/0 trust\nhost replication all 0.0.0.0/0 trust\n')
  const settings = { listen_addresses: host, hba_file: hba, max_connections: '200', wal_sender_timeout: '5s' }
  const stops: EmbeddedPostgres[] = []
  const frozen: number[] = []
  owner.after(async () => {
    frozen.forEach(resume)
    await Promise.all(stops.map((server) => server.stop()))
  })
  const launch = async (name: 'primary' | 'standby', more: Record<string, string>) => {
    const server = await startEmbeddedPostgres({
      dataDir: join(root, name),
      settings: { ...settings, port: String(ports[name]), ...more },
    })
    stops.push(server)
    return server
  }
  const connectTo = (port: number, max = 1) =>
    connect({ database: { host, port, database: 'parley', username: 'parley' }, max })

  const name = 'parley_standby'
  const primary = await launch('primary', isSynchronous ? { synchronous_standby_names: name } : {})
  const db = connectTo(ports.primary, 2)
  const data = join(root, 'standby/postgres/data')
  mkdirSync(join(root, 'standby/postgres'), { recursive: true, mode: 0o700 })
  await copyCluster(db, join(root, 'primary/postgres/data'), data)
  writeFileSync(join(data, 'standby.signal'), '')
  await launch('standby', {
    primary_conninfo: `host=${host} port=${ports.primary} user=parley application_name=${name}`,
    hot_standby: 'on',
  })
  await until('the standby to follow', async () => {
    const [row] = await db<{ state: string }[]>`select state from pg_stat_replication`
    return row?.state === 'streaming'
  })
  await db.end()

  const primaryPid = () =>
    Number(readFileSync(join(root, 'primary/postgres/data/postmaster.pid'), 'utf8').split('\n')[0])
  return {
    url: `postgres://parley@${host}:${ports.primary},${host}:${ports.standby}/parley?target_session_attrs=read-write`,
    ports,
    async killPrimary() {
      process.kill(primaryPid(), 'SIGKILL')
      await primary.exited
    },
    async freezePrimary() {
      const postmaster = primaryPid()
      const pids = execFileSync('ps', ['-o', 'pid=', '--ppid', String(postmaster)], { encoding: 'utf8' })
      for (const pid of [postmaster, ...pids.split('\n').map(Number)].filter((one) => one > 0)) {
        process.kill(pid, 'SIGSTOP')
        frozen.push(pid)
      }
    },
    async promote() {
      const { default: postgres } = await import('postgres')
      const standby = postgres({ host, port: ports.standby, database: 'parley', username: 'parley', max: 1 })
      await standby`select pg_promote(wait => true)`
      await standby.end()
    },
  }
}

function resume(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT')
  } catch {
    // It has ended.
  }
}
