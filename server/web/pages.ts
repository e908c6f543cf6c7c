/**
 * Serves the built dashboard from memory, under a strict Content-Security-Policy.
 *
 * The dashboard is a single-page application: an unknown path also returns the page, with status 404.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type BuiltFile, cacheControlOf, readBuilt } from '../../common/pages.ts'
import type { App } from '../lib/http/server.ts'
import { sendFile } from './send-file.ts'

/** The sections of the dashboard. Their paths and all paths below them return the page. */
const sections = [
  'sign-in',
  'setup',
  'invitations',
  'forgot-password',
  'password-resets',
  'inbox',
  'overview',
  'reports',
  'contacts',
  'segments',
  'broadcasts',
  'automations',
  'templates',
  'developers',
  'webhooks',
  'integrations',
  'settings',
]

const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob: https:; media-src 'self' blob: https:; " +
    "font-src 'self'; manifest-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(self)',
}

export type Pages = { page: BuiltFile; files: Map<string, BuiltFile> }

/** Reads the built dashboard. */
export function readPages(): Pages {
  const { '/index.html': page, ...files } = Object.fromEntries(readBuilt('dashboard'))
  if (!page) throw new Error('the dashboard has no index.html')
  return { page, files: new Map(Object.entries(files)) }
}

/** Sends the page. For an unknown path, the page itself shows that nothing exists there. */
export const sendPage = (request: FastifyRequest, reply: FastifyReply, { page }: Pages): FastifyReply =>
  sendFile(request, reply, page, headersOf('no-cache'))

export const pageRoutes = (pages: Pages) => async (app: App) => {
  for (const [path, file] of pages.files) {
    app.get(path, async (request, reply) => sendFile(request, reply, file, headersOf(cacheControlOf(path))))
  }
  for (const path of ['/', ...sections.flatMap((section) => [`/${section}`, `/${section}/*`])]) {
    app.get(path, async (request, reply) => sendPage(request, reply, pages))
  }
}

const headersOf = (cache: string) => ({ ...pageHeaders, 'cache-control': cache })
