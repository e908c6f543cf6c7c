/** Preloaded into a service to measure it without the request log: replaces the module by one that records nothing. */
import { registerHooks } from 'node:module'

const source = `
  export const maxBlockMs = 1000
  export const createRequestLog = () => ({ recordClosed() {}, watch() {}, async stop() {} })
  export async function keepRequestDays() {}
`

registerHooks({
  load: (url, context, next) =>
    url.endsWith('/server/accounts/request-log.ts')
      ? { format: 'module', shortCircuit: true, source }
      : next(url, context),
})
