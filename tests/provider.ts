/** The simulator as a test sees it: what it was sent, what its customers write, how it fails. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import pino from 'pino'
import { times } from '../common/times.ts'
import type { Connection } from '../server/channels/channel.ts'
import type { ChannelName } from '../server/contacts/resource.ts'
import { createSimulator, type SimulatorAccount } from '../simulator/simulator.ts'
import type { Json, Owner } from './owner.ts'

type SentMessage = { message_id: string; channel: string; connection_id: string; to: string; at: string; body: Json }

export type Provider = {
  simulatorUrl: string
  /** The same simulator for another workspace. */
  of(workspaceId: string, connections: Record<ChannelName, Connection>): Provider
  connections: Record<ChannelName, Connection>
  /** A customer writes; answers the channel's message id once the service took it. */
  writes(message: Record<string, unknown>): Promise<string>
  sent(to?: string): Promise<SentMessage[]>
  fault(fault: Record<string, unknown>): Promise<void>
  /** Post any body to the service's callback, signed; answers the service's status. */
  callback(body: unknown, channel?: 'msgapp' | 'social'): Promise<number>
  control(method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }>
  /** Refuse connections, and break those there are. */
  goDown(): Promise<void>
  /** Listen again, at the same address. */
  comeUp(): Promise<void>
}

/** `loadAccounts`: it is a built-in simulator, which reads its accounts from the service. */
export async function startProvider(
  owner: Owner,
  dir: string,
  loadAccounts?: () => Promise<SimulatorAccount[]>,
): Promise<Provider> {
  const server = createServer((request, response) => simulator.handle(request, response))
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  await listen(0)
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const power: Power = {
    goDown: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
    comeUp: () => listen(port),
  }
  const log = pino({ level: 'silent' })
  const options = { dir, name: 'test', publicUrl: origin, isPrivate: true, ...(loadAccounts ? { loadAccounts } : {}) }
  const simulator = await createSimulator({ ...options, log, times: times.simulator })
  owner.after(async () => {
    await simulator.stop()
    server.closeAllConnections()
    server.close()
  })
  return toProvider(`${origin}/simulator`, '', {} as Record<ChannelName, Connection>, power)
}

type Power = Pick<Provider, 'goDown' | 'comeUp'>

const alwaysOn: Power = {
  goDown: async () => {
    throw new Error('this simulator is not ours to stop')
  },
  comeUp: async () => {},
}

export function toProvider(
  simulatorUrl: string,
  workspaceId: string,
  connections: Record<ChannelName, Connection>,
  power = alwaysOn,
): Provider {
  const control: Provider['control'] = async (method, path, body) => {
    const response = await fetch(`${simulatorUrl}/control${path}`, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    return { status: response.status, body: await response.json() }
  }
  const must = async (method: string, path: string, body?: unknown): Promise<Json> => {
    const answer = await control(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body.data
  }
  return {
    simulatorUrl,
    connections,
    of: (id, theirs) => toProvider(simulatorUrl, id, theirs, power),
    control,
    ...power,
    writes: async (message) =>
      (await must('POST', '/inbound', { workspace_id: workspaceId, channel: 'msgapp', ...message })).message_id,
    sent: async (to) => must('GET', `/sent?workspace_id=${workspaceId}${to ? `&to=${encodeURIComponent(to)}` : ''}`),
    fault: async (fault) => {
      await must('POST', '/faults', fault)
    },
    callback: async (body, channel = 'msgapp') =>
      (await must('POST', '/callback', { workspace_id: workspaceId, channel, body })).status,
  }
}
