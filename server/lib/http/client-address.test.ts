import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClientAddress, networkOf, siteOf } from './client-address.ts'

test('without trusted proxies the address is the connection’s own, whatever the header says', () => {
  const addressOf = createClientAddress([])
  for (const header of [undefined, '', '9.9.9.9', '9.9.9.9, 127.0.0.1', 'unknown', 'x'.repeat(9_000)]) {
    assert.equal(addressOf('127.0.0.1', header), '127.0.0.1')
    assert.equal(addressOf('::ffff:8.8.8.8', header), '8.8.8.8')
    assert.equal(addressOf('2001:db8::7', header), '2001:db8::7')
    assert.equal(addressOf(undefined, header), '')
  }
})

test('a trusted proxy’s header is walked from the right and stops at the first address that is not trusted', () => {
  const addressOf = createClientAddress(['127.0.0.1', '10.0.0.0/8', '2001:db8:1::/48'])
  const walks: [peer: string, header: string | undefined, address: string][] = [
    ['127.0.0.1', '9.9.9.9', '9.9.9.9'],
    ['127.0.0.1', '1.1.1.1, 9.9.9.9', '9.9.9.9'],
    ['127.0.0.1', '1.1.1.1, 9.9.9.9, 10.1.2.3', '9.9.9.9'],
    ['2001:db8:1::5', '1.1.1.1, 9.9.9.9,10.1.2.3 , 10.0.0.1', '9.9.9.9'],
    ['::ffff:10.0.0.7', ' ::ffff:9.9.9.9 ', '9.9.9.9'],
    ['127.0.0.1', '10.0.0.9', '10.0.0.9'],
    ['127.0.0.1', '9.9.9.9:4711', '9.9.9.9'],
    ['127.0.0.1', '[2a00:1::9]:4711', '2a00:1::9'],
    ['127.0.0.1', '2a00:1::9', '2a00:1::9'],
    ['127.0.0.2', '9.9.9.9', '127.0.0.2'],
    ['8.8.8.8', '9.9.9.9', '8.8.8.8'],
    ['127.0.0.1', undefined, '127.0.0.1'],
    ['127.0.0.1', '', '127.0.0.1'],
    ['127.0.0.1', '9.9.9.9,', '127.0.0.1'],
    ['127.0.0.1', "9.9.9.9, ' or 1=1 --", '127.0.0.1'],
    ['127.0.0.1', '9.9.9.9, unknown, 10.0.0.1', '10.0.0.1'],
  ]
  for (const [peer, header, address] of walks) assert.equal(addressOf(peer, header), address, `${peer} ${header}`)
})

test('a header from a private address that is not trusted is reported once, one from the internet never', () => {
  const reported: string[] = []
  const addressOf = createClientAddress(['10.0.0.1'], (peer) => reported.push(peer))
  addressOf('8.8.8.8', '9.9.9.9')
  addressOf('127.0.0.1', undefined)
  addressOf('10.0.0.1', '9.9.9.9')
  assert.deepEqual(reported, [])
  addressOf('172.16.0.1', '9.9.9.9')
  addressOf('172.16.0.2', '9.9.9.9')
  assert.deepEqual(reported, ['172.16.0.1'])
})

test('all addresses of one IPv6 subscriber count as one network', () => {
  assert.equal(networkOf('9.9.9.9'), '9.9.9.9')
  assert.equal(networkOf('2A00:1:2:3:4:5:6:7'), '2a00:1:2:3')
  assert.equal(networkOf('2a00::7'), '2a00:0:0:0')
  assert.equal(networkOf('2a00:1:2:3::'), networkOf('2a00:1:2:3:ffff::1'))
  assert.equal(networkOf('::1'), '0:0:0:0')
  assert.equal(networkOf(''), '')
  assert.equal(siteOf('9.8.7.6'), '9.8.7')
  assert.equal(siteOf('2a00:1:2:3::9'), '2a00:1:2')
  assert.equal(siteOf('2a00:1::9'), siteOf('2a00:1:0:ffff::1'))
})
