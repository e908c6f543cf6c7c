/**
 * Classifies network addresses as public (globally reachable unicast) or not.
 * An address that is not known to be public counts as not public.
 *
 * The special blocks come from the IANA registries. Cloud platform addresses
 * outside those blocks are listed by name.
 */
import { lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

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

/** All that is given out for global unicast. Whatever wraps an IPv4 address (mapped, compatible, NAT64) is outside. */
const globalIpv6 = subnets('ipv6', ['2000::/3'])

const specialIpv6 = subnets('ipv6', [
  '2001::/23', // protocol assignments: Teredo, benchmarks, ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: an IPv4 address inside
  '3ffe::/16', // 6bone, returned
  '3fff::/20', // documentation
])

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

/**
 * DNS lookup for an HTTP agent. Fails unless every address of the name is public. The agent connects to the returned
 * addresses, so a name cannot resolve differently between the check and the connection.
 */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '', 0)
    const refused = addresses.find(({ address }) => !isPublicAddress(address))
    const [first] = addresses
    if (refused || !first) return callback(new Error(refused ? notPublic(refused.address) : 'no address'), '', 0)
    if (options.all) callback(null, addresses)
    else callback(null, first.address, first.family)
  })
}

function subnets(family: 'ipv4' | 'ipv6', networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    list.addSubnet(address, Number(bits), family)
  }
  return list
}
