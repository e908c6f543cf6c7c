/**
 * Deliveries as they go on. No news tells of them, so they are asked for
 * again: every second while one is under way, every few seconds otherwise.
 */
import { useEffect, useRef, useState } from 'react'
import type { Tone } from '../../../ui/badge.tsx'
import { type DataOf, type ItemOf, useCall, usePages } from '../lib/api.ts'
import { formatSpan } from '../lib/time.ts'
import { words } from '../words/words.ts'

const { log } = words.webhooks

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

const soonMs = 1_000
const laterMs = 3_000
/** Whoever has gone so far back looks for something old. */
const maxRefreshedPages = 3

/** The log of an endpoint, newest first, kept fresh. */
export function useLog(endpointId: string, status: DeliveryStatus | undefined) {
  const query = status ? { status } : {}
  const pages = usePages(
    'GET /webhooks/{id}/deliveries',
    { params: { id: endpointId }, query },
    { live: true, keepPrevious: true },
  )
  const { refetch, items } = pages
  const isUnderWay = items.some((delivery) => delivery.status === 'pending')
  const isDeep = (pages.data?.pages.length ?? 0) > maxRefreshedPages
  useEvery(isDeep ? null : isUnderWay ? soonMs : laterMs, () => void refetch())
  return pages
}

/** One delivery with what was sent; followed until it is over. */
export function useDelivery(id: string) {
  const [isOver, setOver] = useState(false)
  const delivery = useCall('GET /deliveries/{id}', { params: { id } }, { pollMs: isOver ? false : soonMs })
  const status = delivery.data?.status
  const isGone = delivery.error !== null
  useEffect(() => setOver(isGone || (status !== undefined && status !== 'pending')), [status, isGone])
  return delivery
}

/** Again and again while the page is looked at; null: not at all. */
function useEvery(pollMs: number | null, act: () => void): void {
  const latest = useRef(act)
  latest.current = act
  useEffect(() => {
    if (pollMs === null) return
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') latest.current()
    }, pollMs)
    return () => clearInterval(timer)
  }, [pollMs])
}

export const lastAttempt = ({ attempts }: Pick<Delivery, 'attempts'>) => attempts.at(-1)

/** What a waiting delivery waits for. */
export function waitOf({ status, next_attempt_at, attempt_count }: Delivery): string {
  if (status !== 'pending') return ''
  if (next_attempt_at === null) return log.sendingNow
  if (attempt_count === 0) return ''
  const ms = new Date(next_attempt_at).getTime() - Date.now()
  return ms > 0 ? log.retrying(words.time.in(formatSpan(ms))) : log.sendingNow
}
