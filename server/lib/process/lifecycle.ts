/**
 * The end of a process: what was started is stopped, last first, within a limit. Then the log is written and the process exits.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Level, Logger } from 'pino'
import { createLog, type Output, openOutput } from './log.ts'

/** How long the last log lines may take to be written. */
const flushMs = 500

export type Lifecycle = {
  /** Registers a step of the end. Steps run in reverse order. */
  onStop(stopOne: () => Promise<unknown>): void
  isStopping(): boolean
  /** Stops everything and exits. A second call has no effect: it returns the promise of the first. */
  stop(reason: string, exitCode: number): Promise<never>
  /** Undoes a failed start. Errors of the steps are ignored. */
  undo(): Promise<void>
}

export type OpenProcess = { log: Logger; output: Output; lifecycle: Lifecycle }

type ProcessOptions = {
  logLevel: string
  /** The process ends after this time even if a step hangs, such as a lost database. */
  stopMs: number
  /** Distinguishes the processes of a service in the log. */
  name?: string
}

/** The log and the end of this process. */
export function openProcess({ logLevel, stopMs, name }: ProcessOptions): OpenProcess {
  const output = openOutput()
  const log = createLog(logLevel, output, name)
  // The main process reports the end of the service.
  const level = name === undefined ? 'info' : 'debug'
  return { log, output, lifecycle: createLifecycle(log, output, stopMs, level) }
}

function createLifecycle(log: Logger, output: Output, stopMs: number, level: Level): Lifecycle {
  const steps: (() => Promise<unknown>)[] = []
  let stopping: Promise<never> | undefined

  async function runSteps(onError: (error: unknown) => void): Promise<true> {
    for (let step = steps.pop(); step; step = steps.pop()) await step().catch(onError)
    return true
  }
  async function end(reason: string, exitCode: number): Promise<never> {
    log[level]({ reason }, 'stopping')
    const allSteps = runSteps((error) => log.error({ err: error }, 'while stopping'))
    const isStopped = await Promise.race([allSteps, sleep(stopMs, false)])
    if (!isStopped) log.error('not everything could be stopped in time')
    // At exit the logger would wait for ever if its output is not read.
    await Promise.race([new Promise((resolve) => output.flush(resolve)), sleep(flushMs)])
    output.destroy()
    process.exit(exitCode)
  }
  return {
    onStop: (stopOne) => void steps.push(stopOne),
    isStopping: () => stopping !== undefined,
    stop: (reason, exitCode) => (stopping ??= end(reason, exitCode)),
    async undo() {
      await runSteps(() => {})
    },
  }
}
