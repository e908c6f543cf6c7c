/**
 * The demo workspace: something to try right after the first start.
 *
 * A database has at most one. Its secrets are in `demo.json`, readable by the
 * owner of the data directory only, and the file is on disk before the
 * workspace is committed: a crash in between leaves a file that the next start
 * writes anew, never a workspace nobody can enter.
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createKey, scopes } from './accounts/keys.ts'
import { createWorkspace } from './accounts/workspaces.ts'
import { type Db, isDuplicate } from './lib/db.ts'
import { giveToOwnerOf } from './lib/embedded-postgres-root.ts'

export type Demo = {
  base_url: string
  workspace_id: string
  api_key: string
  owner: { email: string; password: string }
}

type Making = { db: Db; dataDir: string; publicUrl: string }

/** Find the demo workspace or make it. `undefined`: it is there, but its secrets are not in this data directory. */
export async function resolveDemo({ db, dataDir, publicUrl }: Making): Promise<Demo | undefined> {
  const file = join(dataDir, 'demo.json')
  const known = await getDemoWorkspaceId(db)
  if (!known) {
    try {
      return await makeDemo(db, file, publicUrl)
    } catch (error) {
      // Another process was faster.
      if (!isDuplicate(error, 'workspaces_one_demo')) throw error
    }
  }
  const demo = readDemo(file)
  if (!demo || demo.workspace_id !== (known ?? (await getDemoWorkspaceId(db)))) return undefined
  return writeDemo(file, { ...demo, base_url: `${publicUrl}/v1` })
}

/** Keep `demo.json` true when the demo owner got a new password. */
export async function updateDemoPassword(dataDir: string, owner: Demo['owner']): Promise<void> {
  const file = join(dataDir, 'demo.json')
  const demo = readDemo(file)
  if (demo?.owner.email === owner.email) await writeDemo(file, { ...demo, owner })
}

function makeDemo(db: Db, file: string, publicUrl: string): Promise<Demo> {
  return db.begin(async (sql) => {
    const { workspace_id, owner } = await createWorkspace(sql, {
      name: 'Demo',
      default_country: 'US',
      owner: { email: 'owner@demo.test', name: 'Demo Owner' },
      is_demo: true,
    })
    const { key } = await createKey(sql, workspace_id, { name: 'Demo key', scopes, created_by: null })
    return writeDemo(file, { base_url: `${publicUrl}/v1`, workspace_id, api_key: key, owner })
  })
}

async function getDemoWorkspaceId(db: Db): Promise<string | undefined> {
  const [workspace] = await db<{ id: string }[]>`select id from workspaces where is_demo`
  return workspace?.id
}

function readDemo(file: string): Demo | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
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
