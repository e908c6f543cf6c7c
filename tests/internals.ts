/**
 * The internals that tests through the front door use. They come from here and
 * from nowhere else, so this list shows all of them with the reason for each.
 */

// Sweeps that the worker runs by the hour.
export { sweepEntries } from '../server/accounts/audit.ts'
export { sweepAnswers } from '../server/accounts/idempotency.ts'
// What the operator does on the command line.
export { createKey, importKey, scopes } from '../server/accounts/keys.ts'
// Rows as the service writes them, for states that HTTP reaches only with time; and the operator's new password.
export { insertMember, resetPassword } from '../server/accounts/members.ts'
export { setPlan } from '../server/accounts/quota.ts'
export { unlinkAccountsOf } from '../server/accounts/sign-in/oidc.ts'
// The codes of an authenticator app.
export { totpCodeOf, totpStepOf } from '../server/accounts/sign-in/totp.ts'
export { createWorkspace } from '../server/accounts/workspaces.ts'
// The language of automations, compared with its guide.
export { automationFields } from '../server/automation/fields.ts'
export { endReasons } from '../server/automation/runs.ts'
// Definitions with a fault, and what their callers get.
export { malformed } from '../server/automation/test-malformed.ts'
// Statements whose work is counted, and settings that only a test has.
export { requireBroadcast } from '../server/broadcasts/broadcasts.ts'
export { recipientFollower } from '../server/broadcasts/counts.ts'
export { sweepDrafts } from '../server/broadcasts/drafts.ts'
export { writeRecipients } from '../server/broadcasts/recipients.ts'
// Lists that the public contract names, compared with what callers see.
export { type Connection, contentTypes } from '../server/channels/channel.ts'
export { sealContext } from '../server/channels/connection-rows.ts'
export { fixture } from '../server/channels/test-http.ts'
// Captured payloads of the channels.
export { brokenMessages } from '../server/channels/test-messages.ts'
export { requireSameKey } from '../server/config/encryption-key.ts'
export { countConnections } from '../server/config/pools.ts'
export { parsePhone } from '../server/contacts/phone.ts'
export type { ChannelName } from '../server/contacts/resource.ts'
export { filterFields } from '../server/conversations/filter-fields.ts'
export { demoPeople } from '../server/demo/people.ts'
export { sweepImports } from '../server/imports/sweep.ts'
// The past episodes in chunks, as if the process ended after one.
export { writeChunk } from '../server/insights/episode-history.ts'
// The loop of the counters, at a moment that the test chooses.
export { countReports } from '../server/insights/reports/count.ts'
export { createSealer, hashPassword, sha256 } from '../server/lib/crypto.ts'
export { findEmbeddedPostgres } from '../server/lib/embedded/postgres.ts'
export { statusOf } from '../server/lib/errors.ts'
export { idAt, isUuid, newId, pastId, timeOfId } from '../server/lib/id.ts'
export { encodeCursor, readPosition } from '../server/lib/page.ts'
export { connect, type Db } from '../server/lib/postgres/db.ts'
export { perCallComment } from '../server/lib/postgres/driver.ts'
export { migrate } from '../server/lib/postgres/migrate.ts'
export { claimFile } from '../server/lib/process/exclusive.ts'
export { createLog } from '../server/lib/process/log.ts'
export { listListeners } from '../server/lib/process/port.ts'
export { createFolderStore } from '../server/lib/store-folder.ts'
// Texts of any characters.
export { codePoint } from '../server/lib/test-text.ts'
export { sweepUploads } from '../server/media/uploads.ts'
export { deleteWorkspace } from '../server/merge-erase/delete-workspace.ts'
export { isMerging } from '../server/merge-erase/merge-history.ts'
export { sweepPending } from '../server/messages/sending/settle.ts'
export { sweepPreviews } from '../server/previews/sandbox.ts'
export {
  addSimulatedNumber,
  connectSimulator,
  loadSimulatorAccounts,
  registerSimulatorAccounts,
} from '../server/simulator-host/accounts.ts'
// The list that the alert rules are made from.
export { checks } from '../server/web/checks.ts'
export { sweepVisitors } from '../server/webchat/visitors.ts'
export { eventNames } from '../server/webhooks/emit.ts'
export { deleteEndpoint, sweepOldSecrets } from '../server/webhooks/endpoints.ts'
export { sweepListeners } from '../server/webhooks/listeners.ts'
export { listDeliveries } from '../server/webhooks/log.ts'
