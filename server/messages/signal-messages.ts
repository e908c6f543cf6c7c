/** Signals after messages of a conversation were written or changed status. */
import type { ChannelName } from '../contacts/resource.ts'
import type { Signals } from '../signals/signals.ts'

/** Events may be queued, members see the change, and so does the visitor if the conversation is one of the web chat. */
export function signalMessages(
  signals: Signals,
  workspaceId: string,
  channel: ChannelName,
  conversationId: string,
): void {
  signals.deliveriesQueued()
  signals.inboxChanged(workspaceId, [conversationId])
  if (channel === 'web') signals.conversationChanged(conversationId)
}
