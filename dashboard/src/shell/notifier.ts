/**
 * Notifies the member of customers' messages, ended snoozes and mentions, with a sound and a desktop notification.
 *
 * One tab of the browser does it, after each change of the workspace: it asks the service what is new since its cursor. Cursor and
 * seen ids are in `localStorage`, so that the next tab continues and nothing is notified twice.
 */
import { call, type DataOf } from '../lib/api.ts'
import { onChangeInLeadingTab } from '../lib/live.tsx'
import { nameOf } from '../lib/people.ts'
import { words } from '../words/words.ts'
import { showNotification } from './desktop-notification.ts'
import { playSound } from './sound.ts'

type Answer = DataOf<'GET /notifications'>
type Item = Answer['items'][number]
type Seen = { cursor?: string; ids: readonly string[] }

/** Returns the function that stops it. */
export function startNotifying(memberId: string): () => void {
  const storageKey = `parley-notified:${memberId}`
  let isRunning = false
  let isPending = false

  async function notifyNew(): Promise<void> {
    const { cursor: after, ids } = readSeen(storageKey)
    const { data } = await call('GET /notifications', { query: after ? { after } : {} })
    const { items, cursor, sound, quiet_hours } = data
    localStorage.setItem(storageKey, JSON.stringify({ cursor, ids: items.map(({ id }) => id) }))
    const news = items.filter(({ id, conversation_id }) => !ids.includes(id) && !isShown(conversation_id))
    if (news.length === 0 || (quiet_hours && isBetween(new Date(), quiet_hours))) return
    if (sound) playSound()
    for (const item of news) await showNotification({ ...describe(item), conversationId: item.conversation_id })
  }
  // No timer: browsers delay the timers of hidden tabs by up to a minute.
  async function run(): Promise<void> {
    isPending = isRunning
    if (isRunning) return
    isRunning = true
    // Without a connection there is no change to notify of; the next one asks again, with the same cursor.
    await notifyNew().catch(() => {})
    isRunning = false
    if (isPending) await run()
  }
  return onChangeInLeadingTab(() => void run())
}

function readSeen(storageKey: string): Seen {
  const stored = localStorage.getItem(storageKey)
  return stored ? JSON.parse(stored) : { ids: [] }
}

/** The service knows what visible pages show, but learns it a moment later than this tab. */
const isShown = (conversationId: string): boolean =>
  document.visibilityState === 'visible' && location.pathname === `/inbox/${conversationId}`

/** Whether the time of day is between the two. A range may include midnight. */
function isBetween(now: Date, { from, to }: { from: string; to: string }): boolean {
  const time = `${String(now.getHours()).padStart(2, '0')}:${String(now.getMinutes()).padStart(2, '0')}`
  return from <= to ? from <= time && time < to : from <= time || time < to
}

function describe({ kind, contact, author, content_type, text }: Item): { title: string; body: string } {
  const name = nameOf(contact)
  const { mention, snooze } = words.shell.notification
  if (kind === 'snooze') return { title: snooze(name), body: text ?? '' }
  return {
    title: kind === 'mention' ? mention(author ?? '', name) : name,
    body: text || words.inbox.message.kinds[content_type],
  }
}
