/**
 * Serves the phone page. The service builds it at its start; a simulator that runs alone builds it for the first request.
 *
 * Scripts and styles come from this origin only. Browsers keep the files that
 * are named by their content, and revalidate the page itself.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { type BuiltFile, buildStale, builtDir, listFiles, readBuiltFile } from '../common/build.ts'
import { sendNotFound } from './wire/http.ts'

const source = {
  folder: 'simulator/phone',
  files: ['simulator/phone/src/**/*.*', 'simulator/phone/*.{ts,html,json}', 'simulator/wire/bubble.ts', 'ui/*.*'],
}

const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob: https: http:; media-src 'self' blob:; " +
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  vary: 'accept-encoding',
}

export const buildPhonePage = (): Promise<boolean> => buildStale(source)

let files: Promise<Map<string, BuiltFile>> | undefined

async function loadFiles(): Promise<Map<string, BuiltFile>> {
  await buildPhonePage()
  const dir = builtDir(source)
  return new Map(listFiles(dir).map((name) => [name, readBuiltFile(join(dir, name))]))
}

/** Sends the file of the page with this name, such as `index.html`. */
export async function sendPage(name: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  files ??= loadFiles()
  const loaded = await files.catch((error) => {
    files = undefined
    throw error
  })
  const file = loaded.get(name)
  if (!file) return sendNotFound(response)
  const isGzipped = file.isCompressible && /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
  const body = file.bodies[isGzipped ? 'gzip' : 'identity']
  response.writeHead(200, {
    ...headers,
    'content-type': file.type,
    'content-length': body.length,
    'cache-control': name.startsWith('assets/') ? 'private, max-age=31536000, immutable' : 'no-cache',
    ...(isGzipped ? { 'content-encoding': 'gzip' } : {}),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}
