/**
 * Child processes that do not outlive this process.
 *
 * When this process ends, also by kill -9, the kernel closes its end of the pipe that the child has as fd 3. A small shell (a few
 * hundred kilobytes) waits for that and sends SIGINT to the child. The shell forks twice, so that it is not a child of
 * PostgreSQL, which treats the death of an unknown child as a crash. The command itself is exec'ed in place, so `pid`, signals
 * and exit code are its own.
 *
 * The child leads its own session: Ctrl-C in a terminal goes to the whole foreground group, but this process decides when the
 * child stops. The child gets a minimal environment, because the settings of this process hold secrets.
 */
import { type ChildProcess, spawn } from 'node:child_process'

export type RunAs = {
  /** Put before the command, such as `unshare … --`. */
  prefix: string[]
  uid: number | undefined
  gid: number | undefined
}

/** Without this locale macOS starts threads in PostgreSQL's first process, which then refuses to run. */
export const bareEnvironment = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C' }

// A line on the pipe means that the child has ended and its pid may be reused. End of file means that this process has ended.
const script = '( { read -r line <&3 || kill -INT $$; } & ); exec 3<&-; exec "$@"'

/** Runs `command` with a pipe as input and `outputFd` as output. The child emits `close` once the shell has ended as well. */
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
    lifeline.on('error', () => {}) // The shell may have ended before the line arrives.
    child.on('exit', () => lifeline.end('\n'))
  }
  return child
}
