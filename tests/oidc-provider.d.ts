/** The part of `oidc-provider` that `tests/oidc-server.ts` uses. The package has no types of its own. */
declare module 'oidc-provider/lib/adapters/memory_adapter.js'

declare module 'oidc-provider' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

  export default class Provider {
    constructor(issuer: string, configuration: object)
    callback(): RequestListener
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
    Client: { prototype: { redirectUriAllowed(uri: string): boolean } }
    Grant: new (of: {
      clientId: string
      accountId: string
    }) => { addOIDCScope(scope: string): void; save(): Promise<string> }
  }
}
