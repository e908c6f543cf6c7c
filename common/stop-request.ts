/**
 * Requests to stop this program: a signal, or the end of the process that started it.
 *
 * A killed npm forwards no signal. A program that npm started therefore watches its parent, whose pid changes then. A program that
 * was started with an IPC channel stops when the channel closes.
 */
const watchMs = 500

/** Calls `stop` at the first request only: Ctrl-C comes from the terminal and again from npm. */
export function onStopRequest(stop: (reason: string) => void): void {
  let isRequested = false
  const request = (reason: string) => {
    if (!isRequested) stop(reason)
    isRequested = true
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, request)
  process.on('disconnect', () => request('parent gone'))
  if (!process.env.npm_lifecycle_event) return
  const parent = process.ppid
  setInterval(() => process.ppid === parent || request('parent gone'), watchMs).unref()
}
