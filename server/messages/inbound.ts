/** Reads customers' messages from reports: the sender with their profile, the content, and whether it opts out. */
import { type OptOutRequest, readOptOutRequest, toKeys } from '../accounts/opt-out-words.ts'
import type { Channel, Report, WrittenMessage } from '../channels/channel.ts'
import type { CallbackConnection } from '../channels/connections.ts'
import type { ChannelName } from '../contacts/contacts.ts'
import type { PersonRef } from '../contacts/people.ts'
import type { FoundThread } from '../conversations/threads.ts'
import { newId } from '../lib/id.ts'
import { within } from '../lib/time.ts'

export type MessageReport = Extract<Report, { kind: 'message' }>

export type InboundMessage = {
  workspaceId: string
  channel: ChannelName
  /** Created on arrival, so that ids keep the order of arrival. */
  id: string
  from: PersonRef
  written: WrittenMessage
  /** The path of a file that is stored already (web). */
  media_url?: string | undefined
  /** Whether the text opts out of broadcasts or in again. */
  wish?: OptOutRequest | undefined
}

/** How long a callback waits for the profiles of new senders. */
const profileTimeoutMs = 2_000

export function toInbound(
  workspaceId: string,
  channel: ChannelName,
  { from, ...written }: MessageReport,
  details: Partial<PersonRef> = {},
): InboundMessage {
  const sender = { workspace_id: workspaceId, channel, ...from, ...details }
  return { workspaceId, channel, id: newId(), from: sender, written }
}

/** The messages of one callback, in the order of their reports. */
export async function readInbound(
  adapter: Channel,
  connection: CallbackConnection,
  reports: readonly MessageReport[],
  findThread: (who: PersonRef) => Promise<FoundThread | undefined>,
): Promise<InboundMessage[]> {
  const { workspace_id: workspaceId, channel } = connection
  const words = toKeys(connection.opt_out_words)
  const messages = reports.map((report) => ({
    ...toInbound(workspaceId, channel, report),
    wish: wishOf(channel, report, words),
  }))
  if (adapter.fetchProfile && messages.length > 0) await addProfiles(adapter, connection, messages, findThread)
  return messages
}

/** A text or a tapped button on the primary channel can opt out or in. */
function wishOf(channel: ChannelName, { content_type, content_text }: WrittenMessage, words: ReadonlySet<string>) {
  const isWord = content_type === 'text' || content_type === 'button' || content_type === 'interactive'
  return channel === 'msgapp' && isWord && content_text ? readOptOutRequest(content_text, words) : undefined
}

/** Adds names that the callback does not carry, for senders whose username we do not know. One request per sender. */
async function addProfiles(
  adapter: Channel,
  connection: CallbackConnection,
  messages: readonly InboundMessage[],
  findThread: (who: PersonRef) => Promise<FoundThread | undefined>,
): Promise<void> {
  const threads = await Promise.all(messages.map(({ from }) => findThread(from)))
  const unknown = messages.filter(({ from }, i) => from.user_id && !threads[i]?.social_username)
  const byUser = Map.groupBy(unknown, ({ from }) => from.user_id ?? '')
  const addProfile = async ([userId, written]: [string, InboundMessage[]]) => {
    const profile = await within(profileTimeoutMs, Promise.resolve(adapter.fetchProfile?.(connection, userId)))
    if (!profile) return
    for (const { from } of written) Object.assign(from, { ...profile, name: from.name ?? profile.name })
  }
  await Promise.all([...byUser].map(addProfile))
}
