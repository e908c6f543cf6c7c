/** The tab of the browser: the page's title with the number of unread conversations, and the icon with a badge. */
import { useEffect } from 'react'

let title = 'Parley'
let unread = 0

/** Sets the title of the page. */
export function useTitle(page: string): void {
  useEffect(() => {
    title = `${page} · Parley`
    showTitle()
  }, [page])
}

/** Shows the number of unread conversations in the title, on the icon of the tab, and on the icon of the installed app. */
export function useUnreadBadge(count: number): void {
  useEffect(() => {
    showUnread(count)
    return () => showUnread(0)
  }, [count])
}

function showUnread(count: number): void {
  if (count === unread) return
  unread = count
  showTitle()
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]')
  if (icon) icon.href = count > 0 ? drawBadge(count > 9 ? '9+' : String(count)) : '/icon.svg'
  // Not all browsers have it, and it fails where the app is not installed.
  navigator.setAppBadge?.(count).catch(() => {})
}

function showTitle(): void {
  document.title = unread > 0 ? `(${unread > 99 ? '99+' : unread}) ${title}` : title
}

/** `icon.svg` with a badge, as a data URL. */
function drawBadge(text: string): string {
  const drawing = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="9" fill="#5442dc"/>
    <path d="M9 11.5A3.5 3.5 0 0 1 12.5 8h7A3.5 3.5 0 0 1 23 11.5v4a3.5 3.5 0 0 1-3.5 3.5H16l-4.5 4v-4.2A3.5 3.5 0 0 1 9 15.5Z" fill="#fff"/>
    <circle cx="21" cy="21" r="11" fill="#d3202f"/>
    <text x="21" y="26" font-family="sans-serif" font-size="${text.length > 1 ? 12 : 15}" font-weight="700" text-anchor="middle" fill="#fff">${text}</text></svg>`
  return `data:image/svg+xml,${encodeURIComponent(drawing)}`
}
