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
import { insertMember } from '../accounts/members.ts'
import { createWorkspace } from '../accounts/workspaces.ts'
import { hashPassword, randomPassword, type Sealer } from '../lib/crypto.ts'
import { giveToOwnerOf } from '../lib/embedded/as-root.ts'
import { type Db, isDuplicate, requireRow, type Sql } from '../lib/postgres/db.ts'
import type { Store } from '../lib/store.ts'
import { connectSimulator } from '../simulator-host/accounts.ts'
import { colleagues, type MemberKey } from './people.ts'

export type Demo = {
  base_url: string
  workspace_id: string
  api_key: string
  owner: { email: string; password: string }
  /** The other members. Absent in a demo of an earlier release. */
  members?: { email: string; role: string; password: string }[]
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

/** Updates `demo.json` after the password of one of the demo's members was reset. */
export async function updateDemoPassword(dataDir: string, member: Demo['owner']): Promise<void> {
  const file = join(dataDir, 'demo.json')
  const demo = readDemo(dataDir)
  const { email } = member
  if (demo?.owner.email === email) await writeDemo(file, { ...demo, owner: member })
  else if (demo?.members?.some((one) => one.email === email)) {
    const members = demo.members.map((one) => (one.email === email ? { ...one, ...member } : one))
    await writeDemo(file, { ...demo, members })
  }
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
    const { memberIds, members } = await createColleagues(sql, workspace_id)
    const { publicUrl, store, sealer } = options
    const { seedDemo } = await import('./data.ts')
    await seedDemo({ sql, workspaceId: workspace_id, memberIds, publicUrl, store, sealer })
    return writeDemo(file, {
      base_url: `${options.publicUrl}/v1`,
      workspace_id,
      api_key: key,
      owner,
      members,
      simulator_url: options.simulatorUrl,
      web_site_id,
    })
  })
}

/** The members besides the owner, so that assignments, notes and mentions have people. Each signs in with a password of their own. */
async function createColleagues(sql: Sql, workspaceId: string) {
  const [owner] = await sql<{ id: string }[]>`
    select id from members where workspace_id = ${workspaceId} and role = 'owner'`
  const memberIds = { owner: requireRow(owner, 'the owner of the demo workspace').id } as Record<MemberKey, string>
  const members = colleagues.map(({ email, role }) => ({ email, role, password: randomPassword() }))
  const hashes = await Promise.all(members.map(({ password }) => hashPassword(password)))
  for (const [index, { key, name, email, role }] of colleagues.entries()) {
    const passwordHash = hashes[index] ?? ''
    const { id } = await insertMember(sql, workspaceId, { email, name, role, passwordHash, isEmailProved: true })
    memberIds[key] = id
  }
  return { memberIds, members }
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
