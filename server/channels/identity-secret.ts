/**
 * The identity secret of a site: its server signs with it who its visitor is (`webchat/identity.ts`).
 *
 * It is stored sealed and returned only once. A new secret replaces the old one at once: tokens and sessions of the old one end.
 */
import { randomToken, type SealContext, type Sealer, sha256 } from '../lib/crypto.ts'
import { notFound } from '../lib/errors.ts'
import type { Sql } from '../lib/postgres/db.ts'
import { isSite, type SiteRef } from './widget.ts'

/** The connection of a site, with its sealed secret; null: the site has none. */
export type IdentitySite = { workspace_id: string; identity_secret: string | null }

export async function createIdentitySecret(
  sql: Sql,
  sealer: Sealer,
  workspaceId: string,
  site: SiteRef,
): Promise<string> {
  const secret = `idsec_${randomToken()}`
  await saveSecret(sql, workspaceId, site, sealer.seal(secret, sealContext(workspaceId)))
  return secret
}

export const deleteIdentitySecret = (sql: Sql, workspaceId: string, site: SiteRef): Promise<void> =>
  saveSecret(sql, workspaceId, site, null)

/** Undefined: the site has no secret. */
export const openIdentitySecret = (sealer: Sealer, site: IdentitySite): string | undefined =>
  site.identity_secret === null ? undefined : sealer.open(site.identity_secret, sealContext(site.workspace_id))

/** Names the secret in the sessions that it proved, so that they end with it. */
export const generationOf = ({ identity_secret: sealed }: IdentitySite): string => sha256(sealed ?? '').slice(0, 16)

/** Throws 404 while the site is not connected. */
async function saveSecret(sql: Sql, workspaceId: string, site: SiteRef, sealed: string | null): Promise<void> {
  const { count } = await sql`
    update channel_connections
    set identity_secret = ${sealed}, identity_secret_at = case when ${sealed}::text is not null then now() end, updated_at = now()
    where workspace_id = ${workspaceId} and ${isSite(sql, site)}`
  if (count === 0) throw notFound('channel')
}

const sealContext = (workspaceId: string): SealContext => ['channel_connections.identity_secret', workspaceId, 'web']
