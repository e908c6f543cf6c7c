/**
 * A cluster that Patroni manages: one etcd and two nodes with PostgreSQL 15 and synchronous replication, on loopback. What it needs is in
 * `tests/patroni.ts`.
 *
 * Each node has a PID namespace. When its first process is killed, the kernel kills Patroni and PostgreSQL with it at the same moment.
 * All processes end with the process of the test, however that ends.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../scripts/free-port.ts'
import { connect } from '../server/lib/postgres/db.ts'
import type { Owner } from '../tests/owner.ts'
import { inNamespace } from '../tests/patroni.ts'
import { postgres15Programs } from '../tests/postgres-15.ts'
import { childrenOf } from '../tests/program.ts'
import { until } from '../tests/until.ts'

export type PatroniCluster = {
  /** With both nodes, of which one is the primary. */
  url: string
  /** The name of the node that Patroni calls the primary; undefined if there is none. */
  primary(): Promise<string | undefined>
  /** The name of the node that has every commit. */
  synchronousStandby(): Promise<string | undefined>
  /** Patroni stops the primary in order and makes the synchronous standby the primary. The old one follows it some seconds later. */
  switchover(): Promise<void>
  /** kill -9 of Patroni and PostgreSQL on the primary, as if its machine had lost power. Returns its name. */
  killPrimary(): Promise<string>
  /** Starts Patroni on a node that was killed. */
  start(name: string): Promise<void>
  /** What Patroni and PostgreSQL of a node have logged. */
  log(name: string): string
}

type Node = { name: string; port: number; restPort: number; config: string; log: string; process?: ChildProcess }

const host = '127.0.0.1'
/** A start takes seconds on an idle machine; Patroni waits up to 30 s before it replaces a primary. */
const changeMs = 180_000
const asPostgres = ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups']
/** The program ends when its parent does. After a change of the user, because that cancels it. */
const withParent = ['--pdeathsig=KILL', '--']

export async function startPatroni(owner: Owner): Promise<PatroniCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-patroni-'))
  execFileSync('chown', ['postgres:', folder])
  const running = new Set<ChildProcess>()
  owner.after(async () => {
    await Promise.all([...running].map(kill))
    rmSync(folder, { recursive: true, force: true })
  })
  const launch = (command: readonly string[], log: string) => {
    const [file = '', ...args] = command
    const output = openSync(log, 'a')
    const started = spawn(file, args, { stdio: ['ignore', output, output], cwd: folder })
    closeSync(output)
    running.add(started)
    started.once('exit', () => running.delete(started))
    return started
  }

  const etcdUrl = `http://${host}:${await freePort()}`
  launch([...asPostgres, ...withParent, ...(await etcdCommand(folder, etcdUrl))], join(folder, 'etcd.log'))
  await until('etcd to be healthy', async () => (await get(`${etcdUrl}/health`))?.ok)

  const nodes: Node[] = []
  for (const name of ['one', 'two']) {
    const file = (kind: string) => join(folder, `${name}.${kind}`)
    const node = { name, port: await freePort(), restPort: await freePort(), config: file('yml'), log: file('log') }
    // Every JSON text is YAML.
    writeFileSync(node.config, JSON.stringify(configOf(node, folder, etcdUrl)))
    nodes.push(node)
  }
  const requireNode = (wanted: string | undefined): Node => {
    const found = nodes.find(({ name }) => name === wanted)
    if (!found) throw new Error(`there is no node ${wanted}`)
    return found
  }
  const nodeThatIs = async (role: 'primary' | 'sync') => {
    // Each answer takes Patroni a query.
    await sleep(100)
    const answers = await Promise.all(nodes.map(({ restPort }) => get(`http://${host}:${restPort}/${role}`)))
    return nodes.find((_, index) => answers[index]?.ok)?.name
  }
  const primary = () => nodeThatIs('primary')
  const synchronousStandby = () => nodeThatIs('sync')
  const start = async (name: string) => {
    const node = requireNode(name)
    const command = [...asPostgres, ...withParent, 'patroni', node.config]
    node.process = launch(['setpriv', ...withParent, ...inNamespace, ...command], node.log)
  }

  // A node that finds no primary waits ten seconds before it asks for one again.
  await start('one')
  await until('the first node to be the primary', primary, changeMs)
  const urlOf = (user: string, database: string) =>
    `postgres://${user}@${nodes.map(({ port }) => `${host}:${port}`).join()}/${database}?target_session_attrs=read-write`
  const db = connect({ database: urlOf('postgres', 'postgres'), max: 1 })
  await db`create role parley login`
  await db`create database parley owner parley encoding 'UTF8' template template0`
  await db.end()
  await start('two')
  await until('the second node to be the synchronous standby', synchronousStandby, changeMs)

  return {
    url: urlOf('parley', 'parley'),
    primary,
    synchronousStandby,
    async switchover() {
      const leader = requireNode(await primary())
      const candidate = requireNode(await synchronousStandby())
      const response = await fetch(`http://${host}:${leader.restPort}/switchover`, {
        method: 'POST',
        body: JSON.stringify({ leader: leader.name, candidate: candidate.name }),
      })
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
      await until('the switchover', async () => (await primary()) === candidate.name, changeMs)
    },
    async killPrimary() {
      const node = requireNode(await primary())
      if (node.process) await kill(node.process)
      return node.name
    },
    start,
    log: (name) => readFileSync(requireNode(name).log, 'utf8'),
  }
}

