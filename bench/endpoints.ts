/** What the benchmarks of webhooks share: settings, endpoints, event bodies and a receiver in its own process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { type CreatedWebhook, Parley } from '../sdk/src/index.ts'
import { newId, timeOfId } from '../server/lib/id.ts'
import { testEncryptionKey } from '../tests/support.ts'
import { phoneOf } from './people.ts'
import type { Query, Report } from './receiver.ts'
import { createKeys, type Service } from './service.ts'

const root = join(import.meta.dirname, '..')
/** Lets a service deliver to receivers of this machine. */
export const localReceivers = {
  WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
  NODE_EXTRA_CA_CERTS: join(root, 'tests/fixtures/tls.crt'),
}
// The copies of an endpoint have secrets sealed under this key.
export const settings = { ...localReceivers, ENCRYPTION_KEY: testEncryptionKey }

/** The body of a `contact.created`. */
export const bodyOf = (workspaceId: string, i: number): string => {
  const id = newId()
  const [phone, name, at] = [phoneOf(i), 'Ada Abbott', timeOfId(id)]
  const contact = {
    ...{ id, phone, social_username: null, channels: ['msgapp'], name, email: null, company: null, avatar_url: null },
    ...{ tags: [], created_at: at, updated_at: at },
  }
  const data = { contact_id: id, phone, name, contact }
  return JSON.stringify({ id: newId(), event: 'contact.created', occurred_at: at, account_id: workspaceId, data })
}

export type Receiver = { origin: string; query(what: Query): Promise<Report>; stop(): Promise<void> }

export async function startReceiver(): Promise<Receiver> {
  const child = spawn(process.execPath, [join(root, 'bench/receiver.ts')], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const ready = await reportOf(child)
  if (!('port' in ready)) throw new Error('the receiver did not report its port')
  return {
    origin: `https://127.0.0.1:${ready.port}`,
    query(what) {
      const report = reportOf(child)
      child.send(what)
      return report
    },
    async stop() {
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.disconnect()
      await gone
    },
  }
}

const reportOf = (child: ChildProcess): Promise<Report> =>
  new Promise((resolve, reject) => {
    child.once('message', (report: Report) => {
      child.removeAllListeners('exit')
      resolve(report)
    })
    child.once('exit', () => reject(new Error('the receiver exited')))
  })

export async function countOf(receiver: Receiver): Promise<{ count: number; at: number }> {
  const report = await receiver.query('count')
  if (!('count' in report)) throw new Error('the receiver did not report its count')
  return report
}

export async function addEndpoint(service: Service, url: string): Promise<CreatedWebhook> {
  const [key] = await createKeys(service, 1)
  const parley = new Parley({ apiKey: key, baseUrl: `${service.url}/v1` })
  return parley.webhooks.create({ url, events: ['contact.created'] })
}
