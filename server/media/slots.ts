/**
 * Which media fetches may start, so that a workspace whose files hang delays no other. Pure.
 *
 * A fetch is fresh during its first second and slow from then on. Fresh fetches share `mostFresh` slots. A slow one keeps
 * running but no longer takes a slot, so slots become free every second, whatever hangs. A workspace has at most
 * `mostPerWorkspace` fetches in flight, and at most `mostWhileSlow` while one of them is slow, or since a slow one failed
 * until one succeeds.
 */
export const slowMs = 1_000
const mostFresh = 8
const mostInFlight = 64
const mostPerWorkspace = 4
const mostWhileSlow = 2

/** `most`: how many it may have in flight. */
type BusyWorkspace = { workspace_id: string; in_flight: number; most: number }

export type MediaSlots = {
  /** How many fetches may start now. */
  free(): number
  /** Every workspace with fetches in flight, or whose last slow fetch failed. Any other may start `mostPerWorkspace`. */
  busy(): BusyWorkspace[]
  mostPerWorkspace: number
  /** Counts a fetch until the returned function is called with its outcome. */
  start(workspaceId: string): (isOk: boolean) => void
}

export function createMediaSlots(now: () => number = () => performance.now()): MediaSlots {
  const inFlight = new Set<{ workspaceId: string; startedAt: number }>()
  const failing = new Set<string>()
  const isSlow = ({ startedAt }: { startedAt: number }) => now() - startedAt >= slowMs
  return {
    mostPerWorkspace,
    free: () =>
      Math.min(mostFresh - [...inFlight].filter((fetch) => !isSlow(fetch)).length, mostInFlight - inFlight.size),
    busy: () =>
      [...new Set([...failing, ...[...inFlight].map(({ workspaceId }) => workspaceId)])].map((workspace_id) => {
        const own = [...inFlight].filter(({ workspaceId }) => workspaceId === workspace_id)
        const most = failing.has(workspace_id) || own.some(isSlow) ? mostWhileSlow : mostPerWorkspace
        return { workspace_id, in_flight: own.length, most }
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
