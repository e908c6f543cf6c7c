/** `/docs`: the API reference, the webhook receivers that it shows, the schemas of automations, and the packages of the SDKs. */
import { createReadStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { builtDir, cacheControlOf, readBuilt } from '../../common/pages.ts'
import { publishedSchemas } from '../automation/file-schema.ts'
import type { App } from '../lib/http/server.ts'
import { sendFile } from './send-file.ts'

const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
}

/** The page shows these files unchanged, so readers copy code that is tested. */
const receiversDir = join(import.meta.dirname, '../../receivers')
const receivers = ['verify.ts', 'verify.py', 'verify.php', 'verify.go']

/** npm and pip install these files from their URLs. */
const packages = ['parley-sdk.tgz', 'parley_sdk.tar.gz']

/** Serves the built reference from memory, and the packages from the disk: few clients load them. */
export async function referenceRoutes(app: App): Promise<void> {
  for (const [path, file] of readBuilt('reference')) {
    const fileHeaders = { ...headers, 'cache-control': cacheControlOf(path) }
    const url = path === '/index.html' ? '/docs' : `/docs${path}`
    app.get(url, async (request, reply) => sendFile(request, reply, file, fileHeaders))
  }
  for (const name of receivers) {
    const text = readFileSync(join(receiversDir, name))
    app.get(`/docs/receivers/${name}`, async (_request, reply) =>
      reply
        .headers({ ...headers, 'cache-control': 'no-cache' })
        .type('text/plain; charset=utf-8')
        .send(text),
    )
  }
  for (const { name, text } of publishedSchemas()) {
    app.get(`/docs/${name}`, async (_request, reply) =>
      reply
        .headers({ ...headers, 'cache-control': 'no-cache' })
        .type('application/schema+json')
        .send(text),
    )
  }
  for (const name of packages) {
    app.get(`/docs/sdk/${name}`, async (_request, reply) =>
      reply
        .headers({ ...headers, 'cache-control': 'no-cache' })
        .type('application/gzip')
        .send(createReadStream(join(builtDir('sdk'), name))),
    )
  }
}
