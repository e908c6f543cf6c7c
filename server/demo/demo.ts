/**
 * The demo workspace: something to try right after the first start.
 *
 * A database has at most one. Its secrets are in `demo.json`, readable by the
 * owner of the data directory only, and the file is on disk before the
 * workspace is committed: a crash in between leaves a file that the next start
 * writes anew, never a workspace nobody can enter. A new one has a past to look
 * at (`demo-data.ts`); one that is there already stays as it is.
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createKey, scopes } from '../accounts/keys.ts'
import { createWorkspace } from '../accounts/workspaces.ts'
import type { Sealer } from '../lib/crypto.ts'
import { type Db, isDuplicate, type Sql } from '../lib/db.ts'
import { giveToOwnerOf } from '../lib/embedded-postgres-root.ts'
import type { Store } from '../lib/store.ts'
import { connectSimulator } from '../simulator-host/accounts.ts'
import { seedDemo } from './data.ts'

export type Demo = {
  base_url: string
  workspace_id: string
  api_key: string
  owner: { email: string; password: string }
  simulator_url: string
  web_site_id: string
}

type Making = {
  db: Db
  sealer: Sealer
  /** Where the files of its history are kept. */
  store: Store
  dataDir: string
  publicUrl: string
  /** Where this process has the simulator, its own or the host's. */
  simulatorUrl: string
}

/**
 * Find the demo workspace or make it, connected to the simulator; what it lacks is made. `undefined`:
 * it is there, but its secrets are not in this data directory.
 */
export async function resolveDemo(making: Making): Promise<Demo | undefined> {
  const { db, dataDir, publicUrl, simulatorUrl } = making
  const file = join(dataDir, 'demo.json')
  let workspaceId = await getDemoWorkspaceId(db)
  if (!workspaceId) {
    try {
      return await makeDemo(making, file)
    } catch (error) {
      // Another process was faster.
      if (!isDuplicate(error, 'workspaces_one_demo')) throw error
    }
    workspaceId = await getDemoWorkspaceId(db)
  }
  if (!workspaceId) return undefined
  const web_site_id = await connectDemo(db, making, workspaceId)
  const demo = readDemo(dataDir)
  if (demo?.workspace_id !== workspaceId) return undefined
  return writeDemo(file, { ...demo, base_url: `${publicUrl}/v1`, simulator_url: simulatorUrl, web_site_id })
}

/** Keep `demo.json` true when the demo owner got a new password. */
export async function updateDemoPassword(dataDir: string, owner: Demo['owner']): Promise<void> {
  const file = join(dataDir, 'demo.json')
  const demo = readDemo(dataDir)
  if (demo?.owner.email === owner.email) await writeDemo(file, { ...demo, owner })
}

/** What `demo.json` says, if it is there. */
export function readDemo(dataDir: string): Demo | undefined {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))
  } catch {
    return undefined
  }
}

function makeDemo(making: Making, file: string): Promise<Demo> {
  return making.db.begin(async (sql) => {
    const { workspace_id, owner } = await createWorkspace(sql, {
      name: 'Demo',
      default_country: 'US',
      owner: { email: 'owner@demo.test', name: 'Demo Owner' },
      is_demo: true,
    })
    const { key } = await createKey(sql, workspace_id, { name: 'Demo key', scopes, created_by: null })
    const web_site_id = await connectDemo(sql, making, workspace_id)
    const { publicUrl, store } = making
    await seedDemo({ sql, workspaceId: workspace_id, publicUrl, store })
    return writeDemo(file, {
      base_url: `${making.publicUrl}/v1`,
      workspace_id,
      api_key: key,
      owner,
      simulator_url: making.simulatorUrl,
      web_site_id,
    })
  })
}

/** Connect what is not connected yet; a connection that a member made stays. Answers the id of the web channel's. */
async function connectDemo(sql: Sql, { sealer, simulatorUrl }: Making, workspaceId: string): Promise<string> {
  const simulating = { db: sql, sealer, workspaceId, kind: 'built_in', simulatorUrl, onlyMissing: true } as const
  return (await connectSimulator(simulating)).web.id
}

/** The web channel of the demo workspace, if it is connected. */
export async function getDemoSiteId(db: Db): Promise<string | undefined> {
  const [site] = await db<{ id: string }[]>`
    select c.id from workspaces w
    join channel_connections c on c.workspace_id = w.id and c.channel = 'web'
    where w.is_demo`
  return site?.id
}

async function getDemoWorkspaceId(db: Db): Promise<string | undefined> {
  const [workspace] = await db<{ id: string }[]>`select id from workspaces where is_demo`
  return workspace?.id
}

async function writeDemo(file: string, demo: Demo): Promise<Demo> {
  const draft = `${file}.${process.pid}`
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(draft, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600, flush: true })
  chmodSync(draft, 0o600)
  await giveToOwnerOf(dirname(file), draft)
  renameSync(draft, file)
  return demo
}
