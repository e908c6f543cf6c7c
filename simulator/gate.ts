/**
 * Which requests the simulator answers at all.
 *
 * It has no users and no passwords of its own, so a browser must not be a way
 * in for other sites:
 *
 * - DNS rebinding: `Host` must be loopback or a name the operator configured.
 * - Cross-site requests: a control call that changes something comes from the
 *   same origin, or from a program, which sends no `Origin`.
 *
 * The provider's API needs its token on top of that.
 */
import type { IncomingMessage } from 'node:http'
import { isLoopbackHost } from '../common/address.ts'
import { ControlError } from './wire/http.ts'

/** Returns why a request is refused, or `undefined`. */
export type Gate = (request: IncomingMessage) => ControlError | undefined

export type Naming = {
  /** Origins under which the simulator is reached. */
  origins: () => readonly string[]
  /** Host names and addresses under which it is reached besides. */
  hostnames?: readonly string[]
}

export function createGate({ origins, hostnames = [] }: Naming): Gate {
  const isOwnHost = (hostname: string) =>
    isLoopbackHost(hostname) ||
    hostnames.includes(hostname.replace(/^\[|\]$/g, '')) ||
    origins().some((origin) => URL.parse(origin)?.hostname === hostname)

  return ({ method = 'GET', url = '', headers: { host = '', origin } }) => {
    const hostname = URL.parse(`http://${host}`)?.hostname ?? ''
    if (!isOwnHost(hostname)) {
      const known = origins().join(' and ')
      const advice = 'set PUBLIC_URL to the address you use, or --public-url where it runs alone'
      return new ControlError(421, 'wrong_host', `Host: the simulator answers at ${known} and on loopback; ${advice}`)
    }
    const isReading = method === 'GET' || method === 'HEAD'
    if (isReading || origin === undefined || !url.startsWith('/simulator/control/')) return undefined
    const isSame = URL.parse(origin)?.host === host || origins().includes(origin)
    return isSame ? undefined : new ControlError(403, 'forbidden', 'Origin: must be the same origin')
  }
}
