/**
 * Child processes that do not outlive us.
 *
 * However this process ends, kill -9 included, the kernel closes its end of
 * the pipe that the child has as fd 3. A shell of a few hundred kilobytes
 * waits for that and sends the child SIGINT. It is a grandchild of nobody
 * (forked twice), because PostgreSQL takes the death of a child it does not
 * know for a crash; the child itself is exec'ed in place, so `pid`, signals
 * and exit code are its own.
 *
 * The child leads its own session: Ctrl-C in a terminal goes to the whole
 * foreground group, and whoever owns the child decides when it may stop.
 *
 * The child sees a bare environment: our settings hold secrets.
 */
import { type ChildProcess, spawn } from 'node:child_process'

export type RunAs = {
  /** Words put before the command, such as `unshare … --`. */
  prefix: string[]
  uid: number | undefined
  gid: number | undefined
}

/** The locale keeps macOS from starting threads inside PostgreSQL's first process, which refuses to run then. */
export const bareEnvironment = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C' }

// A line on the pipe means the child is gone and its pid is no longer ours to signal; end of file means that we are gone.
const script = '( { read -r line <&3 || kill -INT $$; } & ); exec 3<&-; exec "$@"'

/**
 * Run `command`, its output into the open file `outputFd`, its input a pipe.
 * `close` of the child comes when the watcher is gone as well.
 */
export function spawnOnLifeline(command: string[], runAs: RunAs, outputFd: number): ChildProcess {
  const child = spawn('/bin/sh', ['-c', script, 'sh', ...runAs.prefix, ...command], {
    cwd: '/',
    detached: true,
    env: bareEnvironment,
    stdio: ['pipe', outputFd, outputFd, 'pipe'],
    uid: runAs.uid,
    gid: runAs.gid,
  })
  const lifeline = child.stdio[3]
  if (lifeline && 'write' in lifeline) {
    lifeline.on('error', () => {}) // The watcher may be gone before the line arrives.
    child.on('exit', () => lifeline.end('\n'))
  }
  return child
}
