import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { createMediaStore } from './store.ts'

test('the settings choose the bucket or the folder', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-store-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    request.resume().on('end', () => response.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const mediaS3 = { endpoint, region: 'us-east-1', bucket: 'files', access_key_id: 'id', secret_access_key: 'key' }
  const put = (settings: Parameters<typeof createMediaStore>[0]) =>
    createMediaStore(settings).put('0123', Readable.from([Buffer.from('x')]), { mime_type: 'image/png', maxBytes: 10 })

  await put({ dataDir, mediaS3 })
  assert.deepEqual([requests, readdirSync(dataDir)], [['PUT /files/0123'], []])
  await put({ dataDir, mediaS3: undefined })
  assert.deepEqual(readdirSync(dataDir), ['media'])
})
