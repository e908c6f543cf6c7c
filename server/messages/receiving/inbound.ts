/** Reads customers' messages from reports: the sender with their profile, the content, and whether it opts out. */
import { type OptOutRequest, readOptOutRequest, toKeys } from '../../accounts/opt-out-words.ts'
import type { Channel, Profile, Report, WrittenMessage } from '../../channels/channel.ts'
import type { CallbackConnection } from '../../channels/connections.ts'
import type { PersonRef } from '../../contacts/people.ts'
import type { ChannelName } from '../../contacts/resource.ts'
import type { FoundThread } from '../../conversations/threads.ts'
import { newId } from '../../lib/id.ts'
import { within } from '../../lib/time.ts'

export type MessageReport = Extract<Report, { kind: 'message' }>

export type InboundMessage = {
  /** Created on arrival, so that ids keep the order of arrival. */
  id: string
  /** The sender, with the workspace and the channel. */
  from: PersonRef
  written: WrittenMessage
  /** The path of a file that is stored already (web). */
  media_url?: string | undefined
  /** Whether the text opts out of broadcasts or in again. */
  wish?: OptOutRequest | undefined
  /** Of its workspace when it arrived (`CallbackConnection`). */
  automationsVersion: string | null
}

/** How long a callback waits for the profiles of new senders. */
const profileTimeoutMs = 2_000

/** `id`: of the connection; absent where it is not known. */
type Source = Pick<CallbackConnection, 'workspace_id' | 'channel' | 'automations_version'> & { id?: string }

export function toInbound(
  { workspace_id, channel, id: connection_id, automations_version }: Source,
  { from, ...written }: MessageReport,
  details: Partial<PersonRef> = {},
): InboundMessage {
  const person = { workspace_id, channel, ...from, connection_id, ...details }
  return { id: newId(), from: person, written, automationsVersion: automations_version }
}

/** The messages of one callback, in the order of their reports. */
export async function readInbound(
  adapter: Channel,
  connection: CallbackConnection,
  reports: readonly MessageReport[],
  findThread: (who: PersonRef) => Promise<FoundThread | undefined>,
): Promise<InboundMessage[]> {
  const { channel, scope } = connection
  const words = toKeys(connection.opt_out_words)
  const messages = reports.map((report) => ({
    ...toInbound(connection, report, { scope }),
    wish: wishOf(channel, report, words),
  }))
  if (adapter.fetchProfile) await addProfiles(adapter, connection, messages, findThread)
  return messages
}

/** A text or a tapped button on the primary channel can opt out or in. */
export function wishOf(
  channel: ChannelName,
  { content_type, content_text }: Pick<WrittenMessage, 'content_type' | 'content_text'>,
  words: ReadonlySet<string>,
) {
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
  const profiles = new Map<string, Promise<Profile | undefined>>()
  const addProfile = async ({ from }: InboundMessage) => {
    const { user_id: userId } = from
    if (!userId || (await findThread(from))?.social_username) return
    const fetched =
      profiles.get(userId) ?? within(profileTimeoutMs, Promise.resolve(adapter.fetchProfile?.(connection, userId)))
    profiles.set(userId, fetched)
    const profile = await fetched
    if (profile) Object.assign(from, { ...profile, name: from.name ?? profile.name })
  }
  await Promise.all(messages.map(addProfile))
}
