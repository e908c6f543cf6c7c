/** The connection of a channel, shared by the channel pages. */
import type { ItemOf } from '../lib/api.ts'

export type Connection = ItemOf<'GET /channels'>
export type ChannelName = Connection['channel']
/** A channel that is run by a provider. */
export type ProviderChannel = Exclude<ChannelName, 'web'>

/** The URL of the simulator behind a connection: the built-in one, or one that runs alone. Undefined for a real provider. */
export const simulatorUrlOf = ({ simulator, base_url }: Connection): string | undefined =>
  simulator ? (simulator === 'built_in' ? '/simulator' : base_url.replace(/\/graph$/, '')) : undefined
