/**
 * A workspace's events, followed: one after the other, each once, whatever
 * becomes of the line in between.
 *
 * When the line breaks we come back and say which event we had last. The
 * service sends the seconds before it again, since some of them may have been
 * committed late; what we had is known by its id. Only a first attempt that
 * fails, or a refusal, is the end.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type Api, isPassing } from './api.ts'

export type Event = {
  id: string
  event: string
  occurred_at: string
  account_id: string
  data: Record<string, unknown>
}

export type Following = {
  api: Api
  /** All of them when absent. */
  events?: string | undefined
  signal: AbortSignal
  /** The first time the line is there: what happens from now on comes. */
  onReady?: (listenerId: string) => void
  /** `body` is the event to the byte. The next one comes when this is done. */
  onEvent: (event: Event, body: string) => Promise<void> | void
  onBreak?: (reason: string) => void
  onReturn?: () => void
}

/** The service says that it is there every 15 seconds. */
const silenceMs = 45_000
const firstPauseMs = 250
const longestPauseMs = 10_000
/** More than the service sends again. */
const rememberedIds = 20_000

export async function followEvents(following: Following): Promise<void> {
  const { api, events, signal, onReady, onEvent, onBreak, onReturn } = following
  const path = `/events/stream${events === undefined ? '' : `?events=${encodeURIComponent(events)}`}`
  const seen = new Set<string>()
  let lastId: string | undefined
  let pauseMs = firstPauseMs

  const follow = async () => {
    const silence = new AbortController()
    const headers: Record<string, string> = lastId === undefined ? {} : { 'last-event-id': lastId }
    const body = await api.open(path, headers, AbortSignal.any([signal, silence.signal]))
    const chunks = patiently(body, () => silence.abort(new Error('nothing came for a while')))
    for await (const { name, id, data } of readFrames(chunks)) {
      if (name === 'ready') {
        if (lastId === undefined) onReady?.((JSON.parse(data) as { listener_id: string }).listener_id)
        else onReturn?.()
        pauseMs = firstPauseMs
      } else {
        const event: Event = JSON.parse(data)
        if (!seen.has(event.id)) await onEvent(event, data)
        remember(seen, event.id)
      }
      lastId = id || lastId
    }
    return 'the service ended the line'
  }

  while (!signal.aborted) {
    const reason = await follow().catch((error) => {
      if (signal.aborted) return ''
      const isBreak = lastId !== undefined && (isPassing(error) || !('code' in error))
      if (!isBreak) throw error
      return error.message
    })
    if (signal.aborted) return
    onBreak?.(reason)
    await delay(pauseMs, undefined, { signal }).catch(() => {})
    pauseMs = Math.min(pauseMs * 2, longestPauseMs)
  }
}

function remember(seen: Set<string>, id: string): void {
  seen.add(id)
  const [oldest] = seen
  if (seen.size > rememberedIds && oldest !== undefined) seen.delete(oldest)
}

/** The parts of a body; `onSilence` when none comes. Time spent with a part does not count. */
async function* patiently(body: ReadableStream<Uint8Array>, onSilence: () => void): AsyncGenerator<Uint8Array> {
  const reader = body.getReader()
  for (;;) {
    const timer = setTimeout(onSilence, silenceMs)
    const part = await reader.read().finally(() => clearTimeout(timer))
    if (part.done) return
    yield part.value
  }
}

type Frame = { name: string; id: string; data: string }

/** Server-sent events, as far as the service speaks them: lines of a field and its value, a blank one between events. */
export async function* readFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const field = (name: string) =>
        block
          .split('\n')
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2) ?? ''
      if (field('data')) yield { name: field('event'), id: field('id'), data: field('data') }
    }
  }
}
