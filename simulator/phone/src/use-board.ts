/**
 * Connects the board with the simulator.
 *
 * The page opens the stream first and loads the phones whenever the stream
 * opens. Events that arrive before the phones are loaded wait, so no message
 * is missed, neither at the start nor after a lost connection.
 */
import { type Dispatch, useEffect, useReducer, useRef, useState } from 'react'
import { useToast } from '../../../ui/overlays.tsx'
import { type Customer, listPhones, openStream, type StreamEvent } from './api.ts'
import { type Action, type Board, emptyBoard, hasMessage, isEmpty, keyOf, reduce, titleOf } from './board.ts'
import { summaryOf } from './format.tsx'
import { firstCustomer } from './samples.ts'

/** A stream that does not open must not keep the page empty. */
const streamTimeoutMs = 2_500
/** Shorter interruptions are not shown. */
const lostNoticeMs = 900

type Connection = {
  board: Board
  dispatch: Dispatch<Action>
  /** Why the phones could not be loaded. */
  error: string | undefined
  isLost: boolean
  /** What screen readers announce. */
  announcement: string
  retry: () => void
}

export function useBoard(workspaceId: string | undefined): Connection {
  const toast = useToast()
  const [board, dispatch] = useReducer(reduce, emptyBoard)
  const [error, setError] = useState<string>()
  const [isLost, setLost] = useState(false)
  const [announcement, setAnnouncement] = useState('')
  const [attempt, setAttempt] = useState(0)
  const latest = useRef({ board, isLost })
  latest.current = { board, isLost }

  // biome-ignore lint/correctness/useExhaustiveDependencies: `attempt` starts a new connection.
  useEffect(() => {
    let isStopped = false
    let loads = 0
    let isReady = false
    let queue: StreamEvent[] = []
    let frame = 0
    /** Connections of events that the page did not know. A new number is loaded once. */
    const requested = new Set<string>()
    let lostTimer: ReturnType<typeof setTimeout> | undefined

    /** One update per frame, however many events arrive. */
    const flush = () => {
      frame = 0
      if (!isReady || queue.length === 0) return
      const events = queue
      queue = []
      const text = announce(latest.current.board, events)
      if (text) setAnnouncement(text)
      dispatch({ type: 'received', events })
    }
    const load = async () => {
      isReady = false
      const turn = ++loads
      const answer = await listPhones(workspaceId)
      if (isStopped || turn !== loads) return
      if (answer.ok) {
        setError(undefined)
        dispatch({ type: 'loaded', list: answer.data, added: readAdded(answer.data.workspace.workspace_id) })
        if (latest.current.isLost) toast.success('Connection restored')
        setLost(false)
      } else setError(answer.message)
      isReady = true
      flush()
    }
    const timeout = setTimeout(load, streamTimeoutMs)
    const close = openStream(workspaceId, {
      onOpen() {
        clearTimeout(timeout)
        clearTimeout(lostTimer)
        lostTimer = undefined
        void load()
      },
      onLost() {
        isReady = false
        lostTimer ??= setTimeout(() => setLost(true), lostNoticeMs)
      },
      onEvent(event) {
        queue.push(event)
        frame ||= requestAnimationFrame(flush)
        const { connection_id: id } = event
        const { connections } = latest.current.board
        if (!isReady || !id || requested.has(id) || connections.some((each) => each.connection_id === id)) return
        requested.add(id)
        void load()
      },
    })
    return () => {
      isStopped = true
      close()
      clearTimeout(timeout)
      clearTimeout(lostTimer)
      cancelAnimationFrame(frame)
    }
  }, [workspaceId, attempt, toast])

  const { phones, workspace, isLoaded } = board
  useEffect(() => {
    if (!isLoaded) return
    const added = [...phones.values()].filter((phone) => isEmpty(phone) && !isFirstCustomer(phone))
    writeAdded(
      workspace.workspace_id,
      added.map(({ channel, id, name, username }) => ({ channel, id, name, username })),
    )
  }, [phones, workspace, isLoaded])

  return { board, dispatch, error, isLost, announcement, retry: () => setAttempt(attempt + 1) }
}

const maxAnnounced = 3

function announce({ phones, connections }: Board, events: readonly StreamEvent[]): string {
  const lines = events.flatMap((event) => {
    const phone = phones.get(keyOf({ channel: event.channel, id: event.phone }))
    if (event.type === 'status')
      return event.status === 'failed' && phone ? [`A message to ${titleOf(phone)} failed`] : []
    if (event.bubble.from !== 'business' || hasMessage(phone, event.bubble.id)) return []
    const isShown = !phone || phone.connectionId === event.connection_id
    const number = isShown ? undefined : connections.find((each) => each.connection_id === event.connection_id)
    const sender = number ? `, from ${number.name}` : ''
    return [`To ${titleOf({ ...event, id: event.phone })}${sender}: ${summaryOf(event.bubble)}`]
  })
  return lines.length > maxAnnounced ? `${lines.length} new messages. ${lines.at(-1)}` : lines.join('. ')
}

const isFirstCustomer = (customer: Customer) => keyOf(customer) === keyOf(firstCustomer)

const storageKey = (workspaceId: string) => `parley.phones.${workspaceId}`

/** Customers that were added here and have no message yet. A browser may forbid storage; then they are lost on reload. */
function readAdded(workspaceId: string): Customer[] {
  try {
    const added = JSON.parse(localStorage.getItem(storageKey(workspaceId)) ?? '[]')
    return Array.isArray(added) ? added : []
  } catch {
    return []
  }
}

function writeAdded(workspaceId: string, added: readonly Customer[]): void {
  try {
    localStorage.setItem(storageKey(workspaceId), JSON.stringify(added))
  } catch {
    // Without storage the customers are kept until the page is closed.
  }
}
