import type { AddressInfo, Server } from 'node:net'
import type { Owner } from './owner.ts'

/** Listens on a free port of this machine until the owner ends. Returns the URL. */
export async function listen(owner: Owner, server: Server & { closeAllConnections?(): void }): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  owner.after(() => {
    server.closeAllConnections?.()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
