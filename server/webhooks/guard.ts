/**
 * The guard against private addresses: decides which URLs webhooks may be posted to, at registration, change, test and every
 * attempt.
 *
 * A URL must be https and have no credentials and no port 0, and every address of its host must be public or in a network that
 * the operator allowed. Platform addresses of clouds are refused even there: 100.64.0.0/10, for example, contains one cloud's metadata service.
 */
import { BlockList, isIP } from 'node:net'
import {
  addressesOf,
  createResolver,
  type DnsResolver,
  isPlatformAddress,
  isPublicAddress,
} from '../../common/address.ts'
import type { Times } from '../../common/times.ts'

type Verdict =
  | { ok: true; addresses: string[] }
  /** `isRefused`: the URL is not allowed. Otherwise its host does not resolve now, and may later. */
  | { ok: false; isRefused: boolean; reason: string }

export type Guard = {
  check(url: string): Promise<Verdict>
  /** The addresses of a host name or a literal, all of them allowed. */
  resolve(host: string): Promise<Verdict>
  isAllowed(address: string): boolean
}

export type GuardOptions = {
  allowedCidrs: readonly string[]
  /** For tests. */
  resolver?: DnsResolver
  times: Pick<Times['webhooks'], 'dnsMs'>
}

const maxUrlLength = 2_000

export function createGuard({ allowedCidrs, resolver = createResolver(), times: { dnsMs } }: GuardOptions): Guard {
  const allowed = new BlockList()
  for (const cidr of allowedCidrs) {
    const [network = '', bits = ''] = cidr.split('/')
    allowed.addSubnet(network, Number(bits), isIP(network) === 6 ? 'ipv6' : 'ipv4')
  }
  const isInAllowedNetwork = (address: string): boolean =>
    isIP(address) > 0 && allowed.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  const isAllowed = (address: string): boolean =>
    isPublicAddress(address) || (isInAllowedNetwork(address) && !isPlatformAddress(address))

  const resolve: Guard['resolve'] = async (host) => {
    const literal = host.replace(/^\[|\]$/g, '')
    const answers = isIP(literal) ? [literal] : await addressesOf(resolver, host, dnsMs)
    if (answers.length === 0) return { ok: false, isRefused: false, reason: `${host} does not resolve` }
    const bad = answers.find((address) => !isAllowed(address))
    if (bad) {
      const reason =
        bad === literal ? `${bad} is not a public address` : `${host} is at ${bad}, which is not a public address`
      return { ok: false, isRefused: true, reason }
    }
    return { ok: true, addresses: answers }
  }

  return {
    isAllowed,
    resolve,
    async check(text) {
      const refuse = (reason: string) => ({ ok: false, isRefused: true, reason }) as const
      // The URL parser removes tabs and line breaks silently: the stored text would differ from the URL that is used.
      if (/\p{Cc}/u.test(text)) return refuse('must not contain control characters')
      const url = text.length <= maxUrlLength ? URL.parse(text) : null
      if (!url) return refuse('not a URL')
      if (url.protocol !== 'https:') return refuse('must be https')
      if (url.username || url.password) return refuse('must not carry credentials')
      if (!url.hostname) return refuse('has no host')
      if (url.port === '0') return refuse('must not have the port 0')
      return resolve(url.hostname)
    },
  }
}
