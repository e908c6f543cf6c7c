import assert from 'node:assert/strict'
import { test } from 'node:test'
import { times } from '../../common/times.ts'
import { createGuard, type GuardOptions } from './guard.ts'

type Answers = Record<string, readonly string[] | 'silent'>

/** A resolver with these names, which records its queries. */
function stub(ipv4: Answers, ipv6: Answers = {}) {
  const asked: string[] = []
  const of = (answers: Answers) => async (host: string) => {
    asked.push(host)
    const answer = answers[host]
    if (answer === 'silent') throw Object.assign(new Error('queryA ETIMEOUT'), { code: 'ETIMEOUT' })
    if (!answer) throw Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' })
    return [...answer]
  }
  return { asked, resolve4: of(ipv4), resolve6: of(ipv6) }
}

const guardWith = (options: Partial<GuardOptions> = {}) =>
  createGuard({ times: times.webhooks, allowedCidrs: [], resolver: stub({}), ...options })

/** One of each refused form; the classifier has its own test for the rest. */
const refused4 = [
  ...['0.0.0.0', '10.0.0.1', '100.64.0.1', '100.100.100.200', '127.0.0.1', '127.1.2.3', '168.63.129.16'],
  ...['169.254.169.254', '172.16.0.1', '192.0.0.192', '192.0.2.1', '192.88.99.1', '192.168.1.1', '198.18.0.1'],
  ...['198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
]
const refused6 = [
  ...['::', '::1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:8.8.8.8', '64:ff9b::7f00:1'],
  ...['64:ff9b::8.8.8.8', '100::1', '2001::1', '2001:db8::1', '2002:7f00:1::', '3fff::1', 'fc00::1', 'fd00:ec2::254'],
  ...['fe80::1', 'fec0::1', 'ff02::1'],
]

async function assertRefused(url: string, reason: RegExp, guard = guardWith()) {
  const target = await guard.check(url)
  assert.ok(!target.ok && target.isRefused, url)
  assert.match(target.reason, reason, url)
}

test('an address that is not public is refused as a literal, in every way to write it', async () => {
  const resolver = stub({})
  const guard = guardWith({ resolver })
  for (const address of refused4) await assertRefused(`https://${address}:8443/x`, /not a public address/, guard)
  for (const address of refused6) await assertRefused(`https://[${address}]/x`, /not a public address/, guard)
  for (const host of [
    ...['2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1', '127.1', '127.0.0.1.', '%31%32%37.0.0.1'],
    '１２７.０.０.１',
    ...['①②⑦.0.0.1', '[0:0:0:0:0:ffff:7f00:1]', '[::FFFF:7F00:1]'],
  ]) {
    await assertRefused(`https://${host}/x`, /not a public address/, guard)
  }
  assert.deepEqual(resolver.asked, [])
})

test('an address that is not public is refused behind a name, alone and among public ones', async () => {
  for (const address of refused4) {
    for (const answer of [[address], ['93.184.215.14', address], [address, '93.184.215.14']]) {
      const guard = guardWith({ resolver: stub({ 'hook.test': answer }) })
      await assertRefused('https://hook.test/x', new RegExp(`hook.test is at ${address}, which is not a public`), guard)
    }
  }
  for (const address of refused6) {
    const resolver = stub({ 'hook.test': ['93.184.215.14'] }, { 'hook.test': ['2606:4700:4700::1111', address] })
    await assertRefused('https://hook.test/x', /not a public/, guardWith({ resolver }))
  }
  const nonsense = guardWith({ resolver: stub({ 'hook.test': ['localhost'] }) })
  await assertRefused('https://hook.test/x', /not a public/, nonsense)
})

test('a public name is allowed with all its addresses, and so is a public literal', async () => {
  const resolver = stub({ 'hook.test': ['93.184.215.14', '1.1.1.1'] }, { 'hook.test': ['2606:4700:4700::1111'] })
  const guard = guardWith({ resolver })
  const target = await guard.check('https://hook.test/x')
  assert.ok(target.ok)
  assert.deepEqual(target.addresses, ['93.184.215.14', '1.1.1.1', '2606:4700:4700::1111'])
  assert.deepEqual(await guard.resolve('8.8.8.8'), { ok: true, addresses: ['8.8.8.8'] })
  assert.deepEqual(await guard.resolve('[2606:4700::1]'), { ok: true, addresses: ['2606:4700::1'] })
})

test('one address family is enough if DNS does not respond for the other', async () => {
  const guard = guardWith({
    resolver: stub({ 'four.test': ['1.1.1.1'] }, { 'four.test': 'silent', 'six.test': ['2606:4700::1'] }),
  })
  assert.deepEqual(await guard.resolve('four.test'), { ok: true, addresses: ['1.1.1.1'] })
  assert.deepEqual(await guard.resolve('six.test'), { ok: true, addresses: ['2606:4700::1'] })
})

test('a name that does not resolve now is refused only for now', async () => {
  const guard = guardWith({ times: { dnsMs: 100 }, resolver: stub({ 'slow.test': 'silent', 'empty.test': [] }) })
  for (const host of ['nowhere.test', 'slow.test', 'empty.test', 'localhost', 'localhost.']) {
    const target = await guard.check(`https://${host}/x`)
    assert.deepEqual(target, { ok: false, isRefused: false, reason: `${host} does not resolve` })
  }
})

test('networks of the operator are allowed up to their bounds, and nothing else', async () => {
  const guard = guardWith({ allowedCidrs: ['10.1.0.0/16', '127.0.0.1/32', 'fd00:1::/32'] })
  for (const host of ['10.1.0.0', '10.1.255.255', '127.0.0.1', '[fd00:1::1]', '[::ffff:10.1.0.1]', '8.8.8.8']) {
    assert.ok((await guard.check(`https://${host}/`)).ok, host)
  }
  for (const host of ['10.0.255.255', '10.2.0.0', '127.0.0.2', '[fd00:2::1]', '[::ffff:10.2.0.1]', '[::1]']) {
    await assertRefused(`https://${host}/`, /not a public/, guard)
  }
  const named = guardWith({
    allowedCidrs: ['10.1.0.0/16'],
    resolver: stub({ 'in.test': ['10.1.2.3', '1.1.1.1'], 'out.test': ['10.1.2.3', '10.2.0.1'] }),
  })
  assert.ok((await named.check('https://in.test/')).ok)
  await assertRefused('https://out.test/', /10\.2\.0\.1/, named)
})

test('metadata and platform addresses of clouds stay refused inside an allowed network', async () => {
  const allowedCidrs = ['0.0.0.0/0', '::/0']
  const guard = guardWith({ allowedCidrs, resolver: stub({ 'hook.test': ['10.0.0.1', '169.254.169.254'] }) })
  for (const host of [
    ...['168.63.129.16', '100.100.100.200', '192.0.0.192', '169.254.169.254', '169.254.170.2', '169.254.170.23'],
    ...['169.254.0.23', '169.254.42.42', '[::ffff:169.254.169.254]', '[::ffff:100.100.100.200]', '[fd00:ec2::254]'],
    ...['[fd00:ec2::23]', '[fd20:ce::254]', '[fd00:c1::a9fe:a9fe]', '[fd00:42::42]', '[fe80::a9fe:a9fe]'],
  ]) {
    await assertRefused(`https://${host}/`, /not a public/, guard)
    assert.equal(guard.isAllowed(host.replace(/^\[|\]$/g, '')), false)
  }
  await assertRefused('https://hook.test/', /169\.254\.169\.254/, guard)
  for (const host of ['10.0.0.1', '100.100.100.100', '168.63.129.17', '127.0.0.1', '[fd00:ec3::254]', '[fd12::1]']) {
    assert.ok((await guard.check(`https://${host}/`)).ok, host)
  }
})

test('a URL must be valid, https and without credentials, even if every network is allowed', async () => {
  const guard = guardWith({ allowedCidrs: ['0.0.0.0/0', '::/0'] })
  for (const [url, reason] of [
    ['http://8.8.8.8/', /must be https/],
    ['HTTP://8.8.8.8/', /must be https/],
    ['ftp://8.8.8.8/', /must be https/],
    ['file:///etc/passwd', /must be https/],
    ['javascript:alert(1)', /must be https/],
    ['data:text/plain,x', /must be https/],
    ['https://user@8.8.8.8/', /credentials/],
    ['https://user:pass@8.8.8.8/', /credentials/],
    ['https://:pass@8.8.8.8/', /credentials/],
    ['https://8.8.8.8@127.0.0.1/', /credentials/],
    ['', /not a URL/],
    ['8.8.8.8', /not a URL/],
    ['//8.8.8.8/', /not a URL/],
    ['https://', /not a URL/],
    ['https://8.8.8.8:99999/', /not a URL/],
    ['https://8.8.8.8:0/', /port 0/],
    ['https://8.8.8.8:000/', /port 0/],
    ['https://256.256.256.256/', /not a URL/],
    ['https://[::1', /not a URL/],
    ['https://[fe80::1%25eth0]/', /not a URL/],
    [`https://8.8.8.8/${'x'.repeat(2_000)}`, /not a URL/],
  ] as const) {
    await assertRefused(url, reason, guard)
  }
})

test('the address of a connection must be a literal address', () => {
  const guard = guardWith({ allowedCidrs: ['127.0.0.0/8'] })
  for (const address of ['8.8.8.8', '127.0.0.1', '::ffff:127.0.0.1', '2606:4700::1']) {
    assert.equal(guard.isAllowed(address), true, address)
  }
  for (const address of ['', 'localhost', '10.0.0.1', '::1', 'fe80::1%eth0', '127.0.0.1:443']) {
    assert.equal(guard.isAllowed(address), false, address)
  }
})
