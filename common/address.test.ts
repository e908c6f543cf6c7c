import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isPublicAddress } from './address.ts'

const runs = { seed: 1, numRuns: 5_000 }

const ipv4Of = (number: number) => [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.')
const ipv6Of = (groups: readonly number[]) => groups.map((group) => group.toString(16)).join(':')

test('addresses of real services are public', () => {
  for (const address of [
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '157.240.1.1',
    '168.63.129.15',
    '172.15.255.255',
    '172.32.0.0',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2001:4860:4860::8888',
    '2A03:2880:F10D:183:FACE:B00C:0:25DE',
    '2001:200::1',
  ]) {
    assert.equal(isPublicAddress(address), true, address)
  }
})

test('what is not globally reachable unicast is not public', () => {
  for (const address of [
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '100.64.0.1',
    '100.100.100.200',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.254',
    '168.63.129.16',
    '169.254.0.1',
    '169.254.169.254',
    '169.254.170.2',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.0.0.192',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::127.0.0.1',
    '::8.8.8.8',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::ffff:808:808',
    '::ffff:0:8.8.8.8',
    '64:ff9b::8.8.8.8',
    '64:ff9b:1::1',
    '100::1',
    '100:0:0:1::1',
    '2001::1',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
    '2001:1::1',
    '2001:2::1',
    '2001:10::1',
    '2001:20::1',
    '2001:1ff:ffff::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2002:808:808::1',
    '3ffe::1',
    '3fff::1',
    '3fff:fff::1',
    '4000::1',
    '5f00::1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fec0::1',
    'ff02::1',
  ]) {
    assert.equal(isPublicAddress(address), false, address)
  }
})

test('text that is not an address is not public, even if some parsers accept it', () => {
  for (const text of [
    '',
    ' ',
    'localhost',
    'example.com',
    '8.8.8',
    '134744072',
    '0x8.8.8.8',
    '08.8.8.8',
    '8.8.8.8.',
    '8.8.8.8:80',
    ' 8.8.8.8',
    '8.8.8.8/32',
    '8.8.8.8\n',
    '[2606:4700::1]',
    '2606:4700::1%eth0',
    'fe80::1%25eth0',
    '2606:4700',
  ]) {
    assert.equal(isPublicAddress(text), false, JSON.stringify(text))
  }
  fc.assert(
    fc.property(fc.string(), (text) => {
      assert.equal(isPublicAddress(`x${text}`), false)
    }),
    runs,
  )
})

test('every IPv4 address is judged as its number says', () => {
  const blocks = [
    [0x00000000, 8],
    [0x0a000000, 8],
    [0x64400000, 10],
    [0x7f000000, 8],
    [0xa83f8110, 32],
    [0xa9fe0000, 16],
    [0xac100000, 12],
    [0xc0000000, 24],
    [0xc0000200, 24],
    [0xc0586300, 24],
    [0xc0a80000, 16],
    [0xc6120000, 15],
    [0xc6336400, 24],
    [0xcb007100, 24],
    [0xe0000000, 3],
  ] as const
  const isSpecial = (number: number) => blocks.some(([start, bits]) => (number ^ start) >>> (32 - bits) === 0)
  const near = fc
    .tuple(fc.constantFrom(...blocks), fc.integer({ min: -300, max: 300 }), fc.boolean())
    .map(([[start, bits], step, atEnd]) => (start + (atEnd ? 2 ** (32 - bits) : 0) + step) >>> 0)
  fc.assert(
    fc.property(fc.oneof(near, fc.integer({ min: 0, max: 0xffffffff })), (number) => {
      const address = ipv4Of(number)
      assert.equal(isPublicAddress(address), !isSpecial(number), address)
    }),
    runs,
  )
})

test('no IPv6 address outside 2000::/3 is public, and none that wraps an IPv4 address is', () => {
  const group = fc.integer({ min: 0, max: 0xffff })
  const rest = fc.array(group, { minLength: 7, maxLength: 7 })
  fc.assert(
    fc.property(group, rest, (first, others) => {
      const address = ipv6Of([first, ...others])
      const isGlobal = first >>> 13 === 1
      const isSpecial =
        first === 0x2002 ||
        first === 0x3ffe ||
        (first === 0x3fff && (others[0] ?? 0) < 0x1000) ||
        (first === 0x2001 && ((others[0] ?? 0) < 0x200 || others[0] === 0xdb8))
      assert.equal(isPublicAddress(address), isGlobal && !isSpecial, address)
    }),
    runs,
  )
  fc.assert(
    fc.property(fc.constantFrom('::', '::ffff:', '64:ff9b::', '::ffff:0:'), fc.ipV4(), (prefix, address) => {
      assert.equal(isPublicAddress(prefix + address), false)
    }),
    runs,
  )
})
