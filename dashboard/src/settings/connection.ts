/** The connection of a channel, shared by the channel pages. */
import type { ChannelName, Connection } from '../lib/connections.ts'

/** A channel that is run by a provider. */
export type ProviderChannel = Exclude<ChannelName, 'web'>

/** The page of a connection: the steps of its channel, or the settings of a site. */
export const hrefOf = ({ id }: Pick<Connection, 'id'>): string => `/settings/channels/${id}`

/** The URL of the simulator behind a connection: the built-in one, or one that runs alone. Undefined for a real provider. */
export const simulatorUrlOf = ({ simulator, base_url }: Connection): string | undefined =>
  simulator ? (simulator === 'built_in' ? '/simulator' : base_url.replace(/\/graph$/, '')) : undefined