/** Kills a program, and all processes in its namespace if it has one. Waits until they are gone. */
async function kill(program: ChildProcess): Promise<void> {
  if (program.exitCode !== null || program.signalCode !== null) return
  const exited = once(program, 'exit')
  // The first process of a namespace ends after all others. Its parent waits for it.
  const [first = program.pid ?? 0] = program.spawnargs.includes('unshare') ? childrenOf(program.pid ?? 0) : []
  process.kill(first, 'SIGKILL')
  await exited
}

async function etcdCommand(folder: string, url: string): Promise<string[]> {
  const peerUrl = `http://${host}:${await freePort()}`
  const settings = {
    'data-dir': join(folder, 'etcd'),
    'listen-client-urls': url,
    'advertise-client-urls': url,
    'listen-peer-urls': peerUrl,
    'initial-advertise-peer-urls': peerUrl,
    'initial-cluster': `default=${peerUrl}`,
  }
  return ['etcd', ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`)]
}

/** The settings of docs/high-availability.md, and what several nodes on one machine need. */
function configOf({ name, port, restPort }: Node, folder: string, etcdUrl: string) {
  const listen = (port: number) => ({ listen: `${host}:${port}`, connect_address: `${host}:${port}` })
  return {
    scope: 'parley',
    name,
    restapi: listen(restPort),
    etcd3: { url: etcdUrl },
    bootstrap: {
      dcs: {
        ...{ ttl: 30, loop_wait: 10, retry_timeout: 10, synchronous_mode: true },
        postgresql: { use_pg_rewind: true, parameters: { max_connections: 200 } },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }],
      pg_hba: [`host all all ${host}/32 trust`, `host replication all ${host}/32 trust`],
    },
    postgresql: {
      ...listen(port),
      data_dir: join(folder, name),
      bin_dir: postgres15Programs,
      pgpass: join(folder, `${name}.pgpass`),
      // Without it, the copy waits for a checkpoint that PostgreSQL spreads over minutes.
      basebackup: { checkpoint: 'fast' },
      authentication: { superuser: { username: 'postgres' }, replication: { username: 'replicator' } },
      parameters: {
        unix_socket_directories: folder,
        // A killed server would leave its shared memory behind.
        dynamic_shared_memory_type: 'mmap',
      },
    },
  }
}

const get = (url: string) => fetch(url, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
