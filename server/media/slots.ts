/**
 * Limits which media fetches may start, so that a workspace with slow files delays no other. Pure.
 *
 * A fetch is fresh during its first second and slow after that. Fresh fetches share `maxFresh` slots. A slow fetch continues
 * without a slot, so slots become free every second. A workspace has at most `maxPerWorkspace` fetches in flight. It has at
 * most `maxWhileSlow` while one of them is slow, and after a slow one failed until one succeeds.
 */
import type { Times } from '../../common/times.ts'

const maxFresh = 8
const maxInFlight = 64
const maxPerWorkspace = 4
const maxWhileSlow = 2

type BusyWorkspace = { workspace_id: string; in_flight: number; max_in_flight: number }

export type MediaSlots = {
  /** How many fetches may start now. */
  free(): number
  /** The workspaces with fetches in flight, or whose last slow fetch failed. Any other may start `maxPerWorkspace`. */
  busy(): BusyWorkspace[]
  maxPerWorkspace: number
  /** Counts a fetch until the returned function is called with its outcome. */
  start(workspaceId: string): (isOk: boolean) => void
}

export function createMediaSlots(
  { slowMs }: Pick<Times['media'], 'slowMs'>,
  now: () => number = () => performance.now(),
): MediaSlots {
  const inFlight = new Set<{ workspaceId: string; startedAt: number }>()
  const failing = new Set<string>()
  const isSlow = ({ startedAt }: { startedAt: number }) => now() - startedAt >= slowMs
  return {
    maxPerWorkspace,
    free: () =>
      Math.min(maxFresh - [...inFlight].filter((fetch) => !isSlow(fetch)).length, maxInFlight - inFlight.size),
    busy: () =>
      [...new Set([...failing, ...[...inFlight].map(({ workspaceId }) => workspaceId)])].map((workspace_id) => {
        const own = [...inFlight].filter(({ workspaceId }) => workspaceId === workspace_id)
        const max_in_flight = failing.has(workspace_id) || own.some(isSlow) ? maxWhileSlow : maxPerWorkspace
        return { workspace_id, in_flight: own.length, max_in_flight }
      }),
    start(workspaceId) {
      const fetch = { workspaceId, startedAt: now() }
      inFlight.add(fetch)
      return (isOk) => {
        inFlight.delete(fetch)
        if (isOk) failing.delete(workspaceId)
        else if (isSlow(fetch)) failing.add(workspaceId)
      }
    },
  }
}
