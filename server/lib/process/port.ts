/** The port that a service listens on: whether it is free, and which process has it. */
import { once } from 'node:events'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { basename } from 'node:path'

/** Throws a system error if the port is in use or may not be used. Processes that share a port would also share it with another service. */
export async function tryPort({ port, host }: { port: number; host: string }): Promise<void> {
  // A caller that connects now is refused.
  const server = createServer((socket) => socket.destroy()).listen({ port, host, exclusive: true })
  await once(server, 'listening')
  await new Promise((resolve) => server.close(resolve))
}

/** `command` is the name of the program, and of the script that it runs. Other arguments may be secrets. */
export type Listener = { pid: number; command: string }

/**
 * The processes that listen on a TCP port, on any address. Linux only: elsewhere the list is empty. Only root sees the processes
 * of other users.
 */
export async function listListeners(port: number): Promise<Listener[]> {
  if (process.platform !== 'linux') return []
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')))
  const sockets = new Set(tables.flatMap((table) => listSockets(table, port)))
  if (sockets.size === 0) return []
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const listeners = await Promise.all(pids.map((pid) => findListener(pid, sockets)))
  return listeners.filter((listener) => listener !== undefined)
}

/** The inodes of sockets in state LISTEN, as links of file descriptors name them. */
function listSockets(table: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/)
    return local.endsWith(suffix) && state === '0A' ? [`socket:[${inode}]`] : []
  })
}

async function findListener(pid: string, sockets: ReadonlySet<string>): Promise<Listener | undefined> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => [])
  for (const descriptor of descriptors) {
    const target = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => '')
    if (!sockets.has(target)) continue
    return { pid: Number(pid), command: nameOf(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')) }
  }
  return undefined
}

function nameOf(commandLine: string): string {
  const [program = '', script = ''] = commandLine.split('\0')
  const words = [basename(program.split(' ')[0] ?? ''), /^[^\s-].*\.\w{1,4}$/.test(script) ? basename(script) : '']
  return words.filter(Boolean).join(' ')
}
