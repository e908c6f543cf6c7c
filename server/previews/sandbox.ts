/**
 * The hidden workspace of a preview: created, emptied for a new start, and deleted.
 *
 * Nothing of a preview is in the workspace of its automation: no contact, conversation, message, event or count. The hidden workspace
 * has the id of the automation, one number of the built-in simulator, and one automation: a copy with an id of its own. It has no keys,
 * no sessions and no webhooks, so only the calls of `routes.ts` reach it. It ends by itself, whatever is killed: a worker deletes it
 * after `preview_until`.
 */
import { sealContext } from '../automation/secrets.ts'
import { getBuiltInUrl } from '../channels/connections.ts'
import type { Sealer } from '../lib/crypto.ts'
import { SealError } from '../lib/crypto.ts'
import { badRequest } from '../lib/errors.ts'
import { newId, timeOfId } from '../lib/id.ts'
import { type Db, requireRow, type Sql, withRetries } from '../lib/postgres/db.ts'
import type { Store } from '../lib/store.ts'
import { deleteFilesOf } from '../merge-erase/delete-files.ts'
import { deleteTenantRows } from '../merge-erase/tenant-rows.ts'
import { addSimulatedNumber } from '../simulator-host/accounts.ts'

/** A preview ends after this time without a message. */
const idleMinutes = 30
/** Of an advisory lock per automation: its preview is started or deleted. */
const previewLock = 7_263_566

export type PreviewContext = { db: Db; sealer: Sealer; store: Pick<Store, 'delete'> }

/** An open preview. `id`: of the hidden workspace and of the automation. `copyId`: of the automation in it. */
export type Sandbox = { id: string; copyId: string; ends_at: string }

/** Undefined: the preview of the automation is not open. The caller has read the automation in its workspace. */
export async function getSandbox(sql: Sql, workspaceId: string, automationId: string): Promise<Sandbox | undefined> {
  const [sandbox] = await sql<Sandbox[]>`
    select w.id, a.id as "copyId", w.preview_until as ends_at
    from workspaces w join automations a on a.workspace_id = w.id
    where w.id = ${automationId} and w.preview_of = ${workspaceId} and w.preview_until > now()`
  return sandbox
}

export async function requireSandbox(sql: Sql, workspaceId: string, automationId: string): Promise<Sandbox> {
  const sandbox = await getSandbox(sql, workspaceId, automationId)
  if (!sandbox) throw badRequest('the preview has ended; start it again')
  return sandbox
}

/** Postpones the end. */
export async function keepOpen(sql: Sql, { id }: Sandbox): Promise<void> {
  await sql`update workspaces set preview_until = ${idleEnd(sql)} where id = ${id} and preview_of is not null`
}

const idleEnd = (sql: Sql) => sql`now() + make_interval(mins => ${idleMinutes})`

/** Opens the preview, or starts it anew: without its contact, conversation and runs. Its number stays. */
export async function startSandbox(
  { db, sealer, store }: PreviewContext,
  workspaceId: string,
  automationId: string,
): Promise<Sandbox> {
  const simulatorUrl = await getBuiltInUrl(db)
  if (simulatorUrl === undefined) throw badRequest('this installation runs no simulator')
  await deleteFilesOf(db, store, automationId)
  await withRetries(() =>
    db.begin(async (sql) => {
      await lockPreview(sql, automationId)
      if (await refreshWorkspace(sql, workspaceId, automationId)) {
        await deleteTenantRows(sql, automationId, { kept: ['channel_connections'], tries: 1 })
      } else {
        await createWorkspace(sql, workspaceId, automationId)
        await addSimulatedNumber({
          ...{ db: sql, sealer, workspaceId: automationId, kind: 'built_in', simulatorUrl, isSameAccount: false },
          ...{ name: 'Preview', id: automationId },
        })
      }
      await copyAutomation(sql, sealer, workspaceId, automationId)
    }),
  )
  return requireSandbox(db, workspaceId, automationId)
}

async function lockPreview(sql: Sql, automationId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${previewLock}, hashtext(${automationId}))`
}

/** With the settings of the workspace that runs depend on. Its plan is not used up: the hidden one has no limit. */
async function createWorkspace(sql: Sql, workspaceId: string, automationId: string): Promise<void> {
  await sql`
    insert into workspaces (id, name, default_country, time_zone, opt_out_words, created_at, preview_of, preview_until)
    select ${automationId}, 'Preview: ' || a.name, w.default_country, w.time_zone, w.opt_out_words, now(), w.id, ${idleEnd(sql)}
    from workspaces w join automations a on a.workspace_id = w.id
    where w.id = ${workspaceId} and a.id = ${automationId}`
}

/** False: there is none yet. */
async function refreshWorkspace(sql: Sql, workspaceId: string, automationId: string): Promise<boolean> {
  const { count } = await sql`
    update workspaces p set name = 'Preview: ' || a.name, default_country = w.default_country, time_zone = w.time_zone,
      opt_out_words = w.opt_out_words, automation_kinds = '{}', preview_until = ${idleEnd(sql)}
    from workspaces w join automations a on a.workspace_id = w.id
    where p.id = ${automationId} and p.preview_of = w.id and w.id = ${workspaceId} and a.id = ${automationId}`
  return count > 0
}

/** Without a definition: `draft.ts` adds it. The secret is the same, so that the customer's server accepts its calls. */
async function copyAutomation(sql: Sql, sealer: Sealer, workspaceId: string, automationId: string): Promise<void> {
  const [automation] = await sql<{ name: string; secret: string }[]>`
    select name, secret from automations where workspace_id = ${workspaceId} and id = ${automationId}`
  const { name, secret } = requireRow(automation, 'the automation of a preview')
  const id = newId()
  await sql`
    insert into automations (workspace_id, id, name, position, secret, created_at, updated_at)
    values (${automationId}, ${id}, ${name}, 0, ${reseal(sealer, secret, [workspaceId, automationId], [automationId, id])},
      ${timeOfId(id)}, ${timeOfId(id)})`
}

type Owner = Parameters<typeof sealContext>

/** A secret that cannot be opened stays as it is: a call then fails as it would live. */
function reseal(sealer: Sealer, secret: string, from: Owner, to: Owner): string {
  try {
    return sealer.seal(sealer.open(secret, sealContext(...from)), sealContext(...to))
  } catch (error) {
    if (error instanceof SealError) return secret
    throw error
  }
}

/** Previews that one sweep deletes. The next one goes on with the rest. */
const maxSwept = 50

/** Deletes the previews that have ended, and those whose automation or workspace is gone. */
export async function sweepPreviews({ db, store }: Omit<PreviewContext, 'sealer'>): Promise<void> {
  const isOver = (sql: Sql) => sql`w.preview_until is not null and (w.preview_until < now() or not exists (
    select from automations a where a.workspace_id = w.preview_of and a.id = w.id
  ))`
  const ended = await db<{ id: string }[]>`select w.id from workspaces w where ${isOver(db)} limit ${maxSwept}`
  for (const { id } of ended) {
    await deleteFilesOf(db, store, id)
    await withRetries(() =>
      db.begin(async (sql) => {
        await lockPreview(sql, id)
        const [stillEnded] = await sql`select from workspaces w where w.id = ${id} and ${isOver(sql)}`
        if (!stillEnded) return
        await deleteTenantRows(sql, id, { tries: 1 })
        await sql`delete from workspaces where id = ${id}`
      }),
    )
  }
}
