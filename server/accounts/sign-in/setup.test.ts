import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import { isFromHere } from './setup.ts'

const words = (text: string) => text.split(/\s+/)

test('a request is local only if its address, host, headers and public URL are all local', () => {
  const publicUrl = 'http://127.0.0.1:4000'
  const here = { ip: '127.0.0.1', httpVersion: '1.1', headers: { host: '127.0.0.1:4000' }, publicUrl }
  const from = (change: { ip?: string; httpVersion?: string; publicUrl?: string; headers?: IncomingHttpHeaders }) =>
    isFromHere({ ...here, ...change })
  for (const ip of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) assert.ok(from({ ip }), ip)
  for (const ip of ['10.0.0.1', '::ffff:10.0.0.1', '127.0.0.1.evil', '', '1127.0.0.1']) assert.ok(!from({ ip }), ip)
  for (const host of ['localhost', 'LOCALHOST:1', '[::1]:4000', '[::1]']) assert.ok(from({ headers: { host } }), host)
  for (const host of ['', 'parley.test', 'localhost.evil.test', '127.0.0.1.nip.io', '0.0.0.0:4000', '127.0.0.1@evil']) {
    assert.ok(!from({ headers: { host } }), host)
  }
  assert.ok(!from({ headers: {} }))
  assert.ok(!from({ httpVersion: '1.0' }))
  for (const name of words(`x-forwarded-for x-forwarded-host forwarded via x-real-ip cf-connecting-ip cf-ray client-ip
    x-client-ip x-cluster-client-ip true-client-ip x-original-host x-envoy-external-address x-scheme cdn-loop`)) {
    assert.ok(!from({ headers: { ...here.headers, [name]: '' } }), name)
  }
  for (const name of words('accept cookie origin referer sec-fetch-site user-agent x-request-id content-type')) {
    assert.ok(from({ headers: { ...here.headers, [name]: '' } }), name)
  }
  for (const publicUrl of ['http://localhost:1', 'http://[::1]:4000']) assert.ok(from({ publicUrl }), publicUrl)
  for (const publicUrl of ['https://chat.acme.test', 'http://0.0.0.0:4000', 'http://192.168.1.2:4000']) {
    assert.ok(!from({ publicUrl }), publicUrl)
  }
})
