/**
 * A network of machines: each is a network namespace, and a switch of our own (`switch.ts`) connects them. A test cuts links, delays
 * their packets and loses some. Needs root and `ip` of Linux.
 *
 * The process of the test is in a network of its own, where it is a machine too, with several addresses. All namespaces end with the
 * processes in them, however these end: their names are in a file system that only the test sees.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import type { Owner } from '../tests/owner.ts'
import type { Quality, SwitchMessage } from './switch.ts'

export type Network = {
  addressOf(machine: string): string
  /** The start of a command that runs a program on the machine. */
  commandOf(machine: string): string[]
  /** Sets the quality of all links between a machine of the one side and a machine of the other. */
  setLinks(side: readonly string[], otherSide: readonly string[], quality: Quality): Promise<void>
  /** Nothing leaves or reaches the machine. Returns a function that plugs it in again. */
  unplug(machine: string): () => void
  /** Packets since the start. */
  counts(): Promise<{ forwarded: number; lost: number }>
}

export const perfect: Quality = { lossPercent: 0, delayMs: 0 }
/** Everything is lost, in silence. */
export const cut: Quality = { lossPercent: 100, delayMs: 0 }

/** Room for the header of VXLAN in a frame. */
const mtu = '1450'
const namesFolder = '/run/netns'
const marker = 'PARLEY_OWN_NETWORK'

/** Why no network of machines is possible here; undefined if it is. */
export function whyNoNetwork(): string | undefined {
  if (process.platform !== 'linux') return 'network namespaces need Linux'
  if (process.getuid?.() !== 0) return 'network namespaces need root'
  if (spawnSync('ip', ['-V']).status !== 0) return 'the command ip (iproute2) is missing'
  const tried = [
    'ip link set lo up',
    'ip link add tried type vxlan id 1 dstport 4789 dev lo',
    'mount -t tmpfs none /mnt',
  ]
  if (spawnSync('unshare', ['--net', '--mount', 'sh', '-ec', tried.join('\n')]).status !== 0)
    return 'this machine allows no network namespaces with VXLAN devices'
  return undefined
}

/** Replaces this process by one with the same arguments in a network of its own. Does nothing in that process. */
export function enterOwnNetwork(): void {
  if (process.env[marker]) return
  const command = ['unshare', '--net', '--mount', process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  const path = execFileSync('sh', ['-c', 'command -v unshare'], { encoding: 'utf8' }).trim()
  process.execve?.(path, command, { ...process.env, [marker]: '1' })
}

/** `machines` have a namespace each. `here`: machines that are this process, with an address each. */
export async function createNetwork(
  owner: Owner,
  machines: readonly string[],
  here: readonly string[],
): Promise<Network> {
  if (!process.env[marker]) throw new Error('the process is not in a network of its own')
  const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const names = [...here, ...machines]
  const hostOf = (machine: string) => names.indexOf(machine) + 11
  const addressOf = (machine: string) => `10.77.0.${hostOf(machine)}`
  const underlay: Record<string, string> = {}
  const stop: (() => unknown)[] = []
  owner.after(async () => {
    for (const run of stop.reverse()) await run()
  })

  const addNamespace = (name: string) => {
    ip('netns', 'add', name)
    stop.push(() => ip('netns', 'delete', name))
    ip('-n', name, 'link', 'set', 'lo', 'up')
  }
  /** Connects a namespace, or this process, to the switch. */
  const plugIn = (name: string | undefined, device: string, addresses: readonly string[]) => {
    const at = name === undefined ? [] : ['-n', name]
    const uplink = `to-${name ?? 'here'}`.slice(0, 15)
    ip(
      '-n',
      'switch',
      'link',
      'add',
      uplink,
      'type',
      'veth',
      'peer',
      'name',
      'uplink',
      'netns',
      name ?? String(process.pid),
    )
    ip('-n', 'switch', 'link', 'set', uplink, 'master', 'wires', 'up')
    ip(...at, 'address', 'add', `${device}/24`, 'dev', 'uplink')
    ip(...at, 'link', 'set', 'uplink', 'up')
    const remote = ['local', device, 'remote', '10.66.0.1', 'dstport', '4789', 'nolearning']
    ip(...at, 'link', 'add', 'net0', 'type', 'vxlan', 'id', '7', ...remote)
    // One segment per frame: the switch sees what a wire would carry.
    ip(...at, 'link', 'set', 'net0', 'mtu', mtu, 'gso_max_segs', '1')
    for (const address of addresses) {
      ip(...at, 'address', 'add', `${address}/24`, 'dev', 'net0')
      underlay[address] = device
    }
    ip(...at, 'link', 'set', 'net0', 'up')
  }

  mkdirSync(namesFolder, { recursive: true })
  execFileSync('mount', ['-t', 'tmpfs', 'none', namesFolder])
  stop.push(() => execFileSync('umount', [namesFolder]))
  ip('link', 'set', 'lo', 'up')
  addNamespace('switch')
  ip('-n', 'switch', 'link', 'add', 'wires', 'type', 'bridge')
  ip('-n', 'switch', 'address', 'add', '10.66.0.1/24', 'dev', 'wires')
  ip('-n', 'switch', 'link', 'set', 'wires', 'up')
  for (const name of machines) {
    addNamespace(name)
    plugIn(name, `10.66.0.${hostOf(name)}`, [addressOf(name)])
  }
  plugIn(undefined, '10.66.0.2', here.map(addressOf))
  stop.push(() => ip('link', 'delete', 'net0'))

  const commandOf = (machine: string) => ['ip', 'netns', 'exec', machine]
  // A switch that waits for a busy processor would lose and delay packets that it should not.
  const relay = await startSwitch([...commandOf('switch'), 'nice', '-n', '-15', process.execPath])
  stop.push(relay.stop)
  await relay.send({ underlay, links: [] })
  return {
    addressOf,
    commandOf,
    async setLinks(side, otherSide, quality) {
      const links = side.flatMap((one) =>
        otherSide.map((other): SwitchMessage['links'][number] => [addressOf(one), addressOf(other), quality]),
      )
      await relay.send({ links })
    },
    unplug(machine) {
      const set = (state: 'down' | 'up') => ip('-n', machine, 'link', 'set', 'uplink', state)
      set('down')
      return () => void set('up')
    },
    counts: () => relay.send({ links: [] }),
  }
}

async function startSwitch([command = '', ...args]: string[]) {
  const relay: ChildProcess = spawn(command, [...args, `${import.meta.dirname}/switch.ts`, '10.66.0.1'], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const ended = once(relay, 'exit')
  await Promise.race([once(relay, 'message'), ended.then(() => Promise.reject(new Error('the switch did not start')))])
  return {
    async send(message: SwitchMessage) {
      relay.send(message)
      const [counts] = await once(relay, 'message')
      return counts as { forwarded: number; lost: number }
    },
    async stop() {
      relay.kill('SIGKILL')
      await ended
    },
  }
}
