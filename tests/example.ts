/** Runs a program of `examples/` as a process, as its README says, against the service of a test. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { until, type World } from './support.ts'

export type RunningExample = {
  output(): string
  /** Waits until it has printed this. */
  prints(text: string | RegExp, withinMs?: number): Promise<void>
  /** Kills it with SIGKILL. Answers the exit code of a program that ended by itself before. */
  kill(): Promise<number | null>
  ended: Promise<number | null>
}

export function runExample(
  t: TestContext,
  { url }: World,
  { name, key, args }: { name: string; key: string; args: readonly string[] },
): RunningExample {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../examples', name, 'main.ts'), ...args], {
    env: { ...process.env, PARLEY_API_KEY: key, PARLEY_URL: `${url}/v1` },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (output += part))
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const kill = () => {
    child.kill('SIGKILL')
    return ended
  }
  t.after(kill)
  return {
    output: () => output,
    kill,
    ended,
    prints: async (text, withinMs = 60_000) => {
      const isPrinted = () => (typeof text === 'string' ? output.includes(text) : text.test(output))
      await until(
        `${name} to print ${text}`,
        async () => {
          if (!isPrinted() && child.exitCode !== null) throw new Error(`${name} ended without ${text}: ${output}`)
          return isPrinted()
        },
        withinMs,
      ).catch((error) => {
        throw new Error(`${error.message}; it printed: ${output}`)
      })
    },
  }
}
