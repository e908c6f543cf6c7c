/**
 * What the member did and the service has not confirmed: changes of conversations, messages and notes, by key. The query cache has
 * only what the service returned; the pages show these on top of it. The key of a message or note is the `Idempotency-Key` of its
 * request. The service returns it in the thread, so the page knows which entry is confirmed.
 *
 * The messages are also in `localStorage`, one entry each, so that two tabs never overwrite each other's. The tab that sends a
 * message owns its entry. A tab that closes marks its messages as `lost`, since it does not know the outcome. The messages of a tab
 * that crashed become `lost` after `sendTimeoutMs`.
 */
import type { InputOf } from '../../lib/api.ts'
import { followUnsent, listUnsent, removeUnsent, storeUnsent } from '../../lib/drafts.ts'
import { createStore } from '../../lib/store.ts'
import { words } from '../../words/words.ts'
import type { Conversation, Entry, Message } from './data.ts'

export type Patch = (row: Conversation) => Partial<Conversation>
export type Body = InputOf<'POST /conversations/{id}/messages'>['body']

type Change = {
  kind: 'change'
  key: string
  /** The conversations as the member saw them, by id: a list that the service returned since may lack them. */
  rows: ReadonlyMap<string, Conversation>
  patch: Patch
}

export type Sending = {
  kind: 'message'
  key: string
  /** The conversation in the path of the request. After a merge the message shows in another one. */
  conversationId: string
  /** The message as the thread shows it. */
  message: Message
  body: Body
  /** `lost`: the connection or the service failed, so the outcome is unknown. If it was sent, the stored message appears. */
  state: 'sending' | 'refused' | 'lost'
  /** When the last attempt started, in milliseconds. */
  startedAt: number
}

type PendingNote = { kind: 'note'; key: string; conversationId: string; entry: Entry }

export type Unconfirmed = Change | Sending | PendingNote

const prefix = 'sending-'
/** Longer than a send with all its retries may take. */
const sendTimeoutMs = 90_000

/** Read when the inbox opens. By then `setDraftOwner` has removed another member's messages. */
const store = createStore<readonly Unconfirmed[]>(() =>
  listUnsent(prefix)
    .map(([, value]) => readSending(value))
    .sort((one, other) => one.message.created_at.localeCompare(other.message.created_at)),
)
const none: readonly Unconfirmed[] = []
const own = new Set<string>()

const show = (entry: Unconfirmed): void => store.set([...store.get().filter(({ key }) => key !== entry.key), entry])
const hide = (hidden: string): void => store.set(store.get().filter(({ key }) => key !== hidden))

/** Oldest first. */
export const listUnconfirmed = store.get
/** Empty while there is none of this kind, so that a message does not render the lists. */
export const useUnconfirmed = (kind: Unconfirmed['kind']): readonly Unconfirmed[] =>
  store.useValue((all) => (all.some((one) => one.kind === kind) ? all : none))

/** Adds or replaces an entry of this tab. */
export function putUnconfirmed(entry: Unconfirmed): void {
  own.add(entry.key)
  keep(entry)
  show(entry)
}

/** Whether it is a message of this tab that lost its connection. */
export const isLost = (one: Unconfirmed): one is Sending =>
  one.kind === 'message' && one.state === 'lost' && own.has(one.key)

/** Whether there is one. */
export const useHasLost = (): boolean => store.useValue((all) => all.some(isLost))

/** Removes an entry: the service has confirmed or refused it, or the member discards it. */
export function dropUnconfirmed(key: string): void {
  removeUnsent(prefix + key)
  hide(key)
}

/** The first message of a conversation that was not sent, for its row in the list. */
export const useUnsent = (conversationId: string): Message | undefined =>
  store.useValue(
    (all) =>
      all.flatMap((one) =>
        one.kind === 'message' && one.state !== 'sending' && one.message.conversation_id === conversationId
          ? one.message
          : [],
      )[0],
  )

function keep(entry: Unconfirmed): void {
  // A reaction does not show in the thread, so it cannot wait there for a retry.
  if (entry.kind === 'message' && entry.body.type !== 'reaction') storeUnsent(prefix + entry.key, JSON.stringify(entry))
}

/** A stored message of another tab. */
function readSending(value: string): Sending {
  const sending = JSON.parse(value) as Sending
  const leftMs = sending.startedAt + sendTimeoutMs - Date.now()
  if (sending.state === 'sending' && leftMs > 0)
    setTimeout(() => store.get().includes(sending) && show(toLost(sending)), leftMs)
  return leftMs > 0 ? sending : toLost(sending)
}

function toLost(sending: Sending): Sending {
  if (sending.state !== 'sending') return sending
  const failed = { status: 'failed', error_reason: words.inbox.thread.notSent } as const
  return { ...sending, state: 'lost', message: { ...sending.message, ...failed } }
}

followUnsent(prefix, (key, value) => (value === null ? hide(key) : show(readSending(value))))

addEventListener('pagehide', () => {
  for (const entry of store.get()) if (entry.kind === 'message' && own.has(entry.key)) keep(toLost(entry))
})
