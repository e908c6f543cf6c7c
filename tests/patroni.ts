/** What a cluster of Patroni (`soak/patroni.ts`) needs from the machine: namespaces, and packages of Debian. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { resolvePackage } from '../scripts/packages.ts'
import { postgres15Programs } from './postgres-15.ts'

/** The start of a command that runs a program in a namespace of its own. */
export const inNamespace = ['unshare', '--pid', '--ipc', '--mount-proc', '--fork', '--']
const programs: readonly [name: string, path: string][] = [
  ['etcd-server', '/usr/bin/etcd'],
  ['patroni', '/usr/bin/patroni'],
  ['postgresql-15', join(postgres15Programs, 'postgres')],
]

/** Why there is no Patroni here; undefined if there is. With `install`, installs what is missing where that is possible. */
export function whyNoPatroni({ install = false } = {}): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'needs Linux and root'
  const [command = '', ...args] = [...inNamespace, 'true']
  if (spawnSync(command, args).status !== 0) return 'this machine allows no PID namespaces'
  const missing = programs.filter(([name, path]) => !resolvePackage(name, [path], { install }))
  return missing.length > 0 ? `${missing.map(([name]) => name).join(', ')}: not installed` : undefined
}
