/**
 * Which messages of customers may start an automation, before they are stored. Only these are queued, and those that a bot waits for.
 * `decide.ts` has the last word, because conditions and earlier messages count there.
 */
import type { Sql } from '../lib/postgres/db.ts'
import type { MayStart, MessageCause } from '../messages/receiving/store-inbound.ts'
import { listActive } from './active.ts'
import { causesOfMessage } from './decisions.ts'
import type { Trigger } from './definition.ts'
import { type Cause, matches } from './match.ts'

/** The triggers of a workspace that messages can be causes of. `opening`: only messages that open their conversation. */
type Triggers = { version: string; always: Trigger[]; opening: Trigger[] }

/** Those of the workspaces whose customers wrote last. A message is compared with the automations of its arrival or newer ones. */
const known = new Map<string, Triggers>()
const maxKnown = 1_000

export async function findStarts(sql: Sql, messages: readonly MessageCause[]): Promise<MayStart[]> {
  const found: MayStart[] = []
  for (const message of messages) {
    const triggers = known.get(message.workspace_id)
    const isCurrent = triggers?.version === message.automations_version
    found.push(mayStart(isCurrent ? triggers : await readTriggers(sql, message), message))
  }
  return found
}

async function readTriggers(sql: Sql, { workspace_id, automations_version: version }: MessageCause): Promise<Triggers> {
  const active = (await listActive(sql, workspace_id)).map(({ definition }) => definition.trigger)
  const isOpening = (trigger: Trigger) =>
    trigger.type === 'message' ? (trigger.when ?? 'any') !== 'any' : trigger.type === 'conversation'
  const opening = active.filter(isOpening)
  const always = active.filter((trigger) => trigger.type === 'message' && !isOpening(trigger))
  const triggers = { version, always, opening }
  const [oldest] = known.keys()
  known.delete(workspace_id)
  if (known.size >= maxKnown && oldest) known.delete(oldest)
  known.set(workspace_id, triggers)
  return triggers
}

function mayStart({ always, opening }: Triggers, message: MessageCause): MayStart {
  const causes = causesOfMessage({ ...message, is_first: true }, true)
  const isOne = (triggers: readonly Trigger[]) =>
    triggers.some((trigger) => causes.some((cause: Cause) => matches(trigger, cause)))
  if (isOne(always)) return 'always'
  return isOne(opening) ? 'opening' : 'never'
}
