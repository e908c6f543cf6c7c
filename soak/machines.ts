/**
 * An installation on several machines (`network.ts`): PostgreSQL, two services and the provider have a machine each, and so has a pooler
 * that a test may start. The callers, the proxy and the customer's receiver are this process, with an address each.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFolder } from '../tests/folder.ts'
import type { Owner } from '../tests/owner.ts'
import { createNetwork, type Network } from './network.ts'
import { type StackOptions, startInstallation } from './stack.ts'

export const services = ['service-1', 'service-2'] as const

export async function startMachines(owner: Owner, settings: Pick<StackOptions, 'env' | 'envOf'>) {
  const network = await createNetwork(
    owner,
    ['database', 'pooler', ...services, 'provider'],
    ['callers', 'proxy', 'receiver'],
  )
  const databaseUrl = await startDatabase(owner, network)
  const placeOf = (machine: string) => ({ host: network.addressOf(machine), command: network.commandOf(machine) })
  const installation = await startInstallation(owner, {
    databaseUrl,
    ...settings,
    places: {
      service: (index) => placeOf(services[index] ?? ''),
      simulator: placeOf('provider'),
      proxyHost: network.addressOf('proxy'),
      receiver: { host: network.addressOf('receiver'), certificate: 'receiver' },
      receiverNetwork: '10.77.0.0/24',
    },
  })
  return { network, installation, placeOf }
}

/** Returns the URL of the database. */
async function startDatabase(owner: Owner, network: Network): Promise<string> {
  const dataDir = createFolder(owner)
  const host = network.addressOf('database')
  const hba = join(dataDir, 'pg_hba.conf')
  writeFileSync(hba, 'local all all trust\nhost all all 10.77.0.0/24 trust\n')
  const settings = { listen_addresses: host, hba_file: hba, max_connections: '200' }
  const [command = '', ...args] = [...network.commandOf('database'), process.execPath, 'soak/database-server.ts']
  const server = spawn(command, [...args, dataDir, JSON.stringify(settings)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const ended = once(server, 'exit')
  owner.after(async () => {
    if (server.connected) server.disconnect()
    await ended
  })
  await Promise.race([once(server, 'message'), ended.then(() => Promise.reject(new Error('PostgreSQL did not start')))])
  return `postgres://parley@${host}:5432/parley`
}
