/** A program as a real process that a test kills and restarts. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { buildPages } from '../scripts/build.ts'
import { freePort } from '../scripts/free-port.ts'
import { spend } from './spent.ts'
import { type Owner, until } from './support.ts'

export type Program = {
  url: string
  /** Of the process that was started last. */
  pid(): number
  /** On the same port every time. */
  start(): Promise<void>
  /** Sends SIGKILL by default; answers the exit code. */
  kill(signal?: NodeJS.Signals): Promise<number | null>
  /** Its exit code, once it ends by itself or otherwise. */
  ended(): Promise<number | null>
  /** What it has printed since it was started. */
  output(): string
}

/** Generous, because a start takes two seconds on an idle machine and over thirty on a busy one. */
export const startMs = 120_000

/** Where a program runs. `command` is the start of the command that runs it there. */
export type Place = { host: string; command: readonly string[] }

export const thisMachine: Place = { host: '127.0.0.1', command: [] }

export async function createProgram(
  t: Owner,
  ready: string,
  run: (port: number) => { args: string[]; env?: Record<string, string> },
  { host, command }: Place = thisMachine,
): Promise<Program> {
  const port = await freePort()
  const url = `http://${host}:${port}`
  let child: ChildProcess | undefined
  let gone: Promise<number | null> = Promise.resolve(null)
  let output = ''
  const kill: Program['kill'] = (signal = 'SIGKILL') => {
    child?.kill(signal)
    return gone
  }
  let isOver = false
  t.after(() => {
    isOver = true
    return kill()
  })
  return {
    url,
    pid: () => child?.pid ?? 0,
    kill,
    ended: () => gone,
    output: () => output,
    start: () => spend('starting', start),
  }

  async function start(): Promise<void> {
    const { args, env } = run(port)
    await buildPages()
    // Another program of the test may have failed to start.
    if (isOver) throw new Error('the test is over')
    output = ''
    const [file = '', ...rest] = [...command, process.execPath, ...args]
    const started = spawn(file, rest, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [started.stdout, started.stderr]) stream.on('data', (text) => (output += text))
    gone = new Promise((resolve) => started.once('exit', resolve))
    child = started
    await until(
      `${args[0]} to be ready`,
      async () => {
        assert.equal(started.exitCode, null, output)
        return (await fetch(url + ready).catch(() => undefined))?.ok
      },
      startMs,
    )
  }
}
