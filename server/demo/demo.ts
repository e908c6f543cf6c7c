/**
 * The demo workspace, to try the service right after its first start.
 *
 * A database has at most one. Its secrets are in `demo.json`, which only the owner of the data directory can read. The file is
 * written before the workspace is committed: after a crash in between, the next start replaces the file. A new demo has a
 * history (`data.ts`); an existing one is not changed.
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createKey, extendScopes, scopes } from '../accounts/keys.ts'
import { createWorkspace } from '../accounts/workspaces.ts'
import type { Sealer } from '../lib/crypto.ts'
import { giveToOwnerOf } from '../lib/embedded/as-root.ts'
import { type Db, isDuplicate, type Sql } from '../lib/postgres/db.ts'
import type { Store } from '../lib/store.ts'
import { connectSimulator } from '../simulator-host/accounts.ts'

export type Demo = {
  base_url: string
  workspace_id: string
  api_key: string
  owner: { email: string; password: string }
  simulator_url: string
  web_site_id: string
}

type DemoOptions = {
  db: Db
  sealer: Sealer
  /** Stores the files of its history. */
  store: Store
  dataDir: string
  publicUrl: string
  /** The address of the simulator of this process, its own or the host's. */
  simulatorUrl: string
}

/**
 * Finds or creates the demo workspace and connects its missing channels to the simulator. Returns undefined when the workspace
 * exists but its secrets are not in this data directory.
 */
export async function resolveDemo(options: DemoOptions): Promise<Demo | undefined> {
  const { db, dataDir, publicUrl, simulatorUrl } = options
  const file = join(dataDir, 'demo.json')
  let workspaceId = await getDemoWorkspaceId(db)
  if (!workspaceId) {
    try {
      return await createDemo(options, file)
    } catch (error) {
      // Another process created it first.
      if (!isDuplicate(error, 'workspaces_one_demo')) throw error
    }
    workspaceId = await getDemoWorkspaceId(db)
  }
  if (!workspaceId) return undefined
  const web_site_id = await connectDemo(db, options, workspaceId)
  const demo = readDemo(dataDir)
  if (demo?.workspace_id !== workspaceId) return undefined
  await extendScopes(db, workspaceId, demo.api_key)
  return writeDemo(file, { ...demo, base_url: `${publicUrl}/v1`, simulator_url: simulatorUrl, web_site_id })
}

/** Updates `demo.json` after the password of the demo's owner was reset. */
export async function updateDemoPassword(dataDir: string, owner: Demo['owner']): Promise<void> {
  const file = join(dataDir, 'demo.json')
  const demo = readDemo(dataDir)
  if (demo?.owner.email === owner.email) await writeDemo(file, { ...demo, owner })
}

/** Removes `demo.json` after its workspace was deleted. */
export function removeDemo(dataDir: string, workspaceId: string): void {
  if (readDemo(dataDir)?.workspace_id === workspaceId) rmSync(join(dataDir, 'demo.json'), { force: true })
}

/** Reads `demo.json`, if it exists. */
export function readDemo(dataDir: string): Demo | undefined {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))
  } catch {
    return undefined
  }
}

function createDemo(options: DemoOptions, file: string): Promise<Demo> {
  return options.db.begin(async (sql) => {
    const { workspace_id, owner } = await createWorkspace(sql, {
      name: 'Demo',
      default_country: 'US',
      owner: { email: 'owner@demo.test', name: 'Demo Owner' },
      is_demo: true,
    })
    const { key } = await createKey(sql, workspace_id, { name: 'Demo key', scopes, created_by: null })
    const web_site_id = await connectDemo(sql, options, workspace_id)
    const { publicUrl, store } = options
    const { seedDemo } = await import('./data.ts')
    await seedDemo({ sql, workspaceId: workspace_id, publicUrl, store })
    return writeDemo(file, {
      base_url: `${options.publicUrl}/v1`,
      workspace_id,
      api_key: key,
      owner,
      simulator_url: options.simulatorUrl,
      web_site_id,
    })
  })
}

/** Connects the channels that are not connected. Connections of members stay. Returns the id of the web connection. */
async function connectDemo(sql: Sql, { sealer, simulatorUrl }: DemoOptions, workspaceId: string): Promise<string> {
  const simulating = { db: sql, sealer, workspaceId, kind: 'built_in', simulatorUrl, onlyMissing: true } as const
  return (await connectSimulator(simulating)).web.id
}

/** The id of the demo's web connection, if there is one. */
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
