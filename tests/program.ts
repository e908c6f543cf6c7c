/**
 * Parley's programs as real processes that a test kills and restarts. Tests, benchmarks and the soak start them here only.
 *
 * A program ends with the process that started it, because its IPC channel closes.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { buildPages } from '../scripts/build.ts'
import { freePort } from '../scripts/free-port.ts'
import type { Owner } from './owner.ts'
import { spend } from './spent.ts'
import { until } from './until.ts'

export type Program = {
  url: string
  /** Of the process that was started last. */
  pid(): number
  /** Starts it, on the same port every time, and waits until it is ready. Answers how many milliseconds that took. */
  start(): Promise<number>
  /** Starts it without waiting. */
  launch(): Promise<void>
  /** Sends SIGKILL by default; answers the exit code. */
  kill(signal?: NodeJS.Signals): Promise<number | null>
  /** Its exit code, once it ends by itself or otherwise. */
  ended(): Promise<number | null>
  /** What it has printed since it was started. */
  output(): string
  /** Reads its output no more. */
  closeOutput(): void
}

/** Generous, because a start takes two seconds on an idle machine and over thirty on a busy one. */
export const startMs = 120_000

/** Where a program runs. `command` is the start of the command that runs it there. */
export type Place = { host: string; command: readonly string[] }

export const thisMachine: Place = { host: '127.0.0.1', command: [] }

type Env = Record<string, string | undefined>
type Run = { command: readonly string[]; env?: Env; cwd?: string }

/** The service as an operator starts it. It is the same process afterwards. */
export const launcher = ['sh', 'scripts/launch.sh', 'server/main.ts']

/** The service, on a port of its own if there is none in its settings. */
export const createService = (t: Owner, env: Env, command = [process.execPath, 'server/main.ts']): Promise<Program> =>
  createProgram(t, (port) => ({ command, env: { PORT: String(port), ...env } }), {
    port: Number(env.PORT) || undefined,
  })

export async function startService(t: Owner, env: Env, command?: string[]): Promise<Program> {
  const service = await createService(t, env, command)
  await service.start()
  return service
}

/** Starts the service without waiting, for one that refuses to start. */
export async function launchService(t: Owner, env: Env, command?: string[]): Promise<Program> {
  const service = await createService(t, env, command)
  await service.launch()
  return service
}

/** The simulator alone, with its journal in `dir`. */
export const createSimulatorProgram = (t: Owner, dir: string, ...args: string[]): Promise<Program> =>
  createProgram(t, (port) => ({
    command: [process.execPath, 'simulator/main.ts', '--port', String(port), '--data', dir, ...args],
  }))

/** `run` is called at each start. */
export async function createProgram(
  t: Owner,
  run: (port: number) => Run,
  { place = thisMachine, port: requestedPort }: { place?: Place; port?: number | undefined } = {},
): Promise<Program> {
  const port = requestedPort ?? (await freePort())
  let child: ChildProcess | undefined
  let gone: Promise<number | null> = Promise.resolve(null)
  let output = ''
  let isOver = false
  const kill: Program['kill'] = (signal = 'SIGKILL') => {
    child?.kill(signal)
    return gone
  }
  t.after(() => {
    isOver = true
    return kill()
  })

  async function launch(): Promise<void> {
    await buildPages()
    // Another program of the test may have failed to start.
    if (isOver) throw new Error('the test is over')
    const { command, env, cwd } = run(port)
    const [file = '', ...args] = [...place.command, ...command]
    output = ''
    const started = spawn(file, args, {
      ...{ cwd, env: { ...process.env, ...env } },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    for (const stream of [started.stdout, started.stderr]) stream?.on('data', (text) => (output += text))
    gone = new Promise((resolve) => started.once('exit', resolve))
    child = started
  }

  async function start(): Promise<number> {
    await launch()
    const startedAt = performance.now()
    const isReady = () => {
      assert.equal(child?.exitCode, null, output)
      return /^ {2}Parley (?:worker )?is ready\.|^The simulator is at /m.test(output)
    }
    await until('the program to be ready', isReady, startMs)
    return performance.now() - startedAt
  }

  return {
    url: `http://${place.host}:${port}`,
    pid: () => child?.pid ?? 0,
    launch,
    start: () => spend('starting', start),
    kill,
    ended: () => gone,
    output: () => output,
    closeOutput: () => {
      for (const stream of [child?.stdout, child?.stderr]) stream?.destroy()
    },
  }
}

/** The processes that process `pid` has started. */
export const childrenOf = (pid: number): number[] =>
  execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
    .split('\n')
    .map(Number)
    .filter((child) => child > 0)
