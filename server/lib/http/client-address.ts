/**
 * The client's address: one function decides it for limits, sessions and the audit log.
 *
 * `X-Forwarded-For` can be forged by any client, so it is read only on connections from a trusted proxy. Each proxy appends
 * the address it received the request from, so the header is walked from the right. The walk stops at the first address
 * that is not a trusted proxy: everything to its left is the client's own claim.
 */
import { BlockList, isIP } from 'node:net'
import { isPublicAddress } from '../../../common/address.ts'

/** `peer` is the other end of the connection. */
export type ClientAddress = (peer: string | undefined, forwardedFor: string | string[] | undefined) => string

/**
 * `trustedProxies` are networks (`10.0.0.0/8`) or single addresses. `onIgnored` is called once, with the peer, when a header
 * from a private address is ignored: that is most likely a proxy the operator has not listed.
 */
export function createClientAddress(
  trustedProxies: readonly string[],
  onIgnored: (peer: string) => void = () => {},
): ClientAddress {
  const trusted = new BlockList()
  for (const network of trustedProxies) {
    const [address = '', bits] = network.split('/')
    const family = familyOf(address)
    trusted.addSubnet(address, bits === undefined ? (family === 'ipv6' ? 128 : 32) : Number(bits), family)
  }
  let isReported = false

  return (peer, forwardedFor) => {
    const own = readAddress(peer ?? '') ?? ''
    let address = own
    const claims = String(forwardedFor ?? '').split(',')
    while (address !== '' && trusted.check(address, familyOf(address))) {
      const claim = readAddress(claims.pop() ?? '')
      if (claim === undefined) return address
      address = claim
    }
    if (forwardedFor !== undefined && address === own && !isReported && !isPublicAddress(own)) {
      isReported = true
      onIgnored(own)
    }
    return address
  }
}

/**
 * The network of one subscriber, which limits are counted by: an IPv4 address, or the first 64 bits of an IPv6 address,
 * since a subscriber chooses the other 64.
 */
export const networkOf = (address: string): string => prefixOf(address, { ipv4: 4, ipv6: 4 })

/** The network of one provider or site: a /24, or the first 48 bits of an IPv6 address. One attacker often has all of it. */
export const siteOf = (address: string): string => prefixOf(address, { ipv4: 3, ipv6: 3 })

/** The first bytes of an IPv4 address, or the first 16-bit groups of an IPv6 address. */
function prefixOf(address: string, length: { ipv4: number; ipv6: number }): string {
  if (isIP(address) !== 6) return address.split('.').slice(0, length.ipv4).join('.')
  const [head = '', tail] = address.toLowerCase().split('::')
  const groups = head.split(':').filter(Boolean)
  const last = tail?.split(':').filter(Boolean) ?? []
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - last.length) }, () => '0')
  return [...groups, ...zeros, ...last].slice(0, length.ipv6).join(':')
}

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** An address without a port, brackets or a zone; an IPv4 address in IPv6 form becomes IPv4. Undefined: not an address. */
function readAddress(text: string): string | undefined {
  const [, bracketed, withPort] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(text.trim()) ?? []
  const address = (bracketed ?? withPort ?? text.trim()).replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/i, '')
  return isIP(address) ? address : undefined
}
