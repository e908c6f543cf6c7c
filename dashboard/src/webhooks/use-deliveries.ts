/** Webhook deliveries. They trigger no live updates, so pages poll: every second while one is pending, else every 3 seconds. */
import { useEffect, useRef, useState } from 'react'
import type { Tone } from '../../../ui/display.tsx'
import { type DataOf, type ItemOf, useCall, usePages } from '../lib/api.ts'
import { formatSpan } from '../lib/time.ts'
import { webhookWords } from '../words/webhooks.ts'
import { words } from '../words/words.ts'

const { log } = webhookWords

export type Delivery = ItemOf<'GET /webhooks/{id}/deliveries'>
export type DeliveryStatus = Delivery['status']
export type Attempt = DataOf<'GET /deliveries/{id}'>['attempts'][number]

export const statuses = ['pending', 'delivered', 'failed', 'canceled'] as const satisfies readonly DeliveryStatus[]

export const statusTones: Record<DeliveryStatus, Tone | undefined> = {
  pending: 'blue',
  delivered: 'green',
  failed: 'red',
  canceled: undefined,
}

const activePollMs = 1_000
const idlePollMs = 3_000
/** Beyond this number of loaded pages the member is looking at old deliveries, and polling stops. */
const maxPolledPages = 3

/** The delivery log of an endpoint, newest first, polled. */
export function useDeliveryLog(endpointId: string, status: DeliveryStatus | undefined) {
  const query = status ? { status } : {}
  const pages = usePages(
    'GET /webhooks/{id}/deliveries',
    { params: { id: endpointId }, query },
    { live: true, keepPrevious: true },
  )
  const { refetch, items } = pages
  const hasPending = items.some((delivery) => delivery.status === 'pending')
  const isBeyondLimit = (pages.data?.pages.length ?? 0) > maxPolledPages
  useInterval(isBeyondLimit ? null : hasPending ? activePollMs : idlePollMs, () => void refetch())
  return pages
}

/** One delivery with its request, polled until it is settled. */
export function useDelivery(id: string) {
  const [isSettled, setSettled] = useState(false)
  const delivery = useCall('GET /deliveries/{id}', { params: { id } }, { pollMs: isSettled ? false : activePollMs })
  const status = delivery.data?.status
  const hasFailed = delivery.error !== null
  useEffect(() => setSettled(hasFailed || (status !== undefined && status !== 'pending')), [status, hasFailed])
  return delivery
}

/** Runs `callback` at an interval while the page is visible. Null: never. */
function useInterval(pollMs: number | null, callback: () => void): void {
  const latest = useRef(callback)
  latest.current = callback
  useEffect(() => {
    if (pollMs === null) return
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') latest.current()
    }, pollMs)
    return () => clearInterval(timer)
  }, [pollMs])
}

export const lastAttempt = ({ attempts }: Pick<Delivery, 'attempts'>) => attempts.at(-1)

/** When the next attempt of a pending delivery takes place. */
export function nextAttemptText({ status, next_attempt_at, attempt_count }: Delivery): string {
  if (status !== 'pending') return ''
  if (next_attempt_at === null) return log.sendingNow
  if (attempt_count === 0) return ''
  const ms = new Date(next_attempt_at).getTime() - Date.now()
  return ms > 0 ? log.retrying(words.time.in(formatSpan(ms))) : log.sendingNow
}
