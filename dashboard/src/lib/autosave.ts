/** What pages share that save while a member writes: when a save starts, when it is repeated, and what is saved when the page closes. */
import { useEffect } from 'react'

/** After the last change. */
export const saveDelayMs = 600
const retryMs = 5_000

/** Browsers allow 64 KiB for all requests of a page that ends; a character has up to three bytes. */
const maxKeptLength = 20_000

/** Whether a request with this body may survive the end of the page. */
export const mayOutlivePage = (body: unknown): boolean => JSON.stringify(body).length < maxKeptLength

/** Repeats a save that the connection lost, by time and when the browser is online again. */
export function useRetry(isRetrying: boolean, flush: () => Promise<unknown>): void {
  useEffect(() => {
    if (!isRetrying) return
    const retry = () => void flush()
    const timer = setInterval(retry, retryMs)
    window.addEventListener('online', retry)
    return () => {
      clearInterval(timer)
      window.removeEventListener('online', retry)
    }
  }, [isRetrying, flush])
}

/** Saves what is not saved when another page of the dashboard opens, or the tab closes. */
export function useFlushOnLeave(flush: () => Promise<unknown>): void {
  useEffect(() => {
    const leave = () => void flush()
    window.addEventListener('pagehide', leave)
    return () => {
      window.removeEventListener('pagehide', leave)
      leave()
    }
  }, [flush])
}
