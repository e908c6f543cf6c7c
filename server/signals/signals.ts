/**
 * Signals: hints from the code that writes rows to the code that waits for them. A signal carries no data but ids; its receiver
 * reads the rows. A lost signal costs only time, because every receiver also polls.
 *
 * `deliveriesQueued`, `changesQueued`, `mediaPending`, `broadcastReady`, `importReady`, `scheduledReady`, `ratingsReady` and `assignmentReady` wake the engines of all
 * processes (`signals/live.ts`), those of this process at once. `inboxChanged` also wakes the engine of assignment. The others reach the open streams of all processes.
 */
import type { Live } from './live.ts'

export type Signals = {
  /** Webhook deliveries may have been queued. */
  deliveriesQueued(): void
  /** A change that may start an automation waits for its decision, or a run was started by hand. */
  changesQueued(): void
  /** Media of a message waits to be fetched. */
  mediaPending(): void
  /** A broadcast was accepted, resumed or canceled. */
  broadcastReady(): void
  /** A file is to be checked or imported, or an import undone. */
  importReady(): void
  /** A message is scheduled or may be due now. */
  scheduledReady(): void
  /** The queue of a team or the capacity of a member may have changed. */
  assignmentReady(): void
  /** A customer has given a rating. */
  ratingsReady(): void
  /** Something of the workspace changed: the pages of its members load it again. */
  changed(workspaceId: string): void
  /** These conversations changed, or their messages or timeline: the pages of the workspace show it. Without ids: any of them. */
  inboxChanged(workspaceId: string, conversationIds?: readonly string[]): void
  /** Members may see more or fewer conversations than before: their streams end and begin again. */
  accessChanged(workspaceId: string): void
  /** Something that only this member sees changed: the pages of the member load it again. */
  memberChanged(memberId: string): void
  /** A member opened or left a conversation, or started or stopped to write in it. */
  presenceChanged(workspaceId: string): void
  /** A visitor of the web chat is on another page: the pages that show this contact load the visit again. */
  visited(workspaceId: string, contactId: string): void
  /** A conversation of the web chat changed: the visitor's stream reads it. */
  conversationChanged(conversationId: string): void
  /** A member has read a conversation of the web chat: the visitor's stream reports it. */
  conversationRead(conversationId: string): void
  /** The settings of the web chat changed, or its identity secret: the visitors' streams read them again. */
  siteChanged(workspaceId: string): void
  /** Calls `wake` for each signal of this kind. Returns a function that ends it. */
  on(signal: EngineSignal, wake: () => void): () => void
}

type EngineSignal =
  | 'deliveriesQueued'
  | 'changesQueued'
  | 'mediaPending'
  | 'broadcastReady'
  | 'importReady'
  | 'scheduledReady'
  | 'assignmentReady'
  | 'ratingsReady'

export const workspaceTopic = (workspaceId: string): string => `workspace:${workspaceId}`
export const inboxTopic = (workspaceId: string): string => `inbox:${workspaceId}`
export const accessTopic = (workspaceId: string): string => `access:${workspaceId}`
export const memberTopic = (memberId: string): string => `member:${memberId}`
export const presenceTopic = (workspaceId: string): string => `presence:${workspaceId}`
export const visitTopic = (workspaceId: string): string => `visits:${workspaceId}`
export const readTopic = (conversationId: string): string => `read:${conversationId}`
export const siteTopic = (workspaceId: string): string => `site:${workspaceId}`
export const conversationTopic = (conversationId: string): string => `conversation:${conversationId}`

const topics: Record<EngineSignal, string> = {
  deliveriesQueued: 'deliveries',
  changesQueued: 'changes',
  mediaPending: 'media',
  broadcastReady: 'broadcasts',
  importReady: 'imports',
  scheduledReady: 'scheduled',
  assignmentReady: 'assignment',
  ratingsReady: 'ratings',
}

export function createSignals(live: Live): Signals {
  const listeners: Record<EngineSignal, Set<() => void>> = {
    deliveriesQueued: new Set(),
    changesQueued: new Set(),
    mediaPending: new Set(),
    broadcastReady: new Set(),
    importReady: new Set(),
    scheduledReady: new Set(),
    assignmentReady: new Set(),
    ratingsReady: new Set(),
  }
  const send = (signal: EngineSignal) => () => {
    for (const wake of listeners[signal]) wake()
    live.announce(topics[signal])
  }
  const assignmentReady = send('assignmentReady')
  return {
    deliveriesQueued: send('deliveriesQueued'),
    changesQueued: send('changesQueued'),
    mediaPending: send('mediaPending'),
    broadcastReady: send('broadcastReady'),
    importReady: send('importReady'),
    scheduledReady: send('scheduledReady'),
    assignmentReady,
    ratingsReady: send('ratingsReady'),
    changed: (workspaceId) => live.announce(workspaceTopic(workspaceId)),
    accessChanged: (workspaceId) => live.announce(accessTopic(workspaceId)),
    inboxChanged(workspaceId, conversationIds) {
      live.announce(inboxTopic(workspaceId), conversationIds)
      // Shares the notification of the other topic.
      assignmentReady()
    },
    memberChanged: (memberId) => live.announce(memberTopic(memberId)),
    presenceChanged: (workspaceId) => live.announce(presenceTopic(workspaceId)),
    visited: (workspaceId, contactId) => live.announce(visitTopic(workspaceId), [contactId]),
    conversationChanged: (conversationId) => live.announce(conversationTopic(conversationId)),
    conversationRead: (conversationId) => live.announce(readTopic(conversationId)),
    siteChanged: (workspaceId) => live.announce(siteTopic(workspaceId)),
    on(signal, wake) {
      const stopListening = live.listen(topics[signal], wake)
      listeners[signal].add(wake)
      return () => {
        listeners[signal].delete(wake)
        stopListening()
      }
    },
  }
}
