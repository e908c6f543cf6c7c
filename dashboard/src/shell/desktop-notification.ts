/**
 * Desktop notifications. The service worker shows them and handles the click; a page without one does it itself. A conversation has
 * at most one: the next replaces it.
 */
import { useEffect } from 'react'
import { navigateTo } from '../lib/leave-guard.ts'

type DesktopNotification = { title: string; body: string; conversationId: string }

/** `unavailable`: the browser has no notifications, or the page is not served over HTTPS. */
export type NotificationPermissionState = NotificationPermission | 'unavailable'

export const getPermission = (): NotificationPermissionState =>
  'Notification' in window && window.isSecureContext ? Notification.permission : 'unavailable'

export async function showNotification({ title, body, conversationId }: DesktopNotification): Promise<void> {
  if (getPermission() !== 'granted') return
  const path = `/inbox/${conversationId}`
  // The sound is ours: the member can turn it off.
  const options = { body, tag: conversationId, icon: '/icon-192.png', silent: true, data: { path } }
  const worker = await navigator.serviceWorker?.getRegistration()
  if (worker?.active) return worker.showNotification(title, options)
  const notification = new Notification(title, options)
  notification.onclick = () => {
    window.focus()
    navigateTo(path)
    notification.close()
  }
}

/** Closes the notification of the conversation that the page shows, and opens those that the member clicks. */
export function useNotificationClicks(path: string): void {
  useEffect(() => {
    const tag = /^\/inbox\/([\w-]+)$/.exec(path)?.[1]
    if (tag) void closeNotification(tag)
  }, [path])
  useEffect(() => {
    const open = ({ data }: MessageEvent) => {
      if (data?.kind === 'open' && typeof data.path === 'string') navigateTo(data.path)
    }
    navigator.serviceWorker?.addEventListener('message', open)
    return () => navigator.serviceWorker?.removeEventListener('message', open)
  }, [])
}

async function closeNotification(tag: string): Promise<void> {
  const worker = await navigator.serviceWorker?.getRegistration()
  for (const notification of (await worker?.getNotifications({ tag })) ?? []) notification.close()
}
