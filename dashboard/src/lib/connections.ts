/** The connections of the workspace: phone numbers, social accounts and sites. The frame of every page loads and polls them. */
import { useEffect } from 'react'
import { type ItemOf, useCall } from './api.ts'

export type Connection = ItemOf<'GET /channels'>
export type ChannelName = Connection['channel']

const none: readonly Connection[] = []

/** The time between two polls of the frame. No other part of a page loads the list again within it. */
export const pollMs = 60_000

const useList = () => useCall('GET /channels', {}, { staleMs: pollMs })

export const useConnections = (): readonly Connection[] => useList().data ?? none

/** The connected numbers, the default first. */
export const useNumbers = (): readonly Connection[] =>
  useConnections()
    .filter(({ channel }) => channel === 'msgapp')
    .toSorted((one, other) => Number(other.is_default) - Number(one.is_default))

/** The channels of which the workspace has more than one connection. Only there pages name the connection. */
export const listSharedChannels = (all: readonly Connection[]): ChannelName[] =>
  (['msgapp', 'social', 'web'] as const).filter((name) => all.filter(({ channel }) => channel === name).length > 1)

/** The connections that a filter offers: none while the workspace has at most one of each channel. */
export const listFilterable = (all: readonly Connection[]): readonly Connection[] =>
  listSharedChannels(all).length > 0 ? all : none

/** The connections that a filter offers, and the one of them with this id. `isKnown`: the list is loaded. */
export function useFilterable(id: string) {
  const { data, isError } = useList()
  const offered = listFilterable(data ?? none)
  return { offered, chosen: offered.find((each) => each.id === id), isKnown: data !== undefined || isError }
}

/** The name with the address, as far as it is known. */
export const describeConnection = ({ name, address }: Pick<Connection, 'name' | 'address'>): string =>
  address ? `${name} · ${address}` : name

type Embedded = { channel: ChannelName; connection: { id: string; name: string; address: string | null } | null }

/** Returns a function that names the connection of a conversation, if the workspace has several of its channel. */
export function useConnectionNames(): (conversation: Embedded) => string | undefined {
  const sharedChannels = listSharedChannels(useConnections())
  return ({ channel, connection }) => (sharedChannels.includes(channel) ? connection?.name : undefined)
}

/** `name`: that of the connection, if the workspace has several of the channel. `isDisconnected`: no reply can leave from it. */
export function useConnectionOf({ channel, connection }: Embedded) {
  const { data, refetch, isFetchedAfterMount } = useList()
  const listed = data?.find(({ id }) => id === connection?.id)
  const isMissing = data !== undefined && !listed
  // It may have been connected since the list was loaded.
  useEffect(() => {
    if (isMissing) void refetch({ cancelRefetch: false })
  }, [isMissing, refetch])
  return {
    account: listed?.account_id,
    name: connection && data && listSharedChannels(data).includes(channel) ? describeConnection(connection) : undefined,
    isDisconnected: isMissing && isFetchedAfterMount,
  }
}
