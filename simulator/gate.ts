/**
 * Request admission.
 *
 * The simulator has no users, so other sites must not reach it through a
 * person's browser:
 *
 * - DNS rebinding: `Host` must be loopback or a name the operator configured.
 * - Cross-site requests: a control call that changes something must have the
 *   same `Origin`, or none, as calls of programs have.
 *
 * The provider's API also requires a token.
 */
import type { IncomingMessage } from 'node:http'
import { isLoopbackHost } from '../common/address.ts'
import { ControlError } from './wire/http.ts'

/** Returns the error of a refused request, or `undefined`. */
export type Gate = (request: IncomingMessage) => ControlError | undefined

type GateOptions = {
  /** The simulator's own origins. */
  origins: () => readonly string[]
  /** Further host names and addresses of the simulator. */
  hostnames?: readonly string[]
}

export function createGate({ origins, hostnames = [] }: GateOptions): Gate {
  const isOwnHost = (hostname: string) =>
    isLoopbackHost(hostname) ||
    hostnames.includes(hostname.replace(/^\[|\]$/g, '')) ||
    origins().some((origin) => URL.parse(origin)?.hostname === hostname)

  return ({ method = 'GET', url = '', headers: { host = '', origin } }) => {
    const hostname = URL.parse(`http://${host}`)?.hostname ?? ''
    if (!isOwnHost(hostname)) {
      const known = origins().join(' and ')
      const advice = 'set PUBLIC_URL to the address you use, or --public-url for a standalone simulator'
      return new ControlError(421, 'wrong_host', `Host: the simulator answers at ${known} and on loopback; ${advice}`)
    }
    const isRead = method === 'GET' || method === 'HEAD'
    if (isRead || origin === undefined || !url.startsWith('/simulator/control/')) return undefined
    const isSame = URL.parse(origin)?.host === host || origins().includes(origin)
    return isSame ? undefined : new ControlError(403, 'forbidden', 'Origin: must be the same origin')
  }
}
