/**
 * The service worker: starts the dashboard without a connection, and shows desktop notifications.
 *
 * - Pages come from the network. Only when that fails, the page of this build comes from the cache; it shows that it is offline.
 * - Files of this build come from the cache. They are named by their content.
 * - Nothing else is handled, so answers of the API are never cached.
 *
 * A deploy installs a new worker with a cache of its own. It takes over when no page of the old version is open, so that an open
 * page can still load the scripts of its version.
 */

// `vite.config.ts` replaces this: a hash of the build, and the paths of its files.
const { version, files } = BUILD

const cachePrefix = 'parley-'
const cacheName = `${cachePrefix}${version}`
/** Paths that have pages of other programs, or none. */
const otherPaths = /^\/(?:docs|simulator|widget|web-chat|media|channels|v1|app)(?:[/.]|$)/

addEventListener('install', (event) => event.waitUntil(caches.open(cacheName).then((cache) => cache.addAll(files))))

addEventListener('activate', (event) => event.waitUntil(deleteOldCaches()))

async function deleteOldCaches() {
  const names = await caches.keys()
  const old = names.filter((name) => name.startsWith(cachePrefix) && name !== cacheName)
  await Promise.all(old.map((name) => caches.delete(name)))
}

addEventListener('fetch', (event) => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (request.method !== 'GET' || origin !== location.origin) return
  if (request.mode === 'navigate' && !otherPaths.test(pathname)) {
    event.respondWith(fetch(request).catch(() => readCached('/')))
  } else if (files.includes(pathname) && pathname !== '/') {
    event.respondWith(readCached(pathname).then((cached) => cached ?? fetch(request)))
  }
})

// The header `vary` names the encoding, which is not known here.
const readCached = async (path) => (await caches.open(cacheName)).match(path, { ignoreVary: true })

addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(openPage(event.notification.data.path))
})

/** Opens the path in a page that is open, or in a new one. */
async function openPage(path) {
  const pages = await clients.matchAll({ type: 'window', includeUncontrolled: true })
  const page = pages.find(({ url }) => !otherPaths.test(new URL(url).pathname))
  if (!page) return clients.openWindow(path)
  await page.focus()
  page.postMessage({ kind: 'open', path })
}
