/**
 * The dashboard's pages: built when they are stale, served from memory.
 *
 * Files named by their content are kept by browsers for ever; the page itself
 * is asked for each time. Scripts and styles come only from us. Whoever opens
 * an address of nothing gets the page as well, with a 404.
 */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type BuiltFile, buildStale, builtDir, readBuiltFile } from '../../common/build.ts'
import type { App } from '../lib/server.ts'
import { sendFile } from './send-file.ts'
import { widget } from './widget.ts'

const dashboard = {
  folder: 'dashboard',
  files: ['dashboard/{src,public}/**/*.*', 'dashboard/*.{ts,html,json}', 'ui/*.*', 'widget/src/color.ts'],
}

/** Rooms of the dashboard: their paths, and whatever is under them, are answered with the one page. */
const rooms = [
  'sign-in',
  'setup',
  'invitations',
  'inbox',
  'overview',
  'contacts',
  'segments',
  'broadcasts',
  'templates',
  'webhooks',
  'integrations',
  'settings',
]

const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob: https:; media-src 'self' blob: https:; " +
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
}

/** Build the pages, and the widget with them, unless they are what they would be. Answers whether anything was built. */
export async function buildPages(): Promise<boolean> {
  const built = [await buildStale(dashboard), await buildStale(widget)]
  return built.includes(true)
}

export type Pages = { page: BuiltFile; files: Map<string, BuiltFile> }

/** The pages that were built. */
export async function readPages(): Promise<Pages> {
  const files = new Map<string, BuiltFile>()
  const place = builtDir(dashboard)
  for (const name of globSync('**/*.*', { cwd: place })) files.set(`/${name}`, await readBuiltFile(join(place, name)))
  const page = files.get('/index.html')
  if (!page) throw new Error(`the pages are not built: ${place} has no index.html`)
  files.delete('/index.html')
  return { page, files }
}

/** The one page, which says itself that there is nothing at its address. */
export const sendPage = (request: FastifyRequest, reply: FastifyReply, { page }: Pages): FastifyReply =>
  sendFile(request, reply, page, headersOf('no-cache'))

export const pageRoutes = (pages: Pages) => async (app: App) => {
  for (const [path, file] of pages.files) {
    const isNamedByContent = path.startsWith('/assets/')
    const cache = isNamedByContent ? 'public, max-age=31536000, immutable' : 'public, max-age=3600'
    app.get(path, async (request, reply) => sendFile(request, reply, file, headersOf(cache)))
  }
  for (const path of ['/', ...rooms.flatMap((room) => [`/${room}`, `/${room}/*`])]) {
    app.get(path, async (request, reply) => sendPage(request, reply, pages))
  }
}

const headersOf = (cache: string) => ({ ...pageHeaders, 'cache-control': cache })
