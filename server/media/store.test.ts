import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { createFolder } from '../../tests/folder.ts'
import { listen } from '../../tests/listen.ts'
import { createMediaStore } from './store.ts'

test('the settings choose the bucket or the folder', async (t) => {
  const dataDir = createFolder(t)
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    request.resume().on('end', () => response.end())
  })
  const endpoint = await listen(t, server)
  const mediaS3 = { endpoint, region: 'us-east-1', bucket: 'files', access_key_id: 'id', secret_access_key: 'key' }
  const put = (settings: Parameters<typeof createMediaStore>[0]) =>
    createMediaStore(settings).put('0123', Readable.from([Buffer.from('x')]), { mime_type: 'image/png', maxBytes: 10 })

  await put({ dataDir, mediaS3 })
  assert.deepEqual([requests, readdirSync(dataDir)], [['PUT /files/0123'], []])
  await put({ dataDir, mediaS3: undefined })
  assert.deepEqual(readdirSync(dataDir), ['media'])
})
