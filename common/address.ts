/**
 * Classifies network addresses as public (globally reachable unicast) or not, and resolves names of hosts that callers choose.
 * An address that is not known to be public counts as not public.
 *
 * The special blocks come from the IANA registries. Cloud platform addresses
 * outside those blocks are listed by name.
 *
 * Names are resolved over DNS (c-ares), not with `dns.lookup`: names in this machine's hosts file are not public, and `lookup`
 * has four threads, which a few dead name servers would block for all hosts.
 */
import { Resolver } from 'node:dns/promises'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { times } from './times.ts'

const specialIpv4 = subnets('ipv4', [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared by carriers; 100.100.100.200 is a cloud's metadata
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // a cloud's platform
  '169.254.0.0/16', // link-local; 169.254.169.254 is the clouds' metadata
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments; 192.0.0.192 is a cloud's metadata
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
])

/** The block for global unicast. Addresses that wrap an IPv4 address (mapped, compatible, NAT64) are outside it. */
const globalIpv6 = subnets('ipv6', ['2000::/3'])

const specialIpv6 = subnets('ipv6', [
  '2001::/23', // protocol assignments: Teredo, benchmarks, ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: an IPv4 address inside
  '3ffe::/16', // 6bone, returned
  '3fff::/20', // documentation
])

/** Services that clouds offer to the machine itself. They give credentials to every program that can connect. */
const platform = subnets('ipv4', [
  '100.100.100.200/32', // Alibaba metadata
  '168.63.129.16/32', // Azure platform
  '169.254.0.0/16', // link-local: the metadata of nearly all clouds
  '192.0.0.192/32', // Oracle metadata
])
for (const [address, bits] of [
  ['fd00:42::42', 128], // Scaleway metadata
  ['fd00:c1::a9fe:a9fe', 128], // Oracle metadata
  ['fd00:ec2::', 32], // AWS metadata, credentials, DNS
  ['fd20:ce::254', 128], // Google metadata
  ['fe80::', 10], // link-local
] as const) {
  platform.addSubnet(address, bits, 'ipv6')
}

/** Whether `text` is an address of a cloud platform or link-local. No setting makes it a target of webhooks. */
export const isPlatformAddress = (text: string): boolean =>
  isIP(text) > 0 && platform.check(text, isIP(text) === 6 ? 'ipv6' : 'ipv4')

/** Whether `text` is an IP address that is reachable from the internet. False for a host name. */
export function isPublicAddress(text: string): boolean {
  // A zone, as in fe80::1%eth0, names a link of this machine.
  if (text.includes('%')) return false
  switch (isIP(text)) {
    case 4:
      return !specialIpv4.check(text, 'ipv4')
    case 6:
      return globalIpv6.check(text, 'ipv6') && !specialIpv6.check(text, 'ipv6')
    default:
      return false
  }
}

/** Whether a host name or address, as in a URL or as a setting, is this machine's loopback. */
export const isLoopbackHost = (host: string): boolean =>
  /^(localhost|\[?::1\]?)$/i.test(host) || (isIP(host) === 4 && host.startsWith('127.'))

export const notPublic = (address: string) => `${address} is not a public address`

export type DnsResolver = { resolve4(host: string): Promise<string[]>; resolve6(host: string): Promise<string[]> }

export const createResolver = (): DnsResolver => new Resolver({ timeout: 2_000, tries: 2 })

/** All addresses of a host; none if DNS does not respond in time. */
export async function addressesOf(resolver: DnsResolver, host: string, dnsMs: number): Promise<string[]> {
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), dnsMs)
  const inTime = (answer: Promise<string[]>) =>
    new Promise<string[]>((resolve) => {
      timeout.signal.addEventListener('abort', () => resolve([]))
      answer.then(resolve, () => resolve([]))
    })
  const answers = await Promise.all([inTime(resolver.resolve4(host)), inTime(resolver.resolve6(host))])
  clearTimeout(timer)
  return answers.flat()
}

/**
 * DNS lookup for an HTTP agent. Fails unless every address of the name is public. The agent connects to the returned
 * addresses, so a name cannot resolve differently between the check and the connection.
 */
export function createPublicLookup(
  resolver: DnsResolver = createResolver(),
  { dnsMs }: { dnsMs: number } = times.webhooks,
): LookupFunction {
  return async (hostname, options, callback) => {
    if (isLoopbackHost(hostname)) return callback(new Error(notPublic(hostname)), '', 0)
    const found = await addressesOf(resolver, hostname, dnsMs)
    const refused = found.find((address) => !isPublicAddress(address))
    if (refused) return callback(new Error(notPublic(refused)), '', 0)
    const addresses = found
      .map((address) => ({ address, family: isIP(address) }))
      .filter(({ family }) => !options.family || options.family === family)
    const [first] = addresses
    if (!first) {
      callback(Object.assign(new Error(`${hostname} does not resolve`), { code: 'ENOTFOUND' }), '', 0)
    } else if (options.all) callback(null, addresses)
    else callback(null, first.address, first.family)
  }
}

function subnets(family: 'ipv4' | 'ipv6', networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    list.addSubnet(address, Number(bits), family)
  }
  return list
}
